/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sequence: the chunks of one writer in the order of their ids, and what was lost between them */

#include <errno.h>

#include "buffer/sequence.h"

#define SEQUENCE_RECORDS_FIRST 4 /* most writers have few chunks in a buffer at any time */
#define SHRINK_AT              8 /* the part in use at which half is given back */

int sequence_copy(Sequence *copy, Sequence *sequence) {
        const uint32_t index = copy->index;

        *copy = *sequence;
        copy->index = index;
        list_init(&copy->idle_link);
        copy->records = NULL;
        copy->first = 0;
        copy->n_allocated = 0;
        copy->copy = NULL;

        while (copy->n_allocated < sequence->n_records)
                copy->n_allocated = MAX(2 * copy->n_allocated, (size_t)SEQUENCE_RECORDS_FIRST);
        if (copy->n_allocated > 0) {
                copy->records = malloc(copy->n_allocated * sizeof(Record *));
                if (!copy->records)
                        return -ENOMEM;
        }
        sequence->copy = copy;
        return 0;
}

void sequence_deinit(Sequence *sequence) {
        list_unlink(&sequence->idle_link);
        free(TAKE(sequence->records));
}

/* Memory that was found may contain any byte in place of a bool. */
static bool found_bool(const bool *at) {
        uint8_t byte;

        memcpy(&byte, at, sizeof(byte));
        return byte != 0;
}

void sequence_find_again(Sequence *sequence, uint32_t index) {
        Sequence found = {
                .index = index,
                .is_used = 1,
                .origin = sequence->origin,
                .last = {
                        .is_set = found_bool(&sequence->last.is_set),
                        .was_incomplete = found_bool(&sequence->last.was_incomplete),
                        .is_awaited = found_bool(&sequence->last.is_awaited),
                        .n_payload = sequence->last.n_payload,
                        .chunk_id = sequence->last.chunk_id,
                        .n_unbroken = sequence->last.n_unbroken,
                },
                .loss = sequence->loss & LOSS_ALL,
                .is_gone = found_bool(&sequence->is_gone),
                .is_cut = found_bool(&sequence->is_cut),
        };

        if (found.loss)
                found.loss |= LOSS_PRESENT;
        memcpy(found.n_chunks, sequence->n_chunks, sizeof(found.n_chunks));
        memcpy(found.n_bytes, sequence->n_bytes, sizeof(found.n_bytes));
        *sequence = found;
        list_init(&sequence->idle_link);
}

/* The rest of a chunk that left incomplete comes later, with more bytes. */
bool sequence_is_behind(const Sequence *sequence, const Record *record) {
        const SequenceLast *last = &sequence->last;
        int order = last->is_set ? chunk_id_compare(record->chunk_id, last->chunk_id) : 1;

        return order < 0 ||
               (order == 0 && (!last->was_incomplete || record->n_payload <= last->n_payload));
}

const uint16_t trace_buffer_histogram_bounds[] = { 8,    32,   128,  512,   1024,
                                                   2048, 4096, 8192, 12288, 16384 };

void sequence_count_chunk(Sequence *sequence, uint16_t n_payload) {
        size_t i = 0;

        while (i < ARRAY_SIZE(trace_buffer_histogram_bounds) &&
               n_payload > trace_buffer_histogram_bounds[i])
                i++;
        sequence->n_chunks[i]++;
        sequence->n_bytes[i] += n_payload;
}

static inline Record **sequence_slot(const Sequence *sequence, size_t i) {
        return &sequence->records[(sequence->first + i) & (sequence->n_allocated - 1)];
}

/* The place of the chunk id, or of the first id after it; it is not before `low`. Steps get longer, so a near
 * place is found quickly. */
static size_t sequence_lower_bound(const Sequence *sequence, size_t low, uint32_t chunk_id) {
        size_t high = low;

        for (size_t step = 1; high < sequence->n_records &&
                              chunk_id_compare(sequence_at(sequence, high)->chunk_id, chunk_id) < 0;
             step *= 2) {
                low = high + 1;
                high += step;
        }
        high = MIN(high, sequence->n_records);
        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (chunk_id_compare(sequence_at(sequence, middle)->chunk_id, chunk_id) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* Counts back from the newest id, since there are more gaps among old ids than among new ones. Each gap on the
 * way means that the record is further on. Returns n_records if the chunk is not there. */
static size_t sequence_position(const Sequence *sequence, uint32_t chunk_id) {
        size_t n = sequence->n_records, i;
        uint32_t behind = sequence->last_id - chunk_id;

        if (sequence_is_next(sequence, chunk_id))
                return n;
        i = behind < n ? n - 1 - behind : 0;
        if (LIKELY(sequence_at(sequence, i)->chunk_id == chunk_id))
                return i;
        i = sequence_lower_bound(sequence, i, chunk_id);
        return i < n && sequence_at(sequence, i)->chunk_id == chunk_id ? i : n;
}

Record *sequence_find(const Sequence *sequence, uint32_t chunk_id) {
        size_t i = sequence_position(sequence, chunk_id);

        return i < sequence->n_records ? sequence_at(sequence, i) : NULL;
}

static int sequence_resize(Sequence *sequence, size_t n_allocated) {
        Record **records;

        records = malloc(n_allocated * sizeof(Record *));
        if (!records)
                return -ENOMEM;
        for (size_t i = 0; i < sequence->n_records; i++)
                records[i] = sequence_at(sequence, i);

        free(sequence->records);
        sequence->records = records;
        sequence->first = 0;
        sequence->n_allocated = n_allocated;
        return 0;
}

void sequence_adopt(const Sequence *sequence, Record *record) {
        sequence->copy->records[sequence_position(sequence, record->chunk_id)] = record;
        record->sequence = sequence->copy;
        record->index = sequence->copy->index;
}

int sequence_reserve(Sequence *sequence) {
        if (sequence->n_records < sequence->n_allocated)
                return 0;
        return sequence_resize(sequence,
                               MAX(2 * sequence->n_allocated, (size_t)SEQUENCE_RECORDS_FIRST));
}

bool sequence_has_place(const Sequence *sequence, uint32_t chunk_id) {
        size_t n = sequence->n_records;

        if (n == 0)
                return true;
        if (sequence_is_next(sequence, chunk_id))
                return chunk_id - sequence->first_id <= INT32_MAX;
        if (sequence->last_id - chunk_id > INT32_MAX)
                return false;
        return n < SEQUENCE_REORDER_MAX ||
               chunk_id_compare(chunk_id,
                                sequence_at(sequence, n - SEQUENCE_REORDER_MAX)->chunk_id) > 0;
}

bool sequence_insert(Sequence *sequence, Record *record) {
        bool is_next = sequence_is_next(sequence, record->chunk_id);
        size_t i = sequence->n_records++;

        if (is_next)
                sequence->last_id = record->chunk_id;
        for (; !is_next && i > 0; i--) {
                Record *before = sequence_at(sequence, i - 1);

                if (chunk_id_compare(before->chunk_id, record->chunk_id) < 0)
                        break;
                *sequence_slot(sequence, i) = before;
        }
        *sequence_slot(sequence, i) = record;
        if (i == 0)
                sequence->first_id = record->chunk_id;
        return is_next;
}

void sequence_replace(Sequence *sequence, Record *record) {
        *sequence_slot(sequence, sequence_position(sequence, record->chunk_id)) = record;
}

/* Counts chunks in a row up to the one that leaves now. After an incomplete chunk the row begins again, as nobody
 * knows what else was in it. */
static uint32_t sequence_count_unbroken(const Sequence *sequence, uint32_t chunk_id) {
        const SequenceLast *last = &sequence->last;

        if (last->is_set && chunk_id == last->chunk_id)
                return last->n_unbroken;
        if (!last->is_set || chunk_id != last->chunk_id + 1 || last->was_incomplete)
                return 1;
        return last->n_unbroken < INT32_MAX ? last->n_unbroken + 1 : INT32_MAX;
}

bool sequence_had(const Sequence *sequence, uint32_t chunk_id) {
        return sequence->last.is_set &&
               sequence->last.chunk_id - chunk_id < sequence->last.n_unbroken;
}

void sequence_pop(Sequence *sequence) {
        const Record *record = sequence_at(sequence, 0);

        sequence->last = (SequenceLast){
                .is_set = true,
                .was_incomplete = record->flags & RECORD_INCOMPLETE,
                .is_awaited = record->flags & RECORD_INCOMPLETE,
                .n_payload = record->n_payload,
                .chunk_id = record->chunk_id,
                .n_unbroken = sequence_count_unbroken(sequence, record->chunk_id),
        };
        sequence->first = (sequence->first + 1) & (sequence->n_allocated - 1);
        if (--sequence->n_records > 0)
                sequence->first_id = sequence_at(sequence, 0)->chunk_id;
        /* A writer that was busy once must not hold memory for ever. If a smaller array cannot be allocated, it
         * keeps the larger one. */
        if (sequence->n_allocated > SEQUENCE_RECORDS_FIRST &&
            sequence->n_records <= sequence->n_allocated / SHRINK_AT)
                sequence_resize(sequence, sequence->n_allocated / 2);
}
