/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Wire writer: protobuf encoding into memory of the caller
 *
 * Follows the protobuf wire format (protobuf.dev/programming-guides/encoding). The writer knows no
 * message; callers pass field numbers. It never allocates: when the memory is full it asks `grow`,
 * if there is one, and otherwise fails. A failure is sticky: later calls do nothing, and the one
 * check is at the end (wire_writer_failed()), so encoders stay straight lines.
 *
 * A nested message is opened with wire_begin() and closed with wire_end(). Its length takes the
 * one byte that most messages need; a longer message is moved up when it is closed. Not thread safe.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct WireWriter WireWriter;

struct WireWriter {
        uint8_t *start;
        uint8_t *at;
        uint8_t *end;
        /* Makes room for `n_more` bytes at `at` and sets all three pointers; 0 or a negative errno. */
        int (*grow)(WireWriter *writer, size_t n_more);
        void *userdata;
        bool failed;
};

#define WIRE_VARINT_MAX 10 /* bytes of the longest varint */
#define WIRE_TAG_MAX    5  /* bytes of the longest field tag */

enum {
        WIRE_VARINT = 0,
        WIRE_FIXED64 = 1,
        WIRE_BYTES = 2,
        WIRE_FIXED32 = 5,
};

static inline void wire_writer_init(WireWriter *writer, void *memory, size_t n_bytes) {
        *writer = (WireWriter){ .start = memory, .at = memory, .end = memory };
        if (n_bytes > 0) /* without memory there is no pointer to add to */
                writer->end += n_bytes;
}

static inline size_t wire_writer_size(const WireWriter *writer) {
        return (size_t)(writer->at - writer->start);
}

static inline bool wire_writer_failed(const WireWriter *writer) {
        return writer->failed;
}

/* Whether there is room for `n` bytes; grows if it can, and otherwise fails the writer. */
bool wire_reserve(WireWriter *writer, size_t n_bytes);

/* Unchecked: the caller has reserved WIRE_VARINT_MAX bytes. Returns the end. */
static inline uint8_t *wire_encode_varint(uint8_t *at, uint64_t value) {
        while (value >= 0x80) {
                *at++ = (uint8_t)(value | 0x80);
                value >>= 7;
        }
        *at++ = (uint8_t)value;
        return at;
}

/* A varint of exactly `n` bytes, which must be enough: padded with empty continuation bytes. For a length that
 * became smaller after room had been left for it. */
static inline void wire_put_padded_varint(uint8_t *at, size_t n, uint64_t value) {
        for (; n > 1; n--, value >>= 7)
                *at++ = (uint8_t)(value | 0x80);
        *at = (uint8_t)value;
}

static inline size_t wire_varint_size(uint64_t value) {
        return value ? (size_t)(63 - __builtin_clzll(value)) / 7 + 1 : 1;
}

/* A bare varint, for packed arrays. */
void wire_put_varint(WireWriter *writer, uint64_t value);

void wire_put_uint(WireWriter *writer, uint32_t field, uint64_t value);
/* int32 and int64: sign-extended to 64 bits, never zigzag. */
void wire_put_int(WireWriter *writer, uint32_t field, int64_t value);
void wire_put_bool(WireWriter *writer, uint32_t field, bool value);
void wire_put_fixed64(WireWriter *writer, uint32_t field, uint64_t value);
void wire_put_double(WireWriter *writer, uint32_t field, double value);
void wire_put_bytes(WireWriter *writer, uint32_t field, const void *data, size_t n_bytes);
void wire_put_string(WireWriter *writer, uint32_t field, const char *text);

/* Appends bytes that are already encoded. */
void wire_put_raw(WireWriter *writer, const void *data, size_t n_bytes);

/* Opens a length-delimited field; pass the result to wire_end(). Nested fields are closed innermost first. */
size_t wire_begin(WireWriter *writer, uint32_t field);
void wire_end(WireWriter *writer, size_t begin);
