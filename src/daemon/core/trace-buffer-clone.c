/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Clones, and what they need: to freeze, to clear.
 *
 * A clone has its own slots, records and sequences, and shares the segments. The records of both
 * lie at the same places of their mappings, so that a reference to one is translated by an offset.
 *
 * The newest segment is shared like the others, and the original goes on appending to it: behind
 * all that the clone's records refer to, so these bytes are nobody's but the original's. The clone,
 * which is frozen, never writes to a segment.
 */

#include <errno.h>

#include "core/trace-buffer-private.h"

static void trace_buffer_copy_slot(TraceBuffer *clone, const TraceBuffer *buffer, Slot *slot) {
        Slot *copy = &clone->slots[slot - buffer->slots];

        copy->n_live = slot->n_live;
        copy->n_used = slot->n_used;
        copy->filled_until = slot->filled_until;
        /* What has been read is not the clone's, and need not be kept for it. */
        if (slot->n_live > 0) {
                copy->segment = segment_ref(slot->segment);
                copy->n_records = slot->n_records;
                memcpy(copy->records, slot->records, slot->n_records * sizeof(Record));
                slot->n_cloned = slot->n_used;
        }
        list_append(&clone->used, &copy->link);
}

/* Turns the references between the original's records and sequences into those of the clone. */
static void trace_buffer_adopt_records(TraceBuffer *clone, const TraceBuffer *buffer) {
        for (size_t i = 0; i < clone->sequences.n_allocated; i++) {
                Sequence *sequence = clone->sequences.sequences[i];

                for (size_t k = 0; sequence && k < sequence->n_records; k++) {
                        Record *record = clone->records + (sequence->records[k] - buffer->records);

                        record->sequence = sequence;
                        sequence->records[k] = record;
                }
        }
}

static void trace_buffer_leave_out(TraceBuffer *buffer, uint64_t keep_from) {
        Slot *slot;

        list_for_each (slot, &buffer->used, link)
                if (slot->filled_until <= keep_from)
                        trace_buffer_evict_slot(buffer, slot, false);
}

int trace_buffer_clone(TraceBuffer **ret, TraceBuffer *buffer, uint64_t keep_from) {
        _cleanup_(trace_buffer_freep) TraceBuffer *clone = NULL;
        Slot *slot;
        int r;

        r = trace_buffer_new_empty(&clone,
                                   buffer->n_slots * buffer->segment_bytes,
                                   buffer->segment_bytes,
                                   buffer->policy);
        if (r < 0)
                return r;
        r = sequence_table_copy(&clone->sequences, &buffer->sequences);
        if (r < 0)
                return r;

        list_for_each (slot, &buffer->used, link)
                trace_buffer_copy_slot(clone, buffer, slot);
        trace_buffer_adopt_records(clone, buffer);
        clone->pass = buffer->pass;
        clone->n_unread = buffer->n_unread;
        clone->stats = buffer->stats;
        clone->stats.bytes_read = 0;
        clone->stats.chunks_read = 0;
        clone->stats.readaheads_succeeded = 0;
        clone->stats.readaheads_failed = 0;
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

/* Segments that a clone holds too are its own from now on, so that reading it gives memory back.
 * The newest must have one. */
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
        buffer->is_sealed = false;
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
