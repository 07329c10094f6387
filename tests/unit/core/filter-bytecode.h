/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bytecode of filter programs, made from words: with the checksum that it needs.
 */

#include "wire/wire-writer.h"

enum {
        OP_END = 0,
        OP_FIELD = 1,
        OP_RANGE = 2,
        OP_NESTED = 3,
        OP_STRING = 4,
        OP_TYPED_STRING = 5,
};

#define OP(field, opcode) ((uint32_t)(field) << 3 | (opcode))

/* Returns the number of bytes; 0 when they do not fit. */
static inline size_t
bytecode_put(uint8_t *ret, size_t n_ret, const uint32_t *words, size_t n_words) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        WireWriter writer;

        wire_writer_init(&writer, ret, n_ret);
        for (size_t i = 0; i < n_words; i++) {
                wire_put_varint(&writer, words[i]);
                for (unsigned shift = 0; shift < 32; shift += 8)
                        hash = (hash ^ (words[i] >> shift & 0xff)) * UINT64_C(0x100000001b3);
        }
        wire_put_varint(&writer, (uint32_t)hash);
        return wire_writer_failed(&writer) ? 0 : wire_writer_size(&writer);
}
