/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Trace buffer, adoption: makes a buffer from files that another process has left, wherever it was when it was
 * killed
 *
 * Nothing in the files is used unchecked, and every change is one that each further try would make in the same way,
 * so this process may be killed, too. Of a slot, its age, its place and its number of records are used; of a record,
 * whether it is live, its sequence, and where its payload is; of a sequence, its writer, the last record that left
 * it, and its counters. The rest is built again from these, in the order of the ages.
 */

#include <errno.h>

#include "buffer/trace-buffer-private.h"

typedef struct Adoption {
        TraceBuffer *buffer;
        Slot **by_age; /* n_slots slots, the empty ones first */
        TraceBufferFound found;
} Adoption;

static bool record_is_possible(const TraceBuffer *buffer, const Record *record) {
        return record->n_payload <= record->n_room && record->n_consumed <= record->n_payload &&
               record->n_room <= TRACE_BUFFER_CHUNK_BYTES_MAX && record->offset >= PAYLOAD_SKEW &&
               record->offset <= buffer->segment_bytes &&
               ALIGN_UP((size_t)record->n_room, (size_t)PAYLOAD_ALIGNMENT) <=
                       buffer->segment_bytes - record->offset;
}

/* Finds which of the slot's records are valid, and how much of the segment they take. Returns false if they take
 * more than there is. */
static bool slot_measure(Adoption *adoption, Slot *slot) {
        const TraceBuffer *buffer = adoption->buffer;
        const uint16_t number = (uint16_t)(slot - buffer->slots);

        slot->n_used = PAYLOAD_SKEW;
        slot->n_live = 0;
        for (uint32_t i = 0; i < slot->n_records; i++) {
                Record *record = &slot->records[i];

                if (!record_is_possible(buffer, record)) {
                        adoption->found.n_records_broken += record->sequence != NULL;
                        *record = (Record){ .slot = number };
                        continue;
                }
                record->slot = number;
                record->flags &= RECORD_FLAGS;
                slot->n_used =
                        MAX(slot->n_used,
                            record->offset + (uint32_t)ALIGN_UP(record->n_room, PAYLOAD_ALIGNMENT));
                slot->n_live += record->sequence != NULL;
        }
        return slot->n_used + (size_t)slot->n_records * TRACE_BUFFER_RECORD_BYTES <=
               buffer->segment_bytes;
}

static void adoption_give_up_slot(Adoption *adoption, Slot *slot, bool is_broken) {
        adoption->found.n_slots_broken += is_broken;
        slot->n_live = 0;
        slot_clear(slot);
        slot->age = 0;
}

static int adoption_claim_segment(const Adoption *adoption, Slot *slot) {
        TraceBuffer *buffer = adoption->buffer;
        Segment *segment;
        int r;

        r = segment_new_claimed(&segment, buffer->segment_bytes, buffer->segments, slot->place);
        if (r == 0)
                slot->segment = segment;
        return r;
}

/* A slot that has been read completely may have lost its segment to another slot, so it is handled later. */
static int adoption_find_segments(Adoption *adoption, bool of_live_slots) {
        const TraceBuffer *buffer = adoption->buffer;
        int r = 0;

        for (size_t i = 0; r == 0 && i < buffer->n_slots; i++) {
                Slot *slot = &buffer->slots[i];

                if (slot->age == 0 || (slot->n_live > 0) != of_live_slots)
                        continue;
                if (segment_file_claim(buffer->segments, slot->place))
                        r = adoption_claim_segment(adoption, slot);
                else
                        adoption_give_up_slot(adoption, slot, of_live_slots);
        }
        return r;
}

static void adoption_find_slot(Adoption *adoption, Slot *slot) {
        const TraceBuffer *buffer = adoption->buffer;
        const size_t per_slot = buffer->segment_bytes / TRACE_BUFFER_RECORD_BYTES;

        if (!buffer->index->shape.is_packed)
                slot->records = buffer->file.records + (size_t)(slot - buffer->slots) * per_slot;
        slot->n_cloned = 0;
        /* A slot that was never written to is empty, and belongs to no writer. */
        if (slot->n_records > per_slot || (slot->age == 0 && slot->n_records > 0) ||
            !slot_measure(adoption, slot))
                adoption_give_up_slot(adoption, slot, true);
}

static int slot_compare_records(const void *a, const void *b) {
        const Slot *const *one = a, *const *other = b;

        return ((*one)->records_at > (*other)->records_at) -
               ((*one)->records_at < (*other)->records_at);
}

/* The records of a clone's slots follow each other. No two slots share any. */
static void adoption_find_packed_records(Adoption *adoption) {
        TraceBuffer *buffer = adoption->buffer;
        const uint64_t n_records = buffer->index->shape.n_records;
        uint64_t end = 0;

        qsort(adoption->by_age, buffer->n_slots, sizeof(*adoption->by_age), slot_compare_records);
        for (size_t i = 0; i < buffer->n_slots; i++) {
                Slot *slot = adoption->by_age[i];

                slot->records = buffer->file.records;
                if (slot->n_records == 0)
                        continue;
                if (slot->records_at < end || slot->records_at > n_records ||
                    slot->n_records > n_records - slot->records_at) {
                        adoption_give_up_slot(adoption, slot, true);
                        continue;
                }
                slot->records += slot->records_at;
                end = slot->records_at + slot->n_records;
        }
}

static int slot_compare_ages(const void *a, const void *b) {
        const Slot *const *one = a, *const *other = b;

        if ((*one)->age != (*other)->age)
                return (*one)->age < (*other)->age ? -1 : 1;
        return *one < *other ? -1 : 1;
}

static void adoption_drop_record(Adoption *adoption, Slot *slot, Record *record) {
        slot->n_live--;
        __atomic_store_n(&record->sequence, NULL, __ATOMIC_RELEASE);
}

/* If one chunk is stored twice, the later one is complete: the process was killed before the earlier one was
 * removed. */
static void adoption_replace(Adoption *adoption, Sequence *sequence, Record *old, Record *record) {
        TraceBuffer *buffer = adoption->buffer;

        sequence_replace(sequence, record);
        buffer->n_unread += record->n_payload - record->n_consumed;
        buffer->n_unread -= old->n_payload - old->n_consumed;
        adoption_drop_record(adoption, &buffer->slots[old->slot], old);
}

/* The sequence that the record names, if it exists. */
static Sequence *adoption_find_sequence(const Adoption *adoption, const Record *record) {
        const SequenceTable *table = &adoption->buffer->sequences;
        Sequence *sequence;

        if (record->index >= adoption->buffer->index->n_sequences_ever)
                return NULL;
        sequence = sequence_pool_at(&table->pool, record->index);
        return sequence->is_used ? sequence : NULL;
}

static int adoption_find_record(Adoption *adoption, Slot *slot, Record *record) {
        TraceBuffer *buffer = adoption->buffer;
        Sequence *sequence = adoption_find_sequence(adoption, record);
        Record *old;
        int r;

        if (!sequence || !sequence_has_place(sequence, record->chunk_id)) {
                adoption->found.n_records_broken++;
                adoption_drop_record(adoption, slot, record);
                return 0;
        }
        if (sequence_is_behind(sequence, record)) {
                adoption_drop_record(adoption, slot, record);
                return 0;
        }
        r = sequence_reserve(sequence);
        if (r < 0)
                return r;
        record->sequence = sequence;
        old = sequence_find(sequence, record->chunk_id);
        if (old) {
                adoption_replace(adoption, sequence, old, record);
                return 0;
        }
        if (sequence->n_records == 0)
                sequence_table_set_busy(&buffer->sequences, sequence);
        sequence_insert(sequence, record);
        buffer->n_unread += record->n_payload - record->n_consumed;
        return 0;
}

static int adoption_find_records(Adoption *adoption, Slot *slot) {
        int r = 0;

        for (uint32_t i = 0; r == 0 && i < slot->n_records; i++)
                if (slot->records[i].sequence)
                        r = adoption_find_record(adoption, slot, &slot->records[i]);
        return r;
}

static int adoption_find_slots(Adoption *adoption) {
        TraceBuffer *buffer = adoption->buffer;
        int r;

        for (size_t i = 0; i < buffer->n_slots; i++)
                adoption->by_age[i] = &buffer->slots[i];
        if (buffer->index->shape.is_packed)
                adoption_find_packed_records(adoption);
        for (size_t i = 0; i < buffer->n_slots; i++)
                adoption_find_slot(adoption, &buffer->slots[i]);
        r = adoption_find_segments(adoption, true);
        if (r == 0)
                r = adoption_find_segments(adoption, false);
        if (r < 0)
                return r;
        qsort(adoption->by_age, buffer->n_slots, sizeof(*adoption->by_age), slot_compare_ages);
        for (size_t i = 0; r == 0 && i < buffer->n_slots; i++) {
                Slot *slot = adoption->by_age[i];

                list_append(slot->age > 0 ? &buffer->used : &buffer->free, &slot->link);
                buffer->index->n_ages = MAX(buffer->index->n_ages, slot->age);
                r = adoption_find_records(adoption, slot);
        }
        return r;
}

/* One slot must be writable: if none is in use, an empty one. */
static int adoption_find_newest(const Adoption *adoption) {
        TraceBuffer *buffer = adoption->buffer;
        Segment *segment;
        Slot *slot;
        int r;

        if (!list_is_empty(&buffer->used))
                return 0;
        slot = list_first(&buffer->free, Slot, link);
        r = segment_new(&segment, buffer->segment_bytes, buffer->segments);
        if (r < 0)
                return r;
        slot_set_segment(slot, segment);
        trace_buffer_make_newest(buffer, slot);
        return 0;
}

static int adoption_run(Adoption *adoption) {
        TraceBuffer *buffer = adoption->buffer;
        int r;

        r = sequence_table_find_again(&buffer->sequences);
        if (r == 0)
                r = adoption_find_slots(adoption);
        if (r < 0)
                return r;
        segment_file_settle(buffer->segments);
        r = adoption_find_newest(adoption);
        if (r < 0)
                return r;
        if (buffer->index->shape.is_packed)
                trace_buffer_freeze(buffer);
        trace_buffer_begin_read(buffer);
        buffer->segments->is_left = false;
        return 0;
}

/* Pointers in the slots mean nothing to this process, so they are cleared. */
static void trace_buffer_forget_pointers(TraceBuffer *buffer) {
        for (size_t i = 0; i < buffer->n_slots; i++) {
                buffer->slots[i].segment = NULL;
                buffer->slots[i].n_live = 0;
                list_init(&buffer->slots[i].link);
        }
}

static int trace_buffer_find(TraceBuffer **ret, int index_fd, int segments_fd) {
        BufferIndexFile file;
        BufferShape shape;
        int r;

        r = buffer_index_find(&file, index_fd, &shape);
        if (r == 0)
                r = trace_buffer_new_empty(ret, &file, &shape);
        if (r != 0) {
                file.fd = -1;
                buffer_index_deinit(&file);
                return r == BUFFER_INDEX_E_LAYOUT   ? TRACE_BUFFER_E_LAYOUT
                       : r == BUFFER_INDEX_E_BROKEN ? TRACE_BUFFER_E_BROKEN
                                                    : r;
        }
        trace_buffer_forget_pointers(*ret);
        r = segment_file_find(&(*ret)->segments, segments_fd, (*ret)->segment_bytes);
        return r == -EINVAL ? TRACE_BUFFER_E_BROKEN : r;
}

/* The descriptors stay the caller's. */
static void trace_buffer_give_back(TraceBuffer *buffer) {
        if (!buffer)
                return;
        buffer->file.fd = -1;
        if (buffer->segments)
                buffer->segments->fd = -1;
        trace_buffer_free(buffer);
}

int trace_buffer_adopt(TraceBuffer **ret,
                       int index_fd,
                       int segments_fd,
                       TraceBufferFound *ret_found) {
        Adoption adoption = {};
        int r;

        r = trace_buffer_find(&adoption.buffer, index_fd, segments_fd);
        if (r == 0) {
                adoption.by_age = calloc(adoption.buffer->n_slots, sizeof(*adoption.by_age));
                r = adoption.by_age ? adoption_run(&adoption) : -ENOMEM;
        }
        free(adoption.by_age);
        if (r != 0) {
                trace_buffer_give_back(adoption.buffer);
                return r;
        }
        *ret = adoption.buffer;
        *ret_found = adoption.found;
        return 0;
}
