/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Byte reader: a bounded cursor over the little-endian bytes of a program's file
 *
 * The bytes are not trusted. A read past the end returns 0 and sets `failed`, which stays set, so a caller can read a
 * whole record and check once.
 */

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shared/macro.h"

typedef struct ByteReader {
        const uint8_t *start;
        const uint8_t *at;
        const uint8_t *end;
        uint64_t address; /* of `start`, for pointers that are relative to their own place */
        bool failed;
} ByteReader;

/* How DWARF writes a pointer: its form in the low four bits, its base in the next three. */
enum {
        POINTER_OMITTED = 0xff,
        POINTER_FORM = 0x0f,
        POINTER_FROM = 0x70,
        POINTER_FROM_HERE = 0x10,
        POINTER_FROM_DATA = 0x30,
        POINTER_INDIRECT = 0x80,
};

static inline void
byte_reader_init(ByteReader *reader, const void *bytes, size_t n_bytes, uint64_t address) {
        *reader = (ByteReader){
                .start = bytes,
                .at = bytes,
                .end = (const uint8_t *)bytes + n_bytes,
                .address = address,
        };
}

static inline size_t byte_reader_left(const ByteReader *reader) {
        return (size_t)(reader->end - reader->at);
}

static inline uint64_t byte_reader_fail(ByteReader *reader) {
        reader->failed = true;
        reader->at = reader->end;
        return 0;
}

/* A number of 1, 2, 4 or 8 bytes. */
static inline uint64_t byte_read(ByteReader *reader, size_t n_bytes) {
        uint64_t value = 0;

        if (UNLIKELY(byte_reader_left(reader) < n_bytes))
                return byte_reader_fail(reader);
        memcpy(&value, reader->at, n_bytes);
        reader->at += n_bytes;
        return le64toh(value);
}
uint64_t byte_read_uleb(ByteReader *reader);
int64_t byte_read_sleb(ByteReader *reader);
void byte_skip(ByteReader *reader, uint64_t n_bytes);

/* A pointer in one of DWARF's encodings; `data` is the base of POINTER_FROM_DATA. */
uint64_t byte_read_pointer(ByteReader *reader, uint8_t encoding, uint64_t data);
