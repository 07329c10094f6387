/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The inside of a trace buffer, shared by what makes room in it (trace-buffer-room.c), writes to it
 * (trace-buffer.c), reads from it (trace-buffer-read.c) and clones it (trace-buffer-clone.c).
 *
 * A slot is a place in the ring: a segment for payloads, and beside it the records that say what is
 * where. Records of all slots are one mapping, so they never move and nothing that is put into the
 * buffer can fail for want of one.
 */

#include <assert.h>

#include "buffer/segment.h"
#include "buffer/sequence-table.h"
#include "buffer/trace-buffer.h"

typedef struct Slot {
        List link;        /* in TraceBuffer.used or .free */
        Segment *segment; /* NULL when nothing is to be read from it and it is not written to */
        Record *records;
        uint32_t n_records;
        uint32_t n_live;       /* of those, still in a sequence */
        uint32_t n_used;       /* bytes of the segment */
        uint32_t n_cloned;     /* of those, what clones know of, if the segment is shared */
        uint64_t filled_until; /* stats.bytes_written when it was last added to */
        uint64_t ends_at;      /* likewise, when its last record was */
} Slot;

struct TraceBuffer {
        TraceBufferPolicy policy;
        bool is_sealed; /* discard: full */
        bool is_frozen;
        size_t segment_bytes;
        size_t n_slots;
        Slot *slots;
        Record *records;
        size_t n_records_mapped; /* bytes */
        List used;               /* oldest first, never empty: the last is written to */
        List free;
        uint64_t n_rotations;
        SequenceTable sequences;
        TraceBufferMayGrow may_grow;
        void *may_grow_userdata;
        TraceBufferStats stats;
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
/* With its places in the table, the first of its records, and what the allocator keeps. */
static_assert(sizeof(Sequence) + 12 * sizeof(void *) <= TRACE_BUFFER_SEQUENCE_BYTES,
              "charge all of it");
static_assert(TRACE_BUFFER_CHUNK_BYTES_MAX <= UINT16_MAX, "sizes in Record");
static_assert(TRACE_BUFFER_CHUNK_BYTES_MAX >= SMB_PAGE_BYTES_MAX, "every chunk fits");

/* Payloads begin 16 bytes into a cache line, as they do in shared memory of one chunk a page:
 * copying is up to twice as fast when both sides lie alike. */
#define PAYLOAD_ALIGNMENT 64
#define PAYLOAD_SKEW      (SMB_PAGE_HEADER_BYTES + SMB_CHUNK_HEADER_BYTES)

static inline size_t record_outer_bytes(size_t n_room) {
        return ALIGN_UP(n_room, PAYLOAD_ALIGNMENT) + TRACE_BUFFER_RECORD_BYTES;
}

/* What a chunk with this much room would take of an empty segment. */
static inline size_t segment_bytes_needed(size_t n_room) {
        return PAYLOAD_SKEW + record_outer_bytes(n_room);
}

static inline void slot_clear(Slot *slot) {
        slot->n_records = 0;
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

/* Whether somebody else may read the record's payload. What was appended since is nobody else's,
 * though the segment is shared. */
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

/* Before something changes that is shared: the slot gets a copy. 0, -ENOMEM. */
int slot_unshare(Slot *slot);

/* Makes an empty slot the newest. 0; TRACE_BUFFER_E_DISCARDED when no slot is empty and none may
 * be evicted, which seals the buffer; -ENOMEM. */
int trace_buffer_rotate(TraceBuffer *buffer);

/* When everything in the newest segment has been read, it starts again: a reader that keeps up
 * needs no second one. */
void trace_buffer_rewind(TraceBuffer *buffer);

/* Takes the first record of a sequence out of it and out of the buffer. */
void trace_buffer_drop_first(TraceBuffer *buffer, Sequence *sequence);

/* Drops the record, and before it what comes earlier in its sequence: that is read in order, and
 * what is behind a hole cannot be put together with what is before it. Each is counted and said to
 * be lost if it was `overwritten`; otherwise it was not wanted. */
void trace_buffer_evict_record(TraceBuffer *buffer, Record *record, bool overwritten);

/* Likewise, all of the slot's records. */
void trace_buffer_evict_slot(TraceBuffer *buffer, Slot *slot, bool overwritten);

/* An empty buffer without segments and records. 0, -EINVAL, -ENOMEM. */
int trace_buffer_new_empty(TraceBuffer **ret,
                           uint64_t n_bytes,
                           size_t segment_bytes,
                           TraceBufferPolicy policy);

/* Once, for all slots together; memory is used when it is written to. 0, -ENOMEM. */
int trace_buffer_map_records(TraceBuffer *buffer, size_t n_records);

/* Gives the memory back of a frozen buffer's slot of which all has been read. */
void slot_release(Slot *slot);
