/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Wire reader: a bounded cursor over untrusted protobuf bytes
 *
 * It knows no message. It returns one field at a time and never reads past the given end, whatever the bytes are.
 * Groups (wire types 3 and 4) are refused: no message of ours or Perfetto's has them.
 */

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire/wire-writer.h" /* the wire types */

typedef struct WireReader {
        const uint8_t *at;
        const uint8_t *end;
} WireReader;

typedef struct WireField {
        uint32_t number;
        uint8_t type;        /* WIRE_VARINT, … */
        uint64_t value;      /* of varint and fixed fields */
        const uint8_t *data; /* of WIRE_BYTES: n_bytes of payload, inside the reader's memory */
        size_t n_bytes;
        const uint8_t *raw; /* the whole field with its tag */
        size_t n_raw;
} WireField;

static inline void wire_reader_init(WireReader *reader, const void *data, size_t n_bytes) {
        reader->at = data;
        reader->end = n_bytes > 0 ? reader->at + n_bytes : reader->at; /* data may be NULL */
}

static inline void wire_reader_init_field(WireReader *reader, const WireField *field) {
        wire_reader_init(reader, field->data, field->n_bytes);
}

/* 1: *ret is the next field. 0: at the end. -EBADMSG: not a protobuf message. */
int wire_read(WireReader *reader, WireField *ret);

/* A varint whose first byte is at `at`, with at least WIRE_VARINT_MAX bytes there. Returns the byte behind it; NULL: it
 * is longer than that. Up to eight bytes are put together at once: groups of 7 bits become groups of 14, 28 and 56. */
static inline const uint8_t *wire_read_varint_inside(const uint8_t *at, uint64_t *ret) {
        uint64_t word, stop;
        unsigned n = 8;

        memcpy(&word, at, sizeof(word));
        word = le64toh(word);
        stop = ~word & UINT64_C(0x8080808080808080);
        if (stop)
                word &= stop ^ (stop - 1);
        word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
        word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
        word = (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
        *ret = word;
        if (stop)
                return at + (__builtin_ctzll(stop) + 1) / 8;
        do {
                if (n == WIRE_VARINT_MAX)
                        return NULL;
                *ret |= (uint64_t)(at[n] & 0x7f) << (7 * n);
        } while (at[n++] & 0x80);
        return at + n;
}

/* Likewise, with the most common cases inline: a tag of one byte, and a number, or bytes of less than 128. For
 * loops over millions of fields; neither `raw` nor n_raw is set. */
static inline int wire_read_fast(WireReader *reader, WireField *ret) {
        const uint8_t *at = reader->at, *behind;
        const size_t n_left = (size_t)(reader->end - at);

        if (n_left == 0)
                return 0;
        if (n_left >= 2 && (at[0] & 0x80) == 0 && at[0] >= 8) {
                ret->number = at[0] >> 3;
                ret->type = at[0] & 7;
                if (ret->type == WIRE_BYTES && at[1] < 0x80 && at[1] <= n_left - 2) {
                        ret->value = 0;
                        ret->data = at + 2;
                        ret->n_bytes = at[1];
                        reader->at = at + 2 + at[1];
                        return 1;
                }
                if (ret->type == WIRE_VARINT && (at[1] < 0x80 || n_left > WIRE_VARINT_MAX)) {
                        ret->data = NULL;
                        ret->n_bytes = 0;
                        ret->value = at[1];
                        behind = at[1] < 0x80 ? at + 2
                                              : wire_read_varint_inside(at + 1, &ret->value);
                        if (behind) {
                                reader->at = behind;
                                return 1;
                        }
                }
        }
        return wire_read(reader, ret);
}

/* A bare varint, for packed arrays and packet framing: 0, or -EBADMSG when truncated or longer than
 * 10 bytes. */
int wire_read_varint(WireReader *reader, uint64_t *ret);
