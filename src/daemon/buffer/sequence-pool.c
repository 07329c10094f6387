/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sequence pool: memory for sequences, which never moves */

#include <errno.h>
#include <string.h>

#include "buffer/mapping.h"
#include "buffer/sequence-pool.h"
#include "buffer/sequence.h"

static size_t piece_sequences(size_t piece) {
        return (size_t)SEQUENCE_POOL_FIRST << piece;
}

static size_t piece_bytes(size_t piece) {
        return ALIGN_UP(piece_sequences(piece) * sizeof(Sequence), (size_t)MAPPING_ALIGNMENT);
}

static uint64_t piece_offset(size_t piece) {
        uint64_t offset = 0;

        for (size_t i = 0; i < piece; i++)
                offset += piece_bytes(i);
        return offset;
}

/* The pieces before this one have 64 * (2^piece - 1) sequences. */
static size_t piece_of(uint32_t index) {
        return (size_t)(31 - __builtin_clz(index / SEQUENCE_POOL_FIRST + 1));
}

uint64_t sequence_pool_bytes(size_t n_sequences) {
        return n_sequences == 0 ? 0 : piece_offset(piece_of((uint32_t)n_sequences - 1) + 1);
}

void sequence_pool_init(SequencePool *pool, uint32_t *n_ever, int fd, uint64_t offset) {
        *pool = (SequencePool){ .fd = fd, .offset = offset, .n_ever = n_ever };
        list_init(&pool->free);
}

void sequence_pool_deinit(SequencePool *pool) {
        for (size_t i = 0; i < pool->n_pieces; i++)
                mapping_free(pool->pieces[i], piece_bytes(i));
        pool->n_pieces = 0;
}

static int sequence_pool_map(SequencePool *pool) {
        const size_t piece = pool->n_pieces;
        void *memory;
        int r;

        if (piece == SEQUENCE_POOL_PIECES)
                return -ENOMEM;
        r = mapping_new(&memory, piece_bytes(piece), pool->fd, pool->offset + piece_offset(piece));
        if (r < 0)
                return r;
        pool->pieces[pool->n_pieces++] = memory;
        return 0;
}

Sequence *sequence_pool_at(const SequencePool *pool, uint32_t index) {
        const size_t piece = piece_of(index);

        return &pool->pieces[piece][index - (piece_sequences(piece) - SEQUENCE_POOL_FIRST)];
}

int sequence_pool_take(SequencePool *pool, Sequence **ret) {
        Sequence *sequence = list_first(&pool->free, Sequence, idle_link);
        uint32_t index;
        int r;

        if (sequence) {
                list_unlink(&sequence->idle_link);
                index = sequence->index;
        } else {
                index = *pool->n_ever;
                r = piece_of(index) == pool->n_pieces ? sequence_pool_map(pool) : 0;
                if (r < 0)
                        return r;
                ++*pool->n_ever;
                sequence = sequence_pool_at(pool, index);
        }
        *sequence = (Sequence){ .index = index };
        list_init(&sequence->idle_link);
        *ret = sequence;
        return 0;
}

void sequence_pool_give(SequencePool *pool, Sequence *sequence) {
        list_append(&pool->free, &sequence->idle_link);
}

static int sequence_pool_keep_piece(const SequencePool *pool, size_t piece, int fd) {
        void *memory;
        int r;

        r = mapping_new(&memory, piece_bytes(piece), fd, pool->offset + piece_offset(piece));
        if (r < 0)
                return r;
        memcpy(memory, pool->pieces[piece], piece_sequences(piece) * sizeof(Sequence));
        r = mapping_replace(pool->pieces[piece], memory, piece_bytes(piece));
        if (r < 0)
                mapping_free(memory, piece_bytes(piece));
        return r;
}

int sequence_pool_keep(SequencePool *pool, int fd) {
        int r = 0;

        for (size_t i = 0; i < pool->n_pieces && r == 0; i++)
                r = sequence_pool_keep_piece(pool, i, fd);
        if (r == 0)
                pool->fd = fd;
        return r;
}

int sequence_pool_find(SequencePool *pool) {
        const uint32_t n_ever = *pool->n_ever;
        int r = 0;

        while (r == 0 && n_ever > 0 && piece_of(n_ever - 1) >= pool->n_pieces)
                r = sequence_pool_map(pool);
        return r;
}
