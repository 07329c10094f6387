/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Trace buffer, clones: how they are made, and freezing and clearing
 *
 * A clone has its own slots, records and sequences, and shares the segments. Its records are those that have not
 * been read from the original, packed without gaps, since most of the cost is new memory, and the thread that makes
 * the clone has others to serve.
 *
 * The newest segment is shared like the others, and the original goes on appending to it: behind all that the
 * clone's records refer to, so only the original uses these bytes. The clone is frozen, and never writes to a
 * segment.
 */

#include "buffer/mapping.h"
#include "buffer/trace-buffer-private.h"

static int trace_buffer_new_for_clone(TraceBuffer **ret, const TraceBuffer *buffer) {
        _cleanup_(buffer_index_deinit) BufferIndexFile file;
        BufferShape shape = buffer->index->shape;
        const Slot *slot;
        int r;

        shape.is_packed = true;
        shape.n_records = 1; /* at least something to map */
        list_for_each (slot, &buffer->used, link)
                shape.n_records += slot->n_live;
        r = buffer_index_init(&file, &shape, false);
        if (r < 0)
                return r;
        mapping_advise(file.records, file.n_records);
        return trace_buffer_new_empty(ret, &file, &shape);
}

/* The slot's records that have not been read, each put into its place in its sequence. */
static void slot_copy_records(Slot *copy, const Slot *slot) {
        for (uint32_t i = 0; copy->n_records < slot->n_live; i++) {
                const Record *record = &slot->records[i];
                Record *record_copy = &copy->records[copy->n_records];

                if (!record->sequence)
                        continue;
                *record_copy = *record;
                sequence_adopt(record->sequence, record_copy);
                copy->n_records++;
        }
}

static void trace_buffer_copy_slots(TraceBuffer *clone, const TraceBuffer *buffer) {
        Record *records = clone->file.records;
        Slot *slot;

        list_for_each (slot, &buffer->used, link) {
                Slot *copy = &clone->slots[slot - buffer->slots];

                list_append(&clone->used, &copy->link);
                /* Chunks that have been read are not in the clone, and need not be kept for it. */
                if (slot->n_live == 0)
                        continue;
                copy->segment = segment_ref(slot->segment);
                copy->records = records;
                copy->n_live = slot->n_live;
                copy->n_used = slot->n_used;
                copy->age = slot->age;
                copy->filled_until = slot->filled_until;
                copy->ends_at = slot->ends_at;
                slot_copy_records(copy, slot);
                slot->n_cloned = slot->n_used;
                records += copy->n_records;
        }
}

/* For a slot that was filled both before and after that time. Where its records ended is counted back from the
 * last one, so records that were not copied make a place look newer than it is, and too much is kept rather than
 * too little. */
static void slot_leave_out(TraceBuffer *buffer, Slot *slot, uint64_t keep_from) {
        uint64_t ends_at = slot->ends_at;

        for (uint32_t i = slot->n_records; i > 0; i--) {
                Record *record = &slot->records[i - 1];
                size_t n_bytes = record_outer_bytes(record->n_room);

                if (ends_at <= keep_from && record->sequence &&
                    !(record->flags & (RECORD_GREW | RECORD_INCOMPLETE)))
                        trace_buffer_evict_record(buffer, record, false);
                ends_at -= MIN(ends_at, n_bytes);
        }
}

static void trace_buffer_leave_out(TraceBuffer *buffer, uint64_t keep_from) {
        Slot *slot;

        list_for_each (slot, &buffer->used, link)
                if (slot->filled_until <= keep_from)
                        trace_buffer_evict_slot(buffer, slot, false);
                else
                        slot_leave_out(buffer, slot, keep_from);
}

int trace_buffer_clone(TraceBuffer **ret, TraceBuffer *buffer, uint64_t keep_from) {
        _cleanup_(trace_buffer_freep) TraceBuffer *clone = NULL;
        int r;

        r = trace_buffer_new_for_clone(&clone, buffer);
        if (r < 0)
                return r;
        trace_buffer_clear_slots(clone);
        r = sequence_table_copy(&clone->sequences, &buffer->sequences);
        if (r < 0)
                return r;

        trace_buffer_copy_slots(clone, buffer);
        clone->pass = buffer->pass;
        clone->n_unread = buffer->n_unread;
        clone->index->stats = buffer->index->stats;
        clone->index->stats.bytes_read = 0;
        clone->index->stats.chunks_read = 0;
        clone->index->stats.packets_read = 0;
        clone->index->stats.readaheads_succeeded = 0;
        clone->index->stats.readaheads_failed = 0;
        if (keep_from > 0)
                trace_buffer_leave_out(clone, keep_from);
        trace_buffer_freeze(clone);
        trace_buffer_begin_read(clone);

        *ret = TAKE(clone);
        return 0;
}

void trace_buffer_freeze(TraceBuffer *buffer) {
        buffer->is_frozen = true;
        sequence_table_all_gone(&buffer->sequences);
        for (size_t i = 0; i < buffer->n_slots; i++)
                slot_release(&buffer->slots[i]);
}

/* Segments that a clone also holds belong to the clone alone from now on, so that reading it gives memory back.
 * The newest slot must have a segment. */
static void trace_buffer_leave_shared(TraceBuffer *buffer) {
        Slot *slot, *newest = trace_buffer_newest(buffer);

        list_for_each (slot, &buffer->used, link)
                if (slot != newest && slot->segment && segment_is_shared(slot->segment))
                        slot->segment = segment_unref(slot->segment);
}

void trace_buffer_clear(TraceBuffer *buffer) {
        Slot *slot;

        list_for_each (slot, &buffer->used, link)
                trace_buffer_evict_slot(buffer, slot, false);
        sequence_table_forgive(&buffer->sequences);
        trace_buffer_leave_shared(buffer);
        buffer->index->is_sealed = false;
}

bool trace_buffer_next_writer(const TraceBuffer *buffer, WriterCursor *cursor, WriterStats *ret) {
        const SequenceTable *table = &buffer->sequences;

        for (; cursor->i < table->n_allocated; cursor->i++) {
                const Sequence *sequence = table->sequences[cursor->i];

                if (!sequence)
                        continue;
                cursor->i++;
                ret->origin = sequence->origin;
                memcpy(ret->n_chunks, sequence->n_chunks, sizeof(ret->n_chunks));
                memcpy(ret->n_bytes, sequence->n_bytes, sizeof(ret->n_bytes));
                return true;
        }
        return false;
}
