/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * From shared memory into trace buffers
 *
 * Everything that the producer wrote may be a lie: the chunk's place is checked by the smb layer, the
 * buffer it names is taken only when one of the producer's running instances has it, and the payload is copied
 * once by the trace buffer before anybody parses it.
 *
 * A producer is asleep (its next commit rings the doorbell) or awake (looked at every
 * PRODUCER_DRAIN_INTERVAL_NS, and a commit is only a store). It falls asleep after QUIET_LOOKS looks that found
 * nothing.
 */

#include <errno.h>

#include "core/producer-private.h"
#include "core/self-trace.h"
#include "core/session-private.h"
#include "shared/error.h"
#include "smb/smb-reader.h"

#define QUIET_LOOKS          2
#define RESCANS_IN_A_ROW_MAX 8

typedef struct MemorySize {
        uint64_t bytes;
        uint64_t page_bytes;
} MemorySize;

/* A hint of 0 leaves the value to the next in line. */
static void memory_size_hint(MemorySize *size, uint64_t bytes, uint64_t page_bytes) {
        if (bytes)
                size->bytes = MIN(bytes, (uint64_t)SMB_PAGES_BYTES_MAX);
        if (page_bytes)
                size->page_bytes = MIN(page_bytes, (uint64_t)SMB_PAGE_BYTES_MAX);
}

static MemorySize producer_memory_size(const Producer *producer,
                                       const Perfetto__Protos__TraceConfig *config) {
        MemorySize size = { SMB_PAGES_BYTES_DEFAULT, SMB_PAGE_BYTES_DEFAULT };

        memory_size_hint(&size, producer->options.memory_bytes, producer->options.page_bytes);
        for (size_t i = 0; i < config->n_producers; i++) {
                const Perfetto__Protos__TraceConfig__ProducerConfig *at = config->producers[i];

                if (at->producer_name && streq(at->producer_name, producer->name))
                        memory_size_hint(&size,
                                         (uint64_t)at->shm_size_kb * 1024,
                                         (uint64_t)at->page_size_kb * 1024);
        }
        /* Sizes that do not fit each other count for nothing, both. */
        if (!smb_sizes_valid(size.bytes, (uint32_t)size.page_bytes))
                size = (MemorySize){ SMB_PAGES_BYTES_DEFAULT, SMB_PAGE_BYTES_DEFAULT };
        return size;
}

int producer_setup_memory(Producer *producer, const Perfetto__Protos__TraceConfig *config) {
        MemorySize size;
        int r;

        list_unlink(&producer->unused_link);
        if (producer->has_memory)
                return 0;
        size = producer_memory_size(producer, config);
        r = quota_charge(&producer->service->quota,
                         &producer->memory_charge,
                         producer->user,
                         QUOTA_MEMORY_BYTES,
                         producer->options.is_native
                                 ? smb_native_bytes(size.bytes, (uint32_t)size.page_bytes)
                                 : size.bytes);
        if (r)
                return r == QUOTA_E_EXCEEDED ? PRODUCER_MEMORY_E_LIMIT : error_fold(r);

        r = producer->ops->setup_memory(
                producer->peer, size.bytes, (uint32_t)size.page_bytes, &producer->area);
        if (r < 0) {
                charge_deinit(&producer->memory_charge);
                return r;
        }
        producer->has_memory = true;
        producer->is_rescanning = false;
        producer->n_memories++;
        producer_begin_losses(producer);
        if (producer->area.control)
                smb_prepare_sleep(&producer->area);
        return 0;
}

void producer_memory_unused(Producer *producer) {
        Service *service = producer->service;

        if (!producer->has_memory || !producer->area.control ||
            list_is_linked(&producer->unused_link))
                return;
        producer->release_at = service->now + PRODUCER_KEEP_MEMORY_NS;
        list_append(&service->unused, &producer->unused_link);
}

int producer_ask(Producer *producer,
                 SmbRequestKind kind,
                 const uint64_t *instances,
                 size_t n_instances,
                 unsigned *ret_place) {
        return smb_ask(&producer->area, kind, instances, n_instances, ret_place);
}

bool producer_take_answer(Producer *producer, unsigned place) {
        return smb_take_answer(&producer->area, place);
}

#define MEMORIES_PER_ORIGIN ((SMB_WRITER_MAX + 1) / SMB_NATIVE_WRITERS_MAX)

/* Nobody may write there any more, so what is left in it is for no buffer. */
void producer_release_memory(Producer *producer) {
        list_unlink(&producer->unused_link);
        list_unlink(&producer->awake_link);
        producer->ops->release_memory(producer->peer);
        producer->has_memory = false;
        producer->area = (SmbArea){};
        charge_deinit(&producer->memory_charge);
        if (producer->n_memories % MEMORIES_PER_ORIGIN != 0)
                return;
        service_producer_gone(producer->service, producer->origin_id);
        producer->origin_id = service_new_producer_id(producer->service, producer->identity.uid);
}

/* Writer ids and chunk numbers start over in each memory. A session that goes on meanwhile must not take the ones for
 * the others: the ids that native producers leave free say which memory it was, and when those have been through, the
 * producer counts as another one. */
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

void producer_forget_buffer(Producer *producer, uint16_t id) {
        producer->former_buffers[producer->n_former_buffers++ % PRODUCER_FORMER_BUFFERS] = id;
}

static bool producer_had_buffer(const Producer *producer, uint32_t id) {
        for (size_t i = 0; id && i < PRODUCER_FORMER_BUFFERS; i++)
                if (producer->former_buffers[i] == id)
                        return true;
        return false;
}

/* A program that runs on fills chunks for a session that has just stopped or been freed: that one wants them no more,
 * and no other misses them. Which session any other stray was meant for is not known: all that this producer takes
 * part in are told. */
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

/* A writer that has said where it writes to writes nowhere else. */
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

/*
 * Waiting for data drains all of it. Otherwise a look takes bytes up to a mark and the next look goes on from
 * there, as a full memory takes tens of milliseconds in which nobody else would be served.
 */

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

/* A chunk that found the ring full may be behind the page that is looked at, and its writer's next one before it: taken
 * together they are in order, as long as a producer does not keep at it. */
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

static size_t producer_drain_until(Producer *producer, uint64_t until) {
        const SelfSpan span = self_span_begin(producer->service, producer->n_bytes_taken);
        size_t n;

        if (producer->is_builtin)
                return self_trace_commit(producer->peer);
        if (!producer->has_memory || !producer->area.control)
                return 0;
        n = producer_drain_memory(producer, until);
        self_drained(producer, &span, n);
        return n;
}

size_t producer_drain(Producer *producer) {
        return producer_drain_until(producer, UINT64_MAX);
}

/* What is finished of a chunk that its writer still has. Perfetto's writers count a fragment before they write it, so
 * their last one is left out. */
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

/* The first page from this one on that somebody used; those that follow up to *until are, too. */
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

/* Pages that nobody used are left alone: looking at one would give memory to it, and idle producers are many. */
void producer_scan(Producer *producer, const Session *session) {
        uint32_t n_pages, page, until = 0;

        if (!producer->has_memory || !producer_has_writers(producer))
                return;
        n_pages = smb_n_used_pages(&producer->area);
        for (page = producer_next_page(producer, 0, &until); page < n_pages;
             page = producer_next_page(producer, page + 1, &until))
                producer_scan_page(producer, session, page);
}

static void producer_awaken(Producer *producer, uint64_t now) {
        Service *service = producer->service;

        if (list_is_linked(&producer->awake_link))
                return;
        smb_wake(&producer->area);
        if (list_is_empty(&service->awake))
                service->next_drain = now + PRODUCER_DRAIN_INTERVAL_NS;
        list_append(&service->awake, &producer->awake_link);
}

void producer_doorbell(Producer *producer, uint64_t now) {
        uint64_t until;

        now = service_note_now(producer->service, now);
        if (!producer->has_memory || !producer->area.control)
                return;
        producer_awaken(producer, now);
        producer->n_quiet = 0;
        until = producer->n_bytes_taken + PRODUCER_RING_BYTES;
        producer_drain_until(producer, until);
        if (producer->n_bytes_taken >= until)
                producer->service->next_drain = now;
        producer_look_for_losses(producer, now);
}

uint64_t producer_look(Producer *producer, uint64_t max_bytes) {
        const uint64_t before = producer->n_bytes_taken;

        if (producer_drain_until(producer, before + max_bytes) > 0) {
                producer->n_quiet = 0;
                producer_look_for_losses(producer, producer->service->now);
                return producer->n_bytes_taken - before;
        }
        if (++producer->n_quiet < QUIET_LOOKS)
                return 0;

        /* Something may come in just before `sleeping` is seen: then it did not ring. */
        if (smb_prepare_sleep(&producer->area)) {
                list_unlink(&producer->awake_link);
                return 0;
        }
        smb_wake(&producer->area);
        producer->n_quiet = 0;
        producer_drain_until(producer, before + max_bytes);
        return producer->n_bytes_taken - before;
}
