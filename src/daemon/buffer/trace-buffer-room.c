/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Trace buffer, room: which segment is written to, and what is evicted for it
 *
 * Whole segments are recycled, so what a put costs does not depend on what it overwrites; once in a
 * segment's worth of chunks, one put pays for the eviction of all that the oldest one holds.
 */

#include <errno.h>

#include "buffer/trace-buffer-private.h"

void trace_buffer_drop_first(TraceBuffer *buffer, Sequence *sequence) {
        Record *record = sequence_at(sequence, 0);

        buffer->n_unread -= record->n_payload - record->n_consumed;
        buffer->slots[record->slot].n_live--;
        sequence_pop(sequence);
        __atomic_store_n(&record->sequence, NULL, __ATOMIC_RELEASE);
        if (sequence->n_records == 0)
                sequence_table_set_idle(&buffer->sequences, sequence);
}

void trace_buffer_evict_record(TraceBuffer *buffer, Record *record, bool overwritten) {
        Sequence *sequence = record->sequence;

        while (record->sequence) {
                const Record *first = sequence_at(sequence, 0);
                bool is_unread = first->n_consumed < first->n_payload;

                if (!overwritten) {
                        sequence->is_cut = true;
                } else if (is_unread) {
                        buffer->index->stats.chunks_overwritten++;
                        buffer->index->stats.bytes_overwritten += record_outer_bytes(first->n_room);
                        sequence_lose(sequence, LOSS_OVERWRITE);
                }
                trace_buffer_drop_first(buffer, sequence);
                if (is_unread)
                        sequence->last.is_awaited = false;
        }
}

void trace_buffer_evict_slot(TraceBuffer *buffer, Slot *slot, bool overwritten) {
        for (uint32_t i = 0; i < slot->n_records && slot->n_live > 0; i++)
                if (slot->records[i].sequence)
                        trace_buffer_evict_record(buffer, &slot->records[i], overwritten);
}

static bool slot_has_unread(const Slot *slot) {
        for (uint32_t i = 0; i < slot->n_records; i++) {
                const Record *record = &slot->records[i];

                if (record->sequence && record->n_consumed < record->n_payload)
                        return true;
        }
        return false;
}

/* A slot that has nothing but room for the rest of chunks that have been read. It is taken if there is no other,
 * and the rest is then stored elsewhere. */
static Slot *trace_buffer_find_read(const TraceBuffer *buffer) {
        Slot *slot;

        list_for_each (slot, &buffer->used, link)
                if (slot != trace_buffer_newest(buffer) && !slot_has_unread(slot))
                        return slot;
        return NULL;
}

/* The slot to write to next: one that has been read, a new one, or the oldest. Returns NULL if the buffer is full
 * for good. */
static Slot *trace_buffer_pick_slot(TraceBuffer *buffer) {
        Slot *slot, *newest = trace_buffer_newest(buffer);

        list_for_each (slot, &buffer->used, link)
                if (slot->n_live == 0 && slot != newest)
                        return slot;
        slot = list_first(&buffer->free, Slot, link);
        if (slot)
                return slot;
        slot = buffer->policy == TRACE_BUFFER_DISCARD ? trace_buffer_find_read(buffer)
                                                      : list_first(&buffer->used, Slot, link);
        if (slot)
                trace_buffer_evict_slot(buffer, slot, true);
        return slot;
}

/* Counts the bytes left over at the end of a slot that was written to. */
static size_t trace_buffer_padding_bytes(const TraceBuffer *buffer, const Slot *slot) {
        if (slot->n_records == 0)
                return 0;
        return buffer->segment_bytes - slot->n_used -
               (size_t)slot->n_records * TRACE_BUFFER_RECORD_BYTES;
}

/* The slot is about to be recycled: the read pass continues behind it. */
static void trace_buffer_cursor_leave(TraceBuffer *buffer, const Slot *slot) {
        if (buffer->cursor_slot == slot)
                trace_buffer_cursor_next_slot(buffer);
}

/* Clears a slot whose contents are given up, and makes sure that it has a segment of its own. */
static int slot_empty(const TraceBuffer *buffer, Slot *slot) {
        Segment *segment, *old = slot->segment;
        int r;

        if (old && !segment_is_shared(old)) {
                slot_clear(slot);
                return 0;
        }
        r = segment_new(&segment, buffer->segment_bytes, buffer->segments);
        if (r < 0)
                return r;
        slot_clear(slot);
        slot_set_segment(slot, segment);
        segment_unref(old);
        return 0;
}

int trace_buffer_rotate(TraceBuffer *buffer) {
        const Slot *newest = trace_buffer_newest(buffer);
        size_t n_cleared;
        Slot *slot;
        int r;

        slot = trace_buffer_pick_slot(buffer);
        if (!slot) {
                buffer->index->is_sealed = true;
                return TRACE_BUFFER_E_DISCARDED;
        }
        n_cleared = trace_buffer_padding_bytes(buffer, slot);
        r = slot_empty(buffer, slot);
        if (r < 0)
                return r;

        buffer->index->stats.padding_bytes_written += trace_buffer_padding_bytes(buffer, newest);
        buffer->index->stats.padding_bytes_cleared += n_cleared;
        if (++buffer->index->n_rotations % buffer->n_slots == 0)
                buffer->index->stats.write_wrap_count++;
        trace_buffer_cursor_leave(buffer, slot);
        trace_buffer_make_newest(buffer, slot);
        return 0;
}

void trace_buffer_rewind(TraceBuffer *buffer) {
        Slot *newest = trace_buffer_newest(buffer);

        if (newest->n_live > 0 || newest->n_records == 0 || segment_is_shared(newest->segment))
                return;
        slot_clear(newest);
        if (buffer->cursor_slot == newest)
                buffer->cursor_record = 0;
}

void slot_release(Slot *slot) {
        if (slot->n_live == 0)
                slot->segment = segment_unref(slot->segment);
}

int slot_unshare(const TraceBuffer *buffer, Slot *slot) {
        Segment *segment, *old = slot->segment;
        int r;

        r = segment_new(&segment, old->n_bytes, buffer->segments);
        if (r < 0)
                return r;
        memcpy(segment->memory, old->memory, slot->n_used);
        slot_set_segment(slot, segment);
        segment_unref(old);
        return 0;
}
