/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Sequence table: finds a sequence by producer and writer
 *
 * It is an open-addressing hash table that owns the sequences of one trace buffer. Sequences without records are
 * idle; the table keeps the TRACE_BUFFER_IDLE_SEQUENCES_MAX that became idle last.
 */

#include "buffer/sequence-pool.h"
#include "buffer/sequence.h"

typedef struct SequenceTable {
        SequencePool pool;
        Sequence **sequences; /* n_allocated places (0 or a power of two), NULL where free */
        size_t n_allocated;
        size_t n_sequences;
        size_t n_sequences_max;
        List idle; /* oldest first */
        size_t n_idle;
} SequenceTable;

/* The arguments are those of the pool. */
void sequence_table_init(SequenceTable *table, uint32_t *n_ever, int fd, uint64_t offset);
/* Zeros are allowed. */
void sequence_table_deinit(SequenceTable *table);

/* Copies all sequences to `ret`, which is empty; see sequence_copy(). Returns 0 or -ENOMEM. */
int sequence_table_copy(SequenceTable *ret, const SequenceTable *table);

/* Puts all sequences of a pool that was found into the table, which is empty. A writer cannot have two sequences,
 * so a second one is forgotten. Returns 0 or -ENOMEM. */
int sequence_table_find_again(SequenceTable *table);

/* The sequence, or NULL. */
Sequence *sequence_table_find(const SequenceTable *table, uint64_t producer_id, uint16_t writer_id);

enum {
        _SEQUENCE_TABLE_E_SUCCESS,
        SEQUENCE_TABLE_E_FULL, /* there are n_sequences_max */
};

/* Finds the sequence, or makes an idle one. Returns 0, SEQUENCE_TABLE_E_FULL or -ENOMEM. */
int sequence_table_obtain(SequenceTable *table, Sequence **ret, const ChunkOrigin *origin);

/* To be called when a sequence has got its first record, and when it has lost its last. */
void sequence_table_set_busy(SequenceTable *table, Sequence *sequence);
void sequence_table_set_idle(SequenceTable *table, Sequence *sequence);

/* Forgets the oldest idle sequence. Returns false if all are busy. */
bool sequence_table_forget_idle(SequenceTable *table);

/* Forgets the oldest idle sequences beyond the limit. */
void sequence_table_collect(SequenceTable *table);

/* Marks all sequences as gone, but forgets none. */
void sequence_table_all_gone(SequenceTable *table);

/* Marks the sequences of all other producers as gone, and as the first to be forgotten, and gives them numbers
 * that no producer has. */
int sequence_table_retire(SequenceTable *table, const uint64_t *staying, size_t n_staying);
uint64_t sequence_table_number_before(uint64_t producer_id);

/* Forgets the losses that the next packets would have reported. */
void sequence_table_forgive(SequenceTable *table);

/* Marks the producer's sequences as gone, and as the first to be forgotten. */
void sequence_table_producer_gone(SequenceTable *table, uint64_t producer_id);
