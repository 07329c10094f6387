/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Byte reader: a bounded cursor over the little-endian bytes of a program's file */

#include "unwind/byte-reader.h"

#define LEB_BYTES_MAX 10 /* enough for 64 bits */

/* Bits beyond 64 are dropped, as every reader of DWARF does. *ret_bits is how many the number has been given. */
static uint64_t read_leb(ByteReader *reader, unsigned *ret_bits, uint8_t *ret_last) {
        uint64_t value = 0;

        *ret_bits = 0;
        *ret_last = 0;
        for (unsigned i = 0; i < LEB_BYTES_MAX && reader->at < reader->end; i++) {
                const uint8_t byte = *reader->at++;

                value |= (uint64_t)(byte & 0x7f) << (7 * i);
                *ret_bits = 7 * (i + 1);
                *ret_last = byte;
                if (!(byte & 0x80))
                        return value;
        }
        return byte_reader_fail(reader);
}

uint64_t byte_read_uleb(ByteReader *reader) {
        unsigned n_bits;
        uint8_t last;

        return read_leb(reader, &n_bits, &last);
}

int64_t byte_read_sleb(ByteReader *reader) {
        uint64_t value;
        unsigned n_bits;
        uint8_t last;

        value = read_leb(reader, &n_bits, &last);
        if (n_bits > 0 && n_bits < 64 && (last & 0x40))
                value |= UINT64_MAX << n_bits;
        return (int64_t)value;
}

void byte_skip(ByteReader *reader, uint64_t n_bytes) {
        if (byte_reader_left(reader) < n_bytes)
                (void)byte_reader_fail(reader);
        else
                reader->at += n_bytes;
}

static uint64_t read_form(ByteReader *reader, uint8_t form) {
        switch (form) {
        case 0x00: /* the machine's word: only 64-bit files are read */
        case 0x04:
        case 0x0c:
                return byte_read(reader, 8);
        case 0x01:
                return byte_read_uleb(reader);
        case 0x02:
                return byte_read(reader, 2);
        case 0x03:
                return byte_read(reader, 4);
        case 0x09:
                return (uint64_t)byte_read_sleb(reader);
        case 0x0a:
                return (uint64_t)(int64_t)(int16_t)byte_read(reader, 2);
        case 0x0b:
                return (uint64_t)(int64_t)(int32_t)byte_read(reader, 4);
        default:
                return byte_reader_fail(reader);
        }
}

uint64_t byte_read_pointer(ByteReader *reader, uint8_t encoding, uint64_t data) {
        const uint64_t here = reader->address + (uint64_t)(reader->at - reader->start);
        uint64_t value;

        if (encoding == POINTER_OMITTED)
                return 0;
        value = read_form(reader, encoding & POINTER_FORM);
        switch (encoding & POINTER_FROM) {
        case 0:
                return value;
        case POINTER_FROM_HERE:
                return value + here;
        case POINTER_FROM_DATA:
                return value + data;
        default:
                return byte_reader_fail(reader);
        }
}
