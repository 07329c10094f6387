/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Sequence table: linear probing at a load of at most one half. A removal closes the gap, so there are no
 * tombstones, and a lookup ends at the first free place.
 */

#include <assert.h>
#include <errno.h>

#include "buffer/sequence-table.h"

#define SEQUENCE_TABLE_FIRST     16
#define SEQUENCE_TABLE_SHRINK_AT 8

void sequence_table_init(SequenceTable *table, uint32_t *n_ever, int fd, uint64_t offset) {
        *table = (SequenceTable){};
        list_init(&table->idle);
        sequence_pool_init(&table->pool, n_ever, fd, offset);
}

void sequence_table_deinit(SequenceTable *table) {
        size_t n_sequences = 0;

        for (size_t i = 0; i < table->n_allocated; i++)
                if (table->sequences[i]) {
                        sequence_deinit(table->sequences[i]);
                        n_sequences++;
                }
        assert(n_sequences == table->n_sequences);
        assert(table->n_idle == 0 || list_is_empty(&table->idle));
        free(table->sequences);
        sequence_pool_deinit(&table->pool);
        *table = (SequenceTable){};
}

/* Ids are chosen by the service, not by the peer, so nobody can aim for collisions. */
static inline size_t
sequence_table_home(const SequenceTable *table, uint64_t producer_id, uint16_t writer_id) {
        uint64_t key = (producer_id << 16 ^ producer_id >> 48) ^ writer_id;

        return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (table->n_allocated - 1);
}

/* The place of the sequence, or the place where it would be put. */
static size_t
sequence_table_place(const SequenceTable *table, uint64_t producer_id, uint16_t writer_id) {
        size_t i = sequence_table_home(table, producer_id, writer_id);

        for (;; i = (i + 1) & (table->n_allocated - 1)) {
                const Sequence *sequence = table->sequences[i];

                if (!sequence || (sequence->origin.producer_id == producer_id &&
                                  sequence->origin.writer_id == writer_id))
                        return i;
        }
}

Sequence *
sequence_table_find(const SequenceTable *table, uint64_t producer_id, uint16_t writer_id) {
        if (table->n_allocated == 0)
                return NULL;
        return table->sequences[sequence_table_place(table, producer_id, writer_id)];
}

static int sequence_table_resize(SequenceTable *table, size_t n_allocated) {
        SequenceTable resized = *table;

        resized.n_allocated = n_allocated;
        resized.sequences = calloc(n_allocated, sizeof(*resized.sequences));
        if (!resized.sequences)
                return -ENOMEM;
        for (size_t i = 0; i < table->n_allocated; i++) {
                Sequence *sequence = table->sequences[i];

                if (sequence)
                        resized.sequences[sequence_table_place(&resized,
                                                               sequence->origin.producer_id,
                                                               sequence->origin.writer_id)] =
                                sequence;
        }

        free(table->sequences);
        table->sequences = resized.sequences;
        table->n_allocated = n_allocated;
        return 0;
}

static int sequence_table_grow(SequenceTable *table) {
        if (2 * (table->n_sequences + 1) <= table->n_allocated)
                return 0;
        return sequence_table_resize(table,
                                     MAX(2 * table->n_allocated, (size_t)SEQUENCE_TABLE_FIRST));
}

int sequence_table_obtain(SequenceTable *table, Sequence **ret, const ChunkOrigin *origin) {
        Sequence *sequence;
        int r;

        sequence = sequence_table_find(table, origin->producer_id, origin->writer_id);
        if (LIKELY(sequence)) {
                *ret = sequence;
                return 0;
        }

        if (table->n_sequences >= table->n_sequences_max)
                return SEQUENCE_TABLE_E_FULL;
        r = sequence_table_grow(table);
        if (r < 0)
                return r;
        r = sequence_pool_take(&table->pool, &sequence);
        if (r < 0)
                return r;
        sequence->origin = *origin;
        __atomic_store_n(&sequence->is_used, 1, __ATOMIC_RELEASE);
        table->sequences[sequence_table_place(table, origin->producer_id, origin->writer_id)] =
                sequence;
        table->n_sequences++;
        sequence_table_set_idle(table, sequence);
        *ret = sequence;
        return 0;
}

/* Moves sequences that the removed one had displaced back towards their homes. */
static void sequence_table_close_gap(SequenceTable *table, size_t gap) {
        size_t mask = table->n_allocated - 1;

        for (size_t i = (gap + 1) & mask; table->sequences[i]; i = (i + 1) & mask) {
                const ChunkOrigin *origin = &table->sequences[i]->origin;
                size_t home = sequence_table_home(table, origin->producer_id, origin->writer_id);

                if (((i - home) & mask) < ((i - gap) & mask))
                        continue;
                table->sequences[gap] = table->sequences[i];
                table->sequences[i] = NULL;
                gap = i;
        }
}

static void sequence_table_remove(SequenceTable *table, Sequence *sequence) {
        size_t i = sequence_table_place(
                table, sequence->origin.producer_id, sequence->origin.writer_id);

        assert(table->sequences[i] == sequence && sequence->n_records == 0);
        table->sequences[i] = NULL;
        table->n_sequences--;
        table->n_idle--;
        sequence_table_close_gap(table, i);
        sequence_deinit(sequence);
        __atomic_store_n(&sequence->is_used, 0, __ATOMIC_RELEASE);
        sequence_pool_give(&table->pool, sequence);
}

void sequence_table_set_busy(SequenceTable *table, Sequence *sequence) {
        list_unlink(&sequence->idle_link);
        table->n_idle--;
}

void sequence_table_set_idle(SequenceTable *table, Sequence *sequence) {
        list_append(&table->idle, &sequence->idle_link);
        table->n_idle++;
}

int sequence_table_copy(SequenceTable *ret, const SequenceTable *table) {
        const Sequence *idle;
        int r;

        ret->sequences = calloc(table->n_allocated, sizeof(*ret->sequences));
        if (!ret->sequences)
                return table->n_allocated == 0 ? 0 : -ENOMEM;
        ret->n_allocated = table->n_allocated;
        for (size_t i = 0; i < table->n_allocated; i++) {
                if (!table->sequences[i])
                        continue;
                r = sequence_pool_take(&ret->pool, &ret->sequences[i]);
                if (r < 0)
                        return r;
                ret->n_sequences++;
                r = sequence_copy(ret->sequences[i], table->sequences[i]);
                if (r < 0)
                        return r;
        }
        list_for_each (idle, &table->idle, idle_link)
                sequence_table_set_idle(
                        ret,
                        sequence_table_find(ret, idle->origin.producer_id, idle->origin.writer_id));
        return 0;
}

/* Puts a sequence that was found in a file into the table. */
static int sequence_table_find_one(SequenceTable *table, Sequence *sequence, uint32_t index) {
        const ChunkOrigin *origin = &sequence->origin;
        int r;

        if (!sequence->is_used ||
            sequence_table_find(table, origin->producer_id, origin->writer_id)) {
                *sequence = (Sequence){ .index = index };
                sequence_pool_give(&table->pool, sequence);
                return 0;
        }
        r = sequence_table_grow(table);
        if (r < 0)
                return r;
        sequence_find_again(sequence, index);
        table->sequences[sequence_table_place(table, origin->producer_id, origin->writer_id)] =
                sequence;
        table->n_sequences++;
        sequence_table_set_idle(table, sequence);
        return 0;
}

int sequence_table_find_again(SequenceTable *table) {
        int r;

        r = sequence_pool_find(&table->pool);
        for (uint32_t i = 0; r == 0 && i < *table->pool.n_ever; i++)
                r = sequence_table_find_one(table, sequence_pool_at(&table->pool, i), i);
        table->n_sequences_max = MAX(table->n_sequences_max, table->n_sequences);
        return r;
}

bool sequence_table_forget_idle(SequenceTable *table) {
        Sequence *oldest = list_first(&table->idle, Sequence, idle_link);

        if (oldest)
                sequence_table_remove(table, oldest);
        return oldest;
}

void sequence_table_collect(SequenceTable *table) {
        while (table->n_idle > TRACE_BUFFER_IDLE_SEQUENCES_MAX)
                sequence_table_remove(table, list_first(&table->idle, Sequence, idle_link));
        /* If there is no memory for a smaller table, this one is kept. */
        if (table->n_allocated > SEQUENCE_TABLE_FIRST &&
            SEQUENCE_TABLE_SHRINK_AT * table->n_sequences <= table->n_allocated)
                sequence_table_resize(table, table->n_allocated / 2);
}

void sequence_table_producer_gone(SequenceTable *table, uint64_t producer_id) {
        Sequence *sequence;

        for (size_t i = 0; i < table->n_allocated; i++)
                if (table->sequences[i] && table->sequences[i]->origin.producer_id == producer_id)
                        table->sequences[i]->is_gone = true;
        /* Their counters may still be asked for. */
        list_for_each (sequence, &table->idle, idle_link)
                if (sequence->origin.producer_id == producer_id) {
                        list_unlink(&sequence->idle_link);
                        list_insert_before(table->idle.next, &sequence->idle_link);
                }
}

void sequence_table_all_gone(SequenceTable *table) {
        for (size_t i = 0; i < table->n_allocated; i++)
                if (table->sequences[i])
                        table->sequences[i]->is_gone = true;
}

void sequence_table_forgive(SequenceTable *table) {
        for (size_t i = 0; i < table->n_allocated; i++)
                if (table->sequences[i])
                        table->sequences[i]->loss = 0;
}

/* These numbers are higher than those of all producers, and differ each time this happens to a buffer. */
#define GENERATION (UINT64_C(1) << 40)

static bool sequence_stays(const Sequence *sequence, const uint64_t *staying, size_t n_staying) {
        for (size_t i = 0; i < n_staying; i++)
                if (sequence->origin.producer_id == staying[i])
                        return true;
        return false;
}

/* A process that left in order may have marked a producer as gone that stays. */
static void sequence_retire(Sequence *sequence, uint64_t generation, bool stays) {
        sequence->is_gone = !stays;
        if (stays)
                return;
        if (sequence->origin.producer_id < GENERATION)
                sequence->origin.producer_id += (generation + 1) * GENERATION;
}

/* What is known about a returning writer distinguishes its old chunks from new ones. */
static void sequence_table_forget_gone_first(SequenceTable *table) {
        Sequence *sequence;
        List staying;

        list_init(&staying);
        list_for_each (sequence, &table->idle, idle_link)
                if (!sequence->is_gone) {
                        list_unlink(&sequence->idle_link);
                        list_append(&staying, &sequence->idle_link);
                }
        list_for_each (sequence, &staying, idle_link) {
                list_unlink(&sequence->idle_link);
                list_append(&table->idle, &sequence->idle_link);
        }
}

int sequence_table_retire(SequenceTable *table, const uint64_t *staying, size_t n_staying) {
        uint64_t generation = 0;

        for (size_t i = 0; i < table->n_allocated; i++)
                if (table->sequences[i])
                        generation = MAX(generation,
                                         table->sequences[i]->origin.producer_id / GENERATION);
        for (size_t i = 0; i < table->n_allocated; i++)
                if (table->sequences[i])
                        sequence_retire(table->sequences[i],
                                        generation,
                                        sequence_stays(table->sequences[i], staying, n_staying));
        sequence_table_forget_gone_first(table);
        return table->n_allocated == 0 ? 0 : sequence_table_resize(table, table->n_allocated);
}

uint64_t sequence_table_number_before(uint64_t producer_id) {
        return producer_id % GENERATION;
}
