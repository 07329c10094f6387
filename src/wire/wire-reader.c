/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Wire reader: a bounded cursor over untrusted protobuf bytes */

#include <errno.h>

#include "wire/wire-reader.h"

int wire_read_varint(WireReader *reader, uint64_t *ret) {
        const uint8_t *at = reader->at;
        uint64_t value = 0;

        for (unsigned shift = 0; shift < 70; shift += 7) {
                uint8_t byte;

                if (at == reader->end)
                        return -EBADMSG;
                byte = *at++;
                value |= (uint64_t)(byte & 0x7f)
                         << shift; /* the high bits of the tenth byte do not fit */
                if (!(byte & 0x80)) {
                        reader->at = at;
                        *ret = value;
                        return 0;
                }
        }
        return -EBADMSG;
}

static int read_fixed(WireReader *reader, size_t n_bytes, uint64_t *ret) {
        uint64_t value = 0;

        if ((size_t)(reader->end - reader->at) < n_bytes)
                return -EBADMSG;
        for (size_t i = 0; i < n_bytes; i++)
                value |= (uint64_t)*reader->at++ << (8 * i);
        *ret = value;
        return 0;
}

static int read_bytes(WireReader *reader, WireField *field) {
        uint64_t n_bytes;

        if (wire_read_varint(reader, &n_bytes) < 0)
                return -EBADMSG;
        if (n_bytes > (uint64_t)(reader->end - reader->at))
                return -EBADMSG;
        field->data = reader->at;
        field->n_bytes = (size_t)n_bytes;
        reader->at += n_bytes;
        return 0;
}

static int read_value(WireReader *reader, WireField *field) {
        switch (field->type) {
        case WIRE_VARINT:
                return wire_read_varint(reader, &field->value);
        case WIRE_FIXED64:
                return read_fixed(reader, 8, &field->value);
        case WIRE_FIXED32:
                return read_fixed(reader, 4, &field->value);
        case WIRE_BYTES:
                return read_bytes(reader, field);
        default:
                return -EBADMSG;
        }
}

int wire_read(WireReader *reader, WireField *ret) {
        WireField field = { .raw = reader->at };
        uint64_t tag;

        if (reader->at == reader->end)
                return 0;
        if (wire_read_varint(reader, &tag) < 0)
                return -EBADMSG;
        if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
                return -EBADMSG;

        field.number = (uint32_t)(tag >> 3);
        field.type = tag & 7;
        if (read_value(reader, &field) < 0)
                return -EBADMSG;
        field.n_raw = (size_t)(reader->at - field.raw);
        *ret = field;
        return 1;
}
