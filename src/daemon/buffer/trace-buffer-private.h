/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace buffer, inside: shared by the files that make room in it (trace-buffer-room.c), write to it
 * (trace-buffer.c), read from it (trace-buffer-read.c) and clone it (trace-buffer-clone.c)
 *
 * What a later process needs is in its index (buffer-index.h). The records of all slots are one mapping, so they
 * never move, and putting a chunk never fails for lack of a record.
 */

#include <assert.h>

#include "buffer/buffer-index.h"
#include "buffer/sequence-table.h"

struct TraceBuffer {
        TraceBufferPolicy policy;
        bool is_frozen;
        size_t segment_bytes;
        size_t n_slots;
        Slot *slots;
        BufferIndexFile file;
        BufferIndex *index;    /* the file's */
        SegmentFile *segments; /* NULL: anonymous memory */
        List used;             /* oldest first, never empty: the last is written to */
        List free;
        SequenceTable sequences;
        TraceBufferMayGrow may_grow;
        void *may_grow_userdata;
        uint64_t n_unread;

        /* The read pass: the next record in buffer order. */
        uint64_t pass;
        Slot *cursor_slot;
        uint32_t cursor_record;
        struct iovec *slices;
        size_t n_slices_allocated;

        uint8_t staging[TRACE_BUFFER_CHUNK_BYTES_MAX];
};

/* A record's charge, see TRACE_BUFFER_RECORD_BYTES. */
static_assert(sizeof(Record) + sizeof(Record *) <= TRACE_BUFFER_RECORD_BYTES, "charge all of it");
/* A sequence's charge, with its places in the table, its first records, and the allocator's overhead. */
static_assert(sizeof(Sequence) + 12 * sizeof(void *) <= TRACE_BUFFER_SEQUENCE_BYTES,
              "charge all of it");
static_assert(TRACE_BUFFER_CHUNK_BYTES_MAX <= UINT16_MAX, "sizes in Record");
static_assert(TRACE_BUFFER_CHUNK_BYTES_MAX >= SMB_PAGE_BYTES_MAX, "every chunk fits");

static inline void slot_clear(Slot *slot) {
        __atomic_store_n(&slot->n_records, 0, __ATOMIC_RELEASE);
        slot->n_used = PAYLOAD_SKEW;
        slot->n_cloned = 0;
}

static inline Slot *trace_buffer_newest(const TraceBuffer *buffer) {
        return list_entry(buffer->used.previous, Slot, link);
}

static inline uint8_t *record_payload(const TraceBuffer *buffer, const Record *record) {
        return buffer->slots[record->slot].segment->memory + record->offset;
}

static inline bool slot_has_room(const TraceBuffer *buffer, const Slot *slot, size_t n_room) {
        return slot->n_used + (size_t)slot->n_records * TRACE_BUFFER_RECORD_BYTES +
                       record_outer_bytes(n_room) <=
               buffer->segment_bytes;
}

/* Whether a clone may read the record's payload. Clones do not read what was appended later, even if they share
 * the segment. */
static inline bool slot_shares(const Slot *slot, const Record *record) {
        return segment_is_shared(slot->segment) && record->offset < slot->n_cloned;
}

/* Moves the read pass to the next slot. Returns false if that slot does not exist yet. */
static inline bool trace_buffer_cursor_next_slot(TraceBuffer *buffer) {
        if (buffer->cursor_slot == trace_buffer_newest(buffer))
                return false;
        buffer->cursor_slot = list_entry(buffer->cursor_slot->link.next, Slot, link);
        buffer->cursor_record = 0;
        return true;
}

/* The slot must be empty, or the new segment must contain a copy of everything in the old one. */
static inline void slot_set_segment(Slot *slot, Segment *segment) {
        slot->segment = segment;
        __atomic_store_n(&slot->place, segment->place, __ATOMIC_RELEASE);
}

static inline void trace_buffer_make_newest(TraceBuffer *buffer, Slot *slot) {
        list_unlink(&slot->link);
        list_append(&buffer->used, &slot->link);
        __atomic_store_n(&slot->age, ++buffer->index->n_ages, __ATOMIC_RELEASE);
}

/* To be called before shared data is changed: gives the slot a copy of its segment. Returns 0 or -ENOMEM. */
int slot_unshare(const TraceBuffer *buffer, Slot *slot);

/* Makes an empty slot the newest. Returns 0; TRACE_BUFFER_E_DISCARDED when no slot is empty and none may be evicted,
 * which seals the buffer; -ENOMEM. */
int trace_buffer_rotate(TraceBuffer *buffer);

/* When everything in the newest segment has been read, starts it from the beginning: a reader that keeps up needs
 * no second segment. */
void trace_buffer_rewind(TraceBuffer *buffer);

/* Takes the first record of a sequence out of it and out of the buffer. */
void trace_buffer_drop_first(TraceBuffer *buffer, Sequence *sequence);

/* Drops the record, and first the earlier ones of its sequence: a sequence is read in order, and packets cannot
 * be put together across a hole. Each record is counted, and reported as lost if it was `overwritten`; otherwise
 * it was not wanted. */
void trace_buffer_evict_record(TraceBuffer *buffer, Record *record, bool overwritten);

/* Likewise for all of the slot's records. */
void trace_buffer_evict_slot(TraceBuffer *buffer, Slot *slot, bool overwritten);

/* Makes a buffer that has only its index, which it takes over on success only. Returns 0 or -ENOMEM. */
int trace_buffer_new_empty(TraceBuffer **ret, BufferIndexFile *file, const BufferShape *shape);

/* Sets up the slots of a new buffer or a clone, all of them empty. */
void trace_buffer_clear_slots(TraceBuffer *buffer);

/* Gives back the memory of a frozen buffer's slot once all of it has been read. */
void slot_release(Slot *slot);
