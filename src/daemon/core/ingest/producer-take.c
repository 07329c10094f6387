/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * From shared memory into trace buffers
 *
 * Everything that the producer wrote may be a lie: the chunk's place is checked by the smb layer, the
 * buffer it names is taken only when one of the producer's running instances has it, and the payload is copied
 * once by the trace buffer before anybody parses it.
 */

#include "core/ingest/producer-take.h"
#include "core/events/self-trace.h"
#include "core/model/session-buffer.h"
#include "core/model/session.h"
#include "smb/smb-reader.h"

#define RESCANS_IN_A_ROW_MAX 8

/* Writer ids and chunk numbers start over in each memory. A session that continues must not mix them up: ids that
 * native producers do not use tell the memories apart, and once all of these are used up, the producer counts as a new
 * one. */
static uint16_t producer_writer_id(const Producer *producer, uint16_t writer_id) {
        static_assert((SMB_WRITER_MAX + 1) % SMB_NATIVE_WRITERS_MAX == 0, "whole turns");

        if (!producer->area.control)
                return writer_id;
        return (uint16_t)((writer_id + producer->n_memories * SMB_NATIVE_WRITERS_MAX -
                           SMB_NATIVE_WRITERS_MAX) %
                          (SMB_WRITER_MAX + 1));
}

/* 0: none, or not known. */
static uint16_t producer_writer_buffer(Producer *producer, uint16_t writer_id) {
        if (producer->area.control)
                return smb_writer_buffer(&producer->area, writer_id);
        return writer_id < producer->n_writer_buffers ? producer->writer_buffers[writer_id] : 0;
}

/* The buffer, if one of the producer's instances may write there now. */
static SessionBuffer *producer_target(const Producer *producer, uint32_t target) {
        SessionBuffer *buffer = NULL;
        const SourceInstance *instance;

        if (target <= UINT16_MAX)
                buffer = service_find_buffer(producer->service, (uint16_t)target);
        if (!buffer)
                return NULL;
        list_for_each (instance, &producer->instances, producer_link)
                if (instance->buffer == buffer && instance_is_live(instance))
                        return buffer;
        return NULL;
}

/* A program that keeps running fills chunks for a session that has just stopped or been freed; they are dropped, and
 * nobody misses them. For any other stray chunk it is not known which session it was meant for, so all sessions of this
 * producer count it. */
static void producer_count_stray(Producer *producer, uint32_t target, bool is_patch) {
        const SourceInstance *instance;
        const Session *last = NULL;

        if (producer_had_buffer(producer, target))
                return;
        list_for_each (instance, &producer->instances, producer_link) {
                Session *session = instance->session;

                if (session == last)
                        continue;
                last = session;
                if (is_patch)
                        session->patches_discarded++;
                else
                        session->chunks_discarded++;
        }
}

static void
producer_put_chunk(Producer *producer, const SessionBuffer *buffer, const SmbChunk *chunk) {
        const ChunkOrigin origin = {
                .producer_id = producer->origin_id,
                .writer_id = producer_writer_id(producer, chunk->writer_id),
                .identity = producer->identity,
        };
        const ChunkData data = {
                .chunk_id = chunk->chunk_id,
                .n_fragments = chunk->n_fragments,
                .flags = chunk->flags,
                .complete = chunk->complete,
                .payload = chunk->payload,
                .n_payload = chunk->n_payload,
        };

        const TraceBufferStats *stats = trace_buffer_stats(buffer->buffer);
        const uint64_t before = stats->bytes_written;

        /* A refusal is counted by the buffer. */
        trace_buffer_put(buffer->buffer, &origin, &data);
        producer->n_bytes_taken += stats->bytes_written - before;
        session_buffer_written(buffer);
}

/* A writer that has declared its buffer can write to no other. */
static void producer_place_chunk(Producer *producer, const SmbChunk *chunk, uint32_t declared) {
        const SessionBuffer *buffer = NULL;
        uint16_t target = producer_writer_buffer(producer, chunk->writer_id);

        if (declared == PRODUCER_BUFFER_OF_WRITER)
                declared = target;
        if (!target || target == declared)
                buffer = producer_target(producer, declared);
        if (buffer)
                producer_put_chunk(producer, buffer, chunk);
        else
                producer_count_stray(producer, declared, false);
}

void producer_take_chunk(Producer *producer, uint32_t page, uint32_t chunk, uint32_t declared) {
        SmbChunk taken;
        int r;

        r = smb_take_chunk(&producer->area, page, chunk, &taken);
        if (r == SMB_E_INVALID)
                producer_count_stray(producer, 0, false);
        if (r)
                return;
        producer_place_chunk(producer, &taken, declared);
        smb_release_chunk(&producer->area, &taken);
}

void producer_patch(Producer *producer,
                    uint32_t target_buffer,
                    uint16_t writer_id,
                    uint32_t chunk_id,
                    uint32_t offset,
                    const uint8_t data[static 4],
                    bool more_patches) {
        const SessionBuffer *buffer = producer_target(producer, target_buffer);

        if (!buffer)
                producer_count_stray(producer, target_buffer, true);
        else
                trace_buffer_patch(buffer->buffer,
                                   producer->origin_id,
                                   producer_writer_id(producer, writer_id),
                                   chunk_id,
                                   offset,
                                   data,
                                   more_patches);
}

static void producer_apply(Producer *producer, const SmbCommit *commit) {
        if (commit->is_patch)
                producer_patch(producer,
                               producer_writer_buffer(producer, commit->writer_id),
                               commit->writer_id,
                               commit->chunk_id,
                               commit->offset,
                               commit->data,
                               commit->more_patches);
        else
                producer_take_chunk(
                        producer, commit->page, commit->chunk, PRODUCER_BUFFER_OF_WRITER);
}

/* Completed chunks that found no room in the ring. Retirements in the ring wait until all pages were seen. */
static bool producer_rescan(Producer *producer, uint64_t until) {
        uint32_t n_pages = smb_n_used_pages(&producer->area);

        for (; producer->rescan_page < n_pages; producer->rescan_page++) {
                uint32_t n_chunks = smb_page_chunks(&producer->area, producer->rescan_page);

                if (producer->n_bytes_taken >= until)
                        return false;
                for (uint32_t chunk = 0; chunk < n_chunks; chunk++)
                        producer_take_chunk(
                                producer, producer->rescan_page, chunk, PRODUCER_BUFFER_OF_WRITER);
        }
        producer->is_rescanning = false;
        return true;
}

/* The smb layer ends this loop after one lap of the ring, however fast the producer fills it. */
static size_t producer_drain_ring(Producer *producer, uint64_t until) {
        SmbCommit commit;
        size_t n = 0;

        producer->area.n_in_row = 0;
        for (; producer->n_bytes_taken < until && smb_next_commit(&producer->area, &commit) == 0;
             n++)
                producer_apply(producer, &commit);
        return n;
}

/* A chunk that found the ring full may be in a later page than the writer's next chunk. Both are taken together, so
 * they come out in order, unless the producer does so all the time. */
static size_t producer_drain_memory(Producer *producer, uint64_t until) {
        size_t n = producer->is_rescanning;

        for (unsigned i = 0; i < RESCANS_IN_A_ROW_MAX; i++) {
                if (producer->is_rescanning && !producer_rescan(producer, until))
                        return n;
                n += producer_drain_ring(producer, until);
                if (producer->n_bytes_taken >= until || !smb_take_rescan(&producer->area))
                        return n;
                producer->is_rescanning = true;
                producer->rescan_page = 0;
                n++;
        }
        return n;
}

size_t producer_drain_until(Producer *producer, uint64_t until) {
        const SelfSpan span = self_span_begin(producer->service, producer->n_bytes_taken);
        size_t n;

        if (producer->service->is_left)
                return 0;
        if (producer->is_builtin)
                self_trace_commit(producer->peer);
        if (!producer->has_memory || !producer->area.control)
                return 0;
        n = producer_drain_memory(producer, until);
        self_drained(producer, &span, n);
        return n;
}

size_t producer_drain(Producer *producer) {
        return producer_drain_until(producer, UINT64_MAX);
}

/* Takes the finished part of a chunk that its writer still has. Perfetto's writers count a fragment before they write
 * it, so the last one is left out. */
static bool producer_take_finished(const Producer *producer, SmbChunk *chunk) {
        if (chunk->complete || producer->options.is_native)
                return true;
        if (chunk->n_fragments < 2)
                return false;
        chunk->n_fragments--;
        chunk->flags &= (uint8_t) ~(SMB_CHUNK_TO_BE_CONTINUED | SMB_CHUNK_NEEDS_PATCHING);
        return true;
}

static void producer_put_unfinished(Producer *producer, const Session *session, SmbChunk *chunk) {
        const SessionBuffer *buffer =
                producer_target(producer, producer_writer_buffer(producer, chunk->writer_id));

        if (!buffer || (session && buffer->session != session))
                return;
        if (producer_take_finished(producer, chunk))
                producer_put_chunk(producer, buffer, chunk);
}

void producer_put_message(Producer *producer, SmbChunk *chunk, uint32_t declared) {
        if (producer_take_finished(producer, chunk))
                producer_place_chunk(producer, chunk, declared);
}

/* Whether there is a writer whose chunks could be placed. */
static bool producer_has_writers(const Producer *producer) {
        if (producer->area.control)
                return true;
        return producer->writer_buffers && !producer->options.is_not_scanned;
}

/* Returns the first page from this one on that was used. All pages from there up to *until were. */
static uint32_t producer_next_page(const Producer *producer, uint32_t page, uint32_t *until) {
        const uint32_t page_bytes = producer->area.page_bytes;
        size_t begin, end;

        if (page < *until)
                return page;
        *until = UINT32_MAX;
        if (!producer->ops->next_used || producer->area.control)
                return page;
        producer->ops->next_used(producer->peer, (size_t)page * page_bytes, &begin, &end);
        *until = (uint32_t)((end + page_bytes - 1) / page_bytes);
        return MAX(page, (uint32_t)(begin / page_bytes));
}

static void producer_scan_page(Producer *producer, const Session *session, uint32_t page) {
        uint32_t n_chunks = smb_page_chunks(&producer->area, page);

        for (uint32_t chunk = 0; chunk < n_chunks; chunk++) {
                SmbChunk seen;

                if (producer->area.control)
                        producer_take_chunk(producer, page, chunk, PRODUCER_BUFFER_OF_WRITER);
                if (smb_peek_chunk(&producer->area, page, chunk, &seen) == 0)
                        producer_put_unfinished(producer, session, &seen);
        }
}

/* Unused pages are left alone: looking at one would allocate it, and there are many idle producers. */
void producer_scan(Producer *producer, const Session *session) {
        uint32_t n_pages, page, until = 0;

        if (!producer->has_memory || !producer_has_writers(producer) || producer->service->is_left)
                return;
        n_pages = smb_n_used_pages(&producer->area);
        for (page = producer_next_page(producer, 0, &until); page < n_pages;
             page = producer_next_page(producer, page + 1, &until))
                producer_scan_page(producer, session, page);
}

/* Takes what every producer has finished, committed or not. `last_round` marks producers that were drained already, as
 * one may have several instances. */
void session_drain(Session *session) {
        uint64_t round = ++session->service->last_round;
        SourceInstance *instance;

        list_for_each (instance, &session->instances, session_link) {
                Producer *producer = instance->producer;

                if (!producer || producer->last_round == round)
                        continue;
                producer->last_round = round;
                producer_drain(producer);
                producer_scan(producer, session);
        }
}
