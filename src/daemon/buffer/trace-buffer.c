/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Trace buffer: chunks and patches are written here; trace-buffer-room.c finds the room
 *
 * A put copies the whole payload out of shared memory, once, to where it will most likely stay: the
 * end of the newest segment. Only then is it looked at. What the fragments do not use, or a chunk
 * that is refused, leaves nothing behind but bytes past the segment's end, which the next put
 * overwrites. If there may not be room, the copy goes to `staging` first.
 */

#include <errno.h>

#include "buffer/fragment.h"
#include "buffer/trace-buffer-private.h"

#define SEGMENTS_WANTED   16          /* so an eviction takes a sixteenth of the history */
#define SEGMENT_BYTES_MIN (36u << 10) /* holds the largest chunk */
#define SEGMENT_BYTES_MAX (16u << 20) /* bounds the time of one eviction */

/* A payload in private memory, parsed. */
typedef struct Payload {
        const uint8_t *data;
        uint16_t n_used; /* by the fragments */
        uint16_t n_room; /* to set aside */
        uint8_t flags;   /* SMB_CHUNK_… | RECORD_… */
} Payload;

static size_t segment_bytes_for(uint64_t n_bytes) {
        uint64_t wanted = MAX(n_bytes / SEGMENTS_WANTED, (uint64_t)SEGMENT_BYTES_MIN);

        wanted = MIN(wanted, (uint64_t)SEGMENT_BYTES_MAX);
        return (size_t)(n_bytes / (n_bytes / wanted));
}

int trace_buffer_new_empty(TraceBuffer **ret, BufferIndexFile *file, const BufferShape *shape) {
        TraceBuffer *buffer;

        buffer = malloc(sizeof(*buffer));
        if (!buffer)
                return -ENOMEM;
        /* Not the staging area: zeroing it would only make its pages real. */
        memset(buffer, 0, offsetof(TraceBuffer, staging));
        buffer->policy = (TraceBufferPolicy)shape->policy;
        buffer->segment_bytes = (size_t)shape->segment_bytes;
        buffer->n_slots = shape->n_slots;
        buffer->file = *file;
        *file = (BufferIndexFile){ .fd = -1 };
        buffer->index = buffer->file.head;
        buffer->slots = buffer->file.slots;
        buffer->pass = 1;
        list_init(&buffer->used);
        list_init(&buffer->free);
        sequence_table_init(&buffer->sequences,
                            &buffer->index->n_sequences_ever,
                            buffer->file.fd,
                            buffer->file.sequences_at);
        buffer->sequences.n_sequences_max =
                (size_t)buffer_sequences_max(shape->n_bytes) / TRACE_BUFFER_SEQUENCES_FREE;
        *ret = buffer;
        return 0;
}

void trace_buffer_clear_slots(TraceBuffer *buffer) {
        for (size_t i = 0; i < buffer->n_slots; i++) {
                list_init(&buffer->slots[i].link);
                slot_clear(&buffer->slots[i]);
        }
}

static int trace_buffer_fill_slots(TraceBuffer *buffer) {
        const size_t per_slot = buffer->segment_bytes / TRACE_BUFFER_RECORD_BYTES;
        int r;

        for (size_t i = 0; i < buffer->n_slots; i++) {
                Slot *slot = &buffer->slots[i];
                Segment *segment;

                list_append(&buffer->free, &slot->link);
                slot->records = buffer->file.records + i * per_slot;
                r = segment_new(&segment, buffer->segment_bytes, buffer->segments);
                if (r < 0)
                        return r;
                slot_set_segment(slot, segment);
        }
        return 0;
}

static int trace_buffer_make(TraceBuffer **ret, const BufferShape *shape, bool is_kept) {
        _cleanup_(trace_buffer_freep) TraceBuffer *buffer = NULL;
        _cleanup_(buffer_index_deinit) BufferIndexFile file;
        int r;

        r = buffer_index_init(&file, shape, is_kept);
        if (r == 0)
                r = trace_buffer_new_empty(&buffer, &file, shape);
        if (r == 0 && is_kept)
                r = segment_file_new(&buffer->segments, buffer->segment_bytes);
        if (r == 0) {
                trace_buffer_clear_slots(buffer);
                r = trace_buffer_fill_slots(buffer);
        }
        if (r < 0)
                return r;
        buffer->index->stats.buffer_bytes = shape->n_bytes;
        trace_buffer_make_newest(buffer, list_first(&buffer->free, Slot, link));
        trace_buffer_begin_read(buffer);
        __atomic_store_n(&buffer->index->magic, BUFFER_INDEX_MAGIC, __ATOMIC_RELEASE);

        *ret = TAKE(buffer);
        return 0;
}

static int trace_buffer_new_shape(TraceBuffer **ret,
                                  uint64_t n_bytes,
                                  size_t segment_bytes,
                                  TraceBufferPolicy policy,
                                  bool is_kept) {
        BufferShape shape;
        int r;

        if (n_bytes > TRACE_BUFFER_BYTES_MAX ||
            (segment_bytes == 0 && n_bytes < TRACE_BUFFER_BYTES_MIN))
                return -EINVAL;
        if (segment_bytes == 0)
                segment_bytes = segment_bytes_for(n_bytes);
        r = buffer_shape_init(&shape, n_bytes, segment_bytes, policy);
        return r < 0 ? r : trace_buffer_make(ret, &shape, is_kept);
}

int trace_buffer_new(TraceBuffer **ret,
                     uint64_t n_bytes,
                     size_t segment_bytes,
                     TraceBufferPolicy policy) {
        return trace_buffer_new_shape(ret, n_bytes, segment_bytes, policy, false);
}

int trace_buffer_new_kept(TraceBuffer **ret,
                          uint64_t n_bytes,
                          size_t segment_bytes,
                          TraceBufferPolicy policy) {
        return trace_buffer_new_shape(ret, n_bytes, segment_bytes, policy, true);
}

bool trace_buffer_files(const TraceBuffer *buffer, int *ret_index_fd, int *ret_segments_fd) {
        if (buffer->file.fd < 0)
                return false;
        *ret_index_fd = buffer->file.fd;
        *ret_segments_fd = buffer->segments->fd;
        return true;
}

TraceBuffer *trace_buffer_leave(TraceBuffer *buffer) {
        if (buffer && buffer->segments)
                buffer->segments->is_left = true;
        return trace_buffer_free(buffer);
}

TraceBuffer *trace_buffer_free(TraceBuffer *buffer) {
        uint64_t n_live = 0;

        if (!buffer)
                return NULL;

        for (size_t i = 0; i < buffer->n_slots; i++) {
                n_live += buffer->slots[i].n_live;
                segment_unref(buffer->slots[i].segment);
        }
        assert(n_live > 0 || buffer->n_unread == 0);
        sequence_table_deinit(&buffer->sequences);
        buffer_index_deinit(&buffer->file);
        segment_file_unref(buffer->segments);
        free(buffer->slices);
        free(buffer);
        return NULL;
}

/* Counts the bytes that the fragments use, and marks a chunk that ends badly. */
static void payload_parse(Payload *payload, size_t n_payload, unsigned n_fragments) {
        size_t n_used = 0;
        int r = 0;

        for (; n_fragments > 0 && r == 0; n_fragments--) {
                Fragment fragment;

                r = n_used == n_payload
                            ? FRAGMENT_E_CORRUPT
                            : fragment_parse(payload->data + n_used, n_payload - n_used, &fragment);
                if (r == 0)
                        n_used += fragment.n_outer;
        }
        payload->n_used = (uint16_t)n_used;
        if (r == 0)
                return;
        /* These flags are about the last fragment, which is missing. */
        payload->flags &= (uint8_t) ~(SMB_CHUNK_TO_BE_CONTINUED | SMB_CHUNK_NEEDS_PATCHING);
        payload->flags |= r == FRAGMENT_E_ABORTED ? RECORD_ABORTED : RECORD_CORRUPT;
}

static void trace_buffer_take_payload(TraceBuffer *buffer, const ChunkData *chunk, Payload *ret) {
        const Slot *newest = trace_buffer_newest(buffer);
        uint8_t *to = slot_has_room(buffer, newest, chunk->n_payload)
                              ? newest->segment->memory + newest->n_used
                              : buffer->staging;
        Payload payload = {
                .data = to,
                .flags = (chunk->flags & (SMB_CHUNK_CONTINUES | SMB_CHUNK_TO_BE_CONTINUED |
                                          SMB_CHUNK_NEEDS_PATCHING)) |
                         (chunk->complete ? 0 : RECORD_INCOMPLETE),
        };

        if (chunk->n_payload > 0)
                memcpy(to, chunk->payload, chunk->n_payload);
        payload_parse(&payload, chunk->n_payload, chunk->n_fragments);
        /* Leaves room for the rest, so that the chunk need not be stored twice. */
        payload.n_room = chunk->complete ? payload.n_used : (uint16_t)chunk->n_payload;
        if (payload.flags & RECORD_CORRUPT)
                buffer->index->stats.abi_violations++;
        if ((payload.flags & RECORD_ABORTED) && chunk->complete)
                buffer->index->stats.trace_writer_packet_loss++;
        *ret = payload;
}

static int trace_buffer_refuse(TraceBuffer *buffer) {
        buffer->index->stats.chunks_discarded++;
        return TRACE_BUFFER_E_DISCARDED;
}

static int trace_buffer_refuse_violation(TraceBuffer *buffer) {
        buffer->index->stats.abi_violations++;
        return TRACE_BUFFER_E_DISCARDED;
}

enum {
        _PUT_E_SUCCESS,                             /* nothing left to do */
        PUT_E_STORE = TRACE_BUFFER_E_NOT_FOUND + 1, /* needs a record */
        PUT_E_REPEATED,                             /* all of it was here before */
};

/* Puts the rest of a chunk where room was kept for it. If a clone may read that part, this chunk is stored again,
 * rather than copying its whole segment; but a buffer that overwrites nothing may have no other room. */
static int trace_buffer_rewrite(TraceBuffer *buffer, Record *record, const Payload *payload) {
        Slot *slot = &buffer->slots[record->slot];
        int r;

        if (slot_shares(slot, record)) {
                if (buffer->policy == TRACE_BUFFER_RING)
                        return PUT_E_STORE;
                r = slot_unshare(buffer, slot);
                if (r < 0)
                        return r;
        }
        memcpy(record_payload(buffer, record), payload->data, payload->n_used);
        /* The new bytes are newer than any position that was asked for before. */
        slot->filled_until = buffer->index->stats.bytes_written + 1;
        buffer->n_unread += payload->n_used - record->n_payload;
        buffer->index->stats.chunks_rewritten++;
        return 0;
}

/* Handles the same chunk again, while its record is there. */
static int trace_buffer_put_again(TraceBuffer *buffer, Record *record, const Payload *payload) {
        const uint8_t kept = record->flags & (SMB_CHUNK_CONTINUES | SMB_CHUNK_TO_BE_CONTINUED);
        uint8_t grew = record->flags & RECORD_GREW;
        int r;

        if (payload->n_used < record->n_payload || (kept & ~payload->flags))
                return trace_buffer_refuse_violation(buffer);
        if (!(record->flags & RECORD_INCOMPLETE))
                return payload->n_used == record->n_payload ? PUT_E_REPEATED
                                                            : trace_buffer_refuse_violation(buffer);
        if (payload->n_used > record->n_room)
                return PUT_E_STORE;

        if (payload->n_used > record->n_payload) {
                r = trace_buffer_rewrite(buffer, record, payload);
                if (r != 0)
                        return r;
                grew = RECORD_GREW;
        }
        record->n_payload = payload->n_used;
        record->flags = payload->flags | grew;
        return 0;
}

/* A chunk that is older than the last one that left. A flush looks into shared memory and takes
 * chunks whose commits are still on their way; when those arrive, nothing of them is missing. */
static int
trace_buffer_admit_late(TraceBuffer *buffer, const Sequence *sequence, uint32_t chunk_id) {
        if (!sequence_had(sequence, chunk_id))
                return trace_buffer_refuse(buffer);
        buffer->index->stats.chunks_committed_out_of_order++;
        return PUT_E_REPEATED;
}

/* A chunk that has no record: is it new, or the rest of one that was read (or evicted) while it was
 * incomplete? Bytes that were in the buffer once are not stored as unread again: *ret_n_consumed.
 */
static int trace_buffer_admit(TraceBuffer *buffer,
                              Sequence *sequence,
                              uint32_t chunk_id,
                              const Payload *payload,
                              uint16_t *ret_n_consumed) {
        SequenceLast *last = &sequence->last;
        int order = last->is_set ? chunk_id_compare(chunk_id, last->chunk_id) : 1;

        *ret_n_consumed = 0;
        if (!sequence_has_place(sequence, chunk_id))
                return trace_buffer_refuse_violation(buffer);
        if (order > 0)
                return PUT_E_STORE;
        if (order < 0)
                return trace_buffer_admit_late(buffer, sequence, chunk_id);
        if (payload->n_used < last->n_payload)
                return trace_buffer_refuse(buffer);
        if (payload->n_used == last->n_payload) {
                if (!last->was_incomplete)
                        return PUT_E_REPEATED;
                if (!(payload->flags & RECORD_INCOMPLETE))
                        last->was_incomplete = last->is_awaited = false;
                return 0;
        }
        if (!last->was_incomplete)
                return trace_buffer_refuse(buffer);
        *ret_n_consumed = last->n_payload;
        return PUT_E_STORE;
}

/* Fills the next record of the newest slot, which has room. */
static Record *trace_buffer_append(TraceBuffer *buffer,
                                   Sequence *sequence,
                                   uint32_t chunk_id,
                                   const Payload *payload,
                                   uint16_t n_consumed) {
        Slot *slot = trace_buffer_newest(buffer);
        Record *record = &slot->records[slot->n_records];
        uint8_t *to = slot->segment->memory + slot->n_used;

        if (payload->data != to)
                memcpy(to, payload->data, payload->n_used);
        *record = (Record){
                .sequence = sequence,
                .index = sequence->index,
                .chunk_id = chunk_id,
                .offset = slot->n_used,
                .slot = (uint16_t)(slot - buffer->slots),
                .n_room = payload->n_room,
                .n_payload = payload->n_used,
                .n_consumed = n_consumed,
                .flags = payload->flags,
        };
        slot->n_used += (uint32_t)ALIGN_UP(payload->n_room, PAYLOAD_ALIGNMENT);
        slot->n_live++;
        slot->filled_until =
                buffer->index->stats.bytes_written + record_outer_bytes(payload->n_room);
        buffer->n_unread += payload->n_used - n_consumed;
        buffer->index->stats.chunks_written++;
        slot->ends_at = buffer->index->stats.bytes_written = slot->filled_until;
        __atomic_store_n(&slot->n_records, slot->n_records + 1, __ATOMIC_RELEASE);
        return record;
}

/* Replaces a record that has become too small for its growing chunk. */
static void trace_buffer_relocate(TraceBuffer *buffer,
                                  Sequence *sequence,
                                  Record *old,
                                  const Payload *payload) {
        Record *record =
                trace_buffer_append(buffer, sequence, old->chunk_id, payload, old->n_consumed);

        sequence_replace(sequence, record);
        buffer->n_unread -= old->n_payload - old->n_consumed;
        buffer->slots[old->slot].n_live--;
        old->sequence = NULL;
}

static void trace_buffer_insert(TraceBuffer *buffer,
                                Sequence *sequence,
                                uint32_t chunk_id,
                                const Payload *payload,
                                uint16_t n_consumed) {
        Record *record = trace_buffer_append(buffer, sequence, chunk_id, payload, n_consumed);

        if (sequence->n_records == 0)
                sequence_table_set_busy(&buffer->sequences, sequence);
        if (!sequence_insert(sequence, record))
                buffer->index->stats.chunks_committed_out_of_order++;
}

/* Finds out what the chunk is, and makes room for it if it needs any: PUT_E_STORE. Making room may
 * evict the chunk's own record, or later ones of its sequence, so then the question is asked once
 * more. */
static int trace_buffer_place(TraceBuffer *buffer,
                              Sequence *sequence,
                              uint32_t chunk_id,
                              const Payload *payload,
                              Record **ret_old,
                              uint16_t *ret_n_consumed) {
        int r;

        for (;;) {
                *ret_old = sequence_find(sequence, chunk_id);
                r = *ret_old ? trace_buffer_put_again(buffer, *ret_old, payload)
                             : trace_buffer_admit(
                                       buffer, sequence, chunk_id, payload, ret_n_consumed);
                if (r != PUT_E_STORE ||
                    slot_has_room(buffer, trace_buffer_newest(buffer), payload->n_room))
                        return r;

                if (buffer->index->is_sealed)
                        return trace_buffer_refuse(buffer);
                if (segment_bytes_needed(payload->n_room) > buffer->segment_bytes)
                        return trace_buffer_refuse_violation(buffer);
                r = trace_buffer_rotate(buffer);
                if (r)
                        return r < 0 ? r : trace_buffer_refuse(buffer);
        }
}

static int trace_buffer_store(TraceBuffer *buffer,
                              Sequence *sequence,
                              uint32_t chunk_id,
                              const Payload *payload) {
        Record *old;
        uint16_t n_consumed = 0;
        int r;

        r = sequence_reserve(sequence);
        if (r < 0)
                return r;
        r = trace_buffer_place(buffer, sequence, chunk_id, payload, &old, &n_consumed);
        if (r != PUT_E_STORE)
                return r;
        if (old)
                trace_buffer_relocate(buffer, sequence, old, payload);
        else
                trace_buffer_insert(buffer, sequence, chunk_id, payload, n_consumed);
        buffer->index->stats.chunks_relocated += old || n_consumed > 0;
        return 0;
}

/* Whether the chunk has a record: a sealed buffer still takes the rest of an incomplete chunk. */
static bool
trace_buffer_holds(const TraceBuffer *buffer, const ChunkOrigin *origin, uint32_t chunk_id) {
        const Sequence *sequence =
                sequence_table_find(&buffer->sequences, origin->producer_id, origin->writer_id);

        return sequence && sequence_find(sequence, chunk_id);
}

void trace_buffer_set_may_grow(TraceBuffer *buffer, TraceBufferMayGrow may_grow, void *userdata) {
        buffer->may_grow = may_grow;
        buffer->may_grow_userdata = userdata;
}

/* Makes room for a few more writers. */
static bool trace_buffer_allow_sequences(TraceBuffer *buffer) {
        const uint64_t n_max = buffer_sequences_max(buffer->index->shape.n_bytes);
        SequenceTable *table = &buffer->sequences;
        const size_t n =
                (size_t)MIN(n_max - table->n_sequences_max, (uint64_t)TRACE_BUFFER_SEQUENCES_STEP);

        if (n == 0 || (buffer->may_grow && !buffer->may_grow(buffer->may_grow_userdata,
                                                             n * TRACE_BUFFER_SEQUENCE_BYTES)))
                return false;
        table->n_sequences_max += n;
        return true;
}

static int
trace_buffer_obtain_sequence(TraceBuffer *buffer, Sequence **ret, const ChunkOrigin *origin) {
        int r;

        sequence_table_collect(&buffer->sequences);
        r = sequence_table_obtain(&buffer->sequences, ret, origin);
        if (r == SEQUENCE_TABLE_E_FULL && (trace_buffer_allow_sequences(buffer) ||
                                           sequence_table_forget_idle(&buffer->sequences)))
                r = sequence_table_obtain(&buffer->sequences, ret, origin);
        return r == SEQUENCE_TABLE_E_FULL ? trace_buffer_refuse(buffer) : r;
}

int trace_buffer_put(TraceBuffer *buffer, const ChunkOrigin *origin, const ChunkData *chunk) {
        Sequence *sequence;
        Payload payload;
        int r;

        if (buffer->is_frozen ||
            (buffer->index->is_sealed && !trace_buffer_holds(buffer, origin, chunk->chunk_id)))
                return trace_buffer_refuse(buffer);
        if (chunk->n_payload > TRACE_BUFFER_CHUNK_BYTES_MAX)
                return trace_buffer_refuse_violation(buffer);

        r = trace_buffer_obtain_sequence(buffer, &sequence, origin);
        if (r)
                return r;

        trace_buffer_rewind(buffer);
        trace_buffer_take_payload(buffer, chunk, &payload);
        r = trace_buffer_store(buffer, sequence, chunk->chunk_id, &payload);
        if (r == 0 && chunk->complete)
                sequence_count_chunk(sequence, payload.n_used);
        return r == PUT_E_REPEATED ? 0 : r;
}

int trace_buffer_patch(TraceBuffer *buffer,
                       uint64_t producer_id,
                       uint16_t writer_id,
                       uint32_t chunk_id,
                       uint32_t offset,
                       const uint8_t data[static 4],
                       bool more_patches) {
        const Sequence *sequence;
        Record *record;

        sequence = sequence_table_find(&buffer->sequences, producer_id, writer_id);
        record = sequence ? sequence_find(sequence, chunk_id) : NULL;
        if (!record || buffer->is_frozen || record->n_payload < 4 ||
            offset > record->n_payload - 4u ||
            (slot_shares(&buffer->slots[record->slot], record) &&
             slot_unshare(buffer, &buffer->slots[record->slot]) < 0)) {
                buffer->index->stats.patches_failed++;
                return TRACE_BUFFER_E_NOT_FOUND;
        }

        memcpy(record_payload(buffer, record) + offset, data, 4);
        if (!more_patches)
                record->flags &= (uint8_t)~SMB_CHUNK_NEEDS_PATCHING;
        buffer->index->stats.patches_succeeded++;
        return 0;
}

void trace_buffer_producer_gone(TraceBuffer *buffer, uint64_t producer_id) {
        sequence_table_producer_gone(&buffer->sequences, producer_id);
}

int trace_buffer_retire_producers(TraceBuffer *buffer, const uint64_t *staying, size_t n_staying) {
        return sequence_table_retire(&buffer->sequences, staying, n_staying);
}

uint64_t trace_buffer_number_before(uint64_t producer_id) {
        return sequence_table_number_before(producer_id);
}

uint64_t trace_buffer_unread_bytes(const TraceBuffer *buffer) {
        return buffer->n_unread;
}

const TraceBufferStats *trace_buffer_stats(const TraceBuffer *buffer) {
        return &buffer->index->stats;
}
