/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Sequence pool: where the sequences of a trace buffer lie
 *
 * They lie in pieces of memory, each twice as large as the one before, so that none ever moves. The pieces of a kept
 * buffer are in its index file, where a later process finds a sequence by its number.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/list.h"

typedef struct Sequence Sequence;

#define SEQUENCE_POOL_PIECES 18
#define SEQUENCE_POOL_FIRST  64 /* sequences in the first piece */

typedef struct SequencePool {
        int fd; /* the index file; -1: anonymous memory */
        uint64_t offset;
        Sequence *pieces[SEQUENCE_POOL_PIECES];
        size_t n_pieces;
        uint32_t *n_ever; /* in the index: in use, or in `free` */
        List free;        /* Sequence.idle_link */
} SequencePool;

/* A zeroed pool may be deinitialised, too. */
void sequence_pool_init(SequencePool *pool, uint32_t *n_ever, int fd, uint64_t offset);
void sequence_pool_deinit(SequencePool *pool);

/* How many bytes of a file the pieces for this number of sequences take. */
uint64_t sequence_pool_bytes(size_t n_sequences);

/* Takes a sequence, which is zeroed except for its number. Returns 0 or -ENOMEM. */
int sequence_pool_take(SequencePool *pool, Sequence **ret);
void sequence_pool_give(SequencePool *pool, Sequence *sequence);

/* The sequence with this number, which must have been in use before. */
Sequence *sequence_pool_at(const SequencePool *pool, uint32_t index);

/* Moves an anonymous pool into the file; all sequences keep their addresses. Returns 0, or -ENOMEM, after which
 * it may be tried again. */
int sequence_pool_keep(SequencePool *pool, int fd);

/* For a pool in a file that was found: maps all sequences that were ever in use. They count as in use until they
 * are given back. Returns 0 or -ENOMEM. */
int sequence_pool_find(SequencePool *pool);
