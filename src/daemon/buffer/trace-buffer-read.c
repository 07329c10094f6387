/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The reading half.
 *
 * The cursor walks the records in buffer order. At each it reads the record's sequence from the
 * sequence's own first record, until the one at the cursor is consumed or the sequence has to
 * pause. All state is in the cursor and in the sequences (the first record, and how much of it is
 * consumed), so chunks may come and go between two calls.
 */

#include <errno.h>

#include "buffer/fragment.h"
#include "buffer/trace-buffer-private.h"

#define SLICES_FIRST         16
#define PREFETCH_BYTES_AHEAD 2048
#define CACHE_LINE_BYTES     64

enum {
        _READ_E_SUCCESS, /* a packet */
        READ_E_AGAIN,    /* went ahead without a packet */
        READ_E_PAUSE,    /* cannot continue in this pass */
};

/* The position of a fragment in its packet. */
typedef enum FragmentPlace {
        FRAGMENT_WHOLE,
        FRAGMENT_BEGIN,
        FRAGMENT_MIDDLE,
        FRAGMENT_END,
} FragmentPlace;

/*
 * The cursor
 */

/* The record at the cursor, which first moves on to one that is not consumed; NULL at the end. */
static Record *trace_buffer_cursor(TraceBuffer *buffer) {
        do {
                Slot *slot = buffer->cursor_slot;

                for (; slot->n_live > 0 && buffer->cursor_record < slot->n_records;
                     buffer->cursor_record++)
                        if (slot->records[buffer->cursor_record].sequence)
                                return &slot->records[buffer->cursor_record];
                if (buffer->is_frozen)
                        slot_release(slot);
        } while (trace_buffer_cursor_next_slot(buffer));
        return NULL;
}

/*
 * Records
 */

static inline int record_fragment(const TraceBuffer *buffer, const Record *record, Fragment *ret) {
        return fragment_parse(record_payload(buffer, record) + record->n_consumed,
                              record->n_payload - record->n_consumed,
                              ret);
}

/* Whether the current fragment is the record's last one, which the flags are about. */
static inline bool record_ends_with(const Record *record, const Fragment *fragment) {
        return record->n_consumed + fragment->n_outer == record->n_payload;
}

static FragmentPlace record_fragment_place(const Record *record, const Fragment *fragment) {
        bool continues = record->n_consumed == 0 && (record->flags & SMB_CHUNK_CONTINUES);
        bool goes_on =
                record_ends_with(record, fragment) && (record->flags & SMB_CHUNK_TO_BE_CONTINUED);

        if (continues)
                return goes_on ? FRAGMENT_MIDDLE : FRAGMENT_END;
        return goes_on ? FRAGMENT_BEGIN : FRAGMENT_WHOLE;
}

static bool record_awaits_patch(const Record *record, const Fragment *fragment) {
        return (record->flags & SMB_CHUNK_NEEDS_PATCHING) && record_ends_with(record, fragment);
}

/* A reader of packets of a few hundred bytes from a buffer that no cache holds would wait for
 * memory at each of their sizes. So for what is consumed here, as much is called for ahead; in
 * buffer order that is what comes next. */
static inline void
record_prefetch(const TraceBuffer *buffer, const Record *record, size_t n_bytes) {
        const uint8_t *ahead =
                record_payload(buffer, record) + record->n_consumed + PREFETCH_BYTES_AHEAD;

        for (size_t i = 0; i < n_bytes; i += CACHE_LINE_BYTES)
                __builtin_prefetch(ahead + i);
}

static void trace_buffer_consume(TraceBuffer *buffer, Record *record, size_t n_bytes) {
        record_prefetch(buffer, record, n_bytes);
        record->n_consumed += (uint16_t)n_bytes;
        buffer->n_unread -= n_bytes;
}

/* The sequence's first record has been read to its end. */
static void trace_buffer_finish_first(TraceBuffer *buffer, Sequence *sequence) {
        const Record *record = sequence_at(sequence, 0);

        if (record->flags & RECORD_ABORTED)
                sequence_lose(sequence, LOSS_WRITER_ABORT);
        if (record->flags & RECORD_CORRUPT)
                sequence_lose(sequence, LOSS_CHUNK_CORRUPTED);
        buffer->index->stats.chunks_read++;
        buffer->index->stats.bytes_read += record_outer_bytes(record->n_room);
        trace_buffer_drop_first(buffer, sequence);
}

/* Whether the record stays although it has been read: in a buffer that overwrites nothing, the rest of an
 * incomplete chunk may find no other room. */
static bool
trace_buffer_keeps(const TraceBuffer *buffer, const Sequence *sequence, const Record *record) {
        return (record->flags & RECORD_INCOMPLETE) && buffer->policy == TRACE_BUFFER_DISCARD &&
               !sequence->is_gone;
}

/*
 * Packets
 */

static int
trace_buffer_add_slice(TraceBuffer *buffer, TracePacket *packet, const Fragment *fragment) {
        if (packet->n_slices == buffer->n_slices_allocated) {
                size_t n = MAX(2 * buffer->n_slices_allocated, (size_t)SLICES_FIRST);
                struct iovec *slices = realloc(buffer->slices, n * sizeof(*slices));

                if (!slices)
                        return -ENOMEM;
                buffer->slices = slices;
                buffer->n_slices_allocated = n;
        }
        buffer->slices[packet->n_slices++] = (struct iovec){
                .iov_base = (void *)fragment->data,
                .iov_len = fragment->n_bytes,
        };
        packet->slices = buffer->slices;
        packet->n_bytes += fragment->n_bytes;
        return 0;
}

/* Empty packets are fillers, not packets. */
static int sequence_emit(Sequence *sequence, TracePacket *packet) {
        if (packet->n_bytes == 0)
                return READ_E_AGAIN;
        packet->origin = &sequence->origin;
        packet->loss = sequence->loss;
        sequence->loss = 0;
        return 0;
}

/* Returns the packet that ends with this fragment of the first record. A record that has been read
 * is let go of at once: if it is overwritten before the next call, nothing is lost. */
static int trace_buffer_emit(TraceBuffer *buffer,
                             Sequence *sequence,
                             const Fragment *fragment,
                             TracePacket *packet) {
        Record *first = sequence_at(sequence, 0);
        int r;

        trace_buffer_consume(buffer, first, fragment->n_outer);
        r = sequence_emit(sequence, packet);
        buffer->index->stats.packets_read += r == 0;
        if (r == 0 && first->n_consumed == first->n_payload &&
            !trace_buffer_keeps(buffer, sequence, first))
                trace_buffer_finish_first(buffer, sequence);
        return r;
}

static int trace_buffer_read_whole(TraceBuffer *buffer,
                                   Sequence *sequence,
                                   const Fragment *fragment,
                                   TracePacket *packet) {
        int r;

        r = trace_buffer_add_slice(buffer, packet, fragment);
        if (r < 0)
                return r;
        return trace_buffer_emit(buffer, sequence, fragment, packet);
}

/* What a record contributes to a packet that began before it. */
typedef enum ChainLink {
        CHAIN_END,
        CHAIN_MIDDLE,
        CHAIN_EMPTY, /* nothing; the packet continues after it */
        CHAIN_WAIT,  /* not there yet */
        CHAIN_LOST,  /* the rest will never come: *ret_reason */
} ChainLink;

static ChainLink
record_empty_link(const Sequence *sequence, const Record *record, uint32_t *ret_reason) {
        if (record->flags & (RECORD_ABORTED | RECORD_CORRUPT)) {
                *ret_reason =
                        record->flags & RECORD_ABORTED ? LOSS_WRITER_ABORT : LOSS_CHUNK_CORRUPTED;
                return CHAIN_LOST;
        }
        return (record->flags & RECORD_INCOMPLETE) && !sequence->is_gone ? CHAIN_WAIT : CHAIN_EMPTY;
}

static ChainLink record_link(const TraceBuffer *buffer,
                             const Sequence *sequence,
                             const Record *record,
                             Fragment *ret,
                             uint32_t *ret_reason) {
        FragmentPlace place;

        if (record->n_payload == 0)
                return record_empty_link(sequence, record, ret_reason);

        *ret_reason = LOSS_REASSEMBLY_BROKEN_CHAIN;
        if (record->n_consumed > 0)
                return CHAIN_LOST;
        if (record_fragment(buffer, record, ret) != 0) {
                *ret_reason = LOSS_CHUNK_CORRUPTED;
                return CHAIN_LOST;
        }
        place = record_fragment_place(record, ret);
        if (place != FRAGMENT_MIDDLE && place != FRAGMENT_END)
                return CHAIN_LOST;
        if (record_awaits_patch(record, ret)) {
                *ret_reason = LOSS_REASSEMBLY_GAP;
                return sequence->is_gone ? CHAIN_LOST : CHAIN_WAIT;
        }
        return place == FRAGMENT_END ? CHAIN_END : CHAIN_MIDDLE;
}

static ChainLink sequence_link(const TraceBuffer *buffer,
                               const Sequence *sequence,
                               size_t i,
                               Fragment *ret,
                               uint32_t *ret_reason) {
        const Record *record;

        *ret_reason = LOSS_REASSEMBLY_GAP;
        if (i == sequence->n_records)
                return sequence->is_gone ? CHAIN_LOST : CHAIN_WAIT;
        record = sequence_at(sequence, i);
        if (record->chunk_id != sequence_at(sequence, i - 1)->chunk_id + 1)
                return CHAIN_LOST;
        return record_link(buffer, sequence, record, ret, ret_reason);
}

/* Consumes the first n records: this packet is all that was left in them. */
static void trace_buffer_consume_chain(TraceBuffer *buffer, Sequence *sequence, size_t n) {
        for (; n > 0; n--) {
                Record *record = sequence_at(sequence, 0);

                trace_buffer_consume(buffer, record, record->n_payload - record->n_consumed);
                trace_buffer_finish_first(buffer, sequence);
        }
}

/* Puts together a packet that begins at the end of the first record. If it can certainly never be complete, its
 * parts are dropped; if it may become so, nothing is changed. */
static int trace_buffer_read_chain(TraceBuffer *buffer,
                                   Sequence *sequence,
                                   const Fragment *begin,
                                   TracePacket *packet) {
        Fragment fragment = *begin;
        ChainLink link = CHAIN_MIDDLE;
        uint32_t reason;
        size_t i;
        int r;

        for (i = 1; link == CHAIN_MIDDLE || link == CHAIN_EMPTY; i++) {
                if (link == CHAIN_MIDDLE) {
                        r = trace_buffer_add_slice(buffer, packet, &fragment);
                        if (r < 0)
                                return r;
                }
                link = sequence_link(buffer, sequence, i, &fragment, &reason);
        }
        i--; /* the record that ended the loop */
        if (link != CHAIN_END)
                buffer->index->stats.readaheads_failed++;
        if (link == CHAIN_WAIT)
                return READ_E_PAUSE;
        if (link == CHAIN_LOST) {
                sequence_lose(sequence, reason);
                trace_buffer_consume_chain(buffer, sequence, i);
                return READ_E_AGAIN;
        }

        r = trace_buffer_add_slice(buffer, packet, &fragment);
        if (r < 0)
                return r;
        buffer->index->stats.readaheads_succeeded++;
        trace_buffer_consume_chain(buffer, sequence, i);
        return trace_buffer_emit(buffer, sequence, &fragment, packet);
}

/* Drops a fragment that belongs to no complete packet. */
static int
trace_buffer_skip(TraceBuffer *buffer, Sequence *sequence, size_t n_bytes, uint32_t reason) {
        trace_buffer_consume(buffer, sequence_at(sequence, 0), n_bytes);
        if (reason)
                sequence_lose(sequence, reason);
        return READ_E_AGAIN;
}

/*
 * Sequences
 */

/* The rest of a chunk that has been read while it was incomplete comes before all others. */
static bool sequence_awaits_rest(const Sequence *sequence, const Record *first) {
        return sequence->last.is_awaited && first->chunk_id != sequence->last.chunk_id &&
               !sequence->is_gone;
}

/* Reports a gap once. Chunks that were missing come too late from here on. */
static void sequence_note_gap(Sequence *sequence, const Record *first) {
        SequenceLast *last = &sequence->last;

        if (!last->is_set || (first->chunk_id == last->chunk_id + 1 && !last->is_awaited) ||
            (first->chunk_id == last->chunk_id && last->was_incomplete))
                return;
        sequence_lose(sequence, LOSS_READ_GAP);
        sequence->is_cut = false;
        *last = (SequenceLast){
                .is_set = true,
                .n_payload = UINT16_MAX, /* no late chunk is the same as this one */
                .chunk_id = first->chunk_id - 1,
        };
}

/* Why a packet has no beginning: it was not wanted, it was overwritten, which has been said
 * already, or it was never here. */
static uint32_t sequence_orphan_reason(const Sequence *sequence) {
        if (sequence->is_cut)
                return 0;
        return sequence->loss & LOSS_OVERWRITE ? LOSS_OVERWRITE : LOSS_ORPHAN_CONTINUATION;
}

static int trace_buffer_read_fragment(TraceBuffer *buffer,
                                      Sequence *sequence,
                                      Record *first,
                                      TracePacket *packet) {
        FragmentPlace place;
        Fragment fragment;
        uint32_t reason;

        /* The payload was valid when it was put; a patch may have changed that. */
        if (UNLIKELY(record_fragment(buffer, first, &fragment) != 0))
                return trace_buffer_skip(buffer,
                                         sequence,
                                         first->n_payload - first->n_consumed,
                                         LOSS_CHUNK_CORRUPTED);
        if (UNLIKELY(record_awaits_patch(first, &fragment)))
                return sequence->is_gone
                               ? trace_buffer_skip(
                                         buffer, sequence, fragment.n_outer, LOSS_REASSEMBLY_GAP)
                               : READ_E_PAUSE;

        place = record_fragment_place(first, &fragment);
        reason = sequence_orphan_reason(sequence);
        sequence->is_cut = sequence->is_cut && place == FRAGMENT_MIDDLE;
        switch (place) {
        case FRAGMENT_WHOLE:
                return trace_buffer_read_whole(buffer, sequence, &fragment, packet);
        case FRAGMENT_BEGIN:
                return trace_buffer_read_chain(buffer, sequence, &fragment, packet);
        default:
                return trace_buffer_skip(buffer, sequence, fragment.n_outer, reason);
        }
}

static int
trace_buffer_read_sequence(TraceBuffer *buffer, Sequence *sequence, TracePacket *packet) {
        Record *first = sequence_at(sequence, 0);

        if (sequence_awaits_rest(sequence, first))
                return READ_E_PAUSE;
        sequence_note_gap(sequence, first);
        if (first->n_consumed < first->n_payload)
                return trace_buffer_read_fragment(buffer, sequence, first, packet);

        if (trace_buffer_keeps(buffer, sequence, first))
                return READ_E_PAUSE;
        trace_buffer_finish_first(buffer, sequence);
        return READ_E_AGAIN;
}

void trace_buffer_begin_read(TraceBuffer *buffer) {
        buffer->pass++;
        buffer->cursor_slot = list_first(&buffer->used, Slot, link);
        buffer->cursor_record = 0;
}

int trace_buffer_read(TraceBuffer *buffer, TracePacket *ret) {
        Record *record;
        int r;

        while ((record = trace_buffer_cursor(buffer))) {
                Sequence *sequence = record->sequence;

                if (sequence->paused_pass == buffer->pass) {
                        buffer->cursor_record++;
                        continue;
                }
                *ret = (TracePacket){};
                r = trace_buffer_read_sequence(buffer, sequence, ret);
                if (r == READ_E_PAUSE)
                        sequence->paused_pass = buffer->pass;
                else if (r <= 0)
                        return r;
        }
        return TRACE_BUFFER_E_END;
}
