/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Both ends of one shared memory in one process, and a service that puts packets together again
 */

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/bytes.h"
#include "smb/smb-reader.h"
#include "smb/smb-writer.h"
#include "test.h"

typedef struct Fixture {
        void *memory;
        size_t n_bytes;
        SmbArea service;
        SmbProducer *producer;
        int doorbell_fd;
} Fixture;

static inline void fixture_init(Fixture *fixture, size_t pages_bytes, uint32_t page_bytes) {
        SmbArea area;

        *fixture = (Fixture){ .n_bytes = smb_native_bytes(pages_bytes, page_bytes) };
        fixture->memory = mmap(
                NULL, fixture->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ck_assert(fixture->memory != MAP_FAILED);
        smb_area_create(&fixture->service, fixture->memory, pages_bytes, page_bytes);
        ck_assert_int_eq(smb_area_attach(&area, fixture->memory, fixture->n_bytes), 0);
        fixture->doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        ck_assert_int_ge(fixture->doorbell_fd, 0);
        fixture->producer = calloc(1, sizeof(*fixture->producer));
        ck_assert_ptr_nonnull(fixture->producer);
        smb_producer_init(fixture->producer, &area, fixture->doorbell_fd);
}

static inline void fixture_deinit(Fixture *fixture) {
        munmap(fixture->memory, fixture->n_bytes);
        free(fixture->producer);
        close(fixture->doorbell_fd);
}

static inline uint64_t fixture_rings(Fixture *fixture) {
        uint64_t n = 0;

        if (read(fixture->doorbell_fd, &n, sizeof(n)) < 0)
                return 0;
        return n;
}

/* Check's own assertions tell the parent process about each success: too slow for each fragment. */
#define stream_assert(condition)                        \
        do {                                            \
                if (!(condition))                       \
                        ck_abort_msg("%s", #condition); \
        } while (0)

#define FIXTURE_CHUNKS_MAX 8192

/* What one writer's stream amounts to. */
typedef struct Stream {
        Bytes packet; /* the one that is not finished */
        uint32_t next_chunk_id;
        bool open;
        uint16_t target; /* buffer */
        unsigned n_packets, n_chunks, n_given_up, n_gaps;
        void (*on_packet)(struct Stream *stream, const uint8_t *packet, size_t n_bytes);
        uint64_t user; /* of the test */
} Stream;

static inline size_t stream_size(const uint8_t **at, const uint8_t *end) {
        size_t n = 0;

        for (unsigned shift = 0;; shift += 7) {
                uint8_t byte;

                stream_assert(*at < end);
                byte = *(*at)++;
                n |= (size_t)(byte & 0x7f) << shift;
                if (!(byte & 0x80))
                        return n;
        }
}

static inline void stream_fragment(Stream *stream, const uint8_t *at, size_t n, bool more) {
        stream_assert(bytes_append(&stream->packet, at, n) == 0);
        stream->open = more;
        if (more)
                return;
        if (stream->on_packet)
                stream->on_packet(stream, stream->packet.data, stream->packet.n);
        stream->n_packets++;
        bytes_clear(&stream->packet);
}

static inline void stream_chunk(Stream *stream, const SmbChunk *chunk) {
        const uint8_t *at = chunk->payload, *end = at + chunk->n_payload;

        if (chunk->chunk_id != stream->next_chunk_id)
                stream->n_gaps++;
        stream->next_chunk_id = chunk->chunk_id + 1;
        stream->n_chunks++;
        stream_assert(stream->open == !!(chunk->flags & SMB_CHUNK_CONTINUES));
        for (unsigned i = 0; i < chunk->n_fragments; i++) {
                bool last = i + 1u == chunk->n_fragments;
                size_t n = stream_size(&at, end);

                if (n == SMB_PACKET_DROPPED) {
                        stream_assert(last);
                        bytes_clear(&stream->packet);
                        stream->open = false;
                        stream->n_given_up++;
                        return;
                }
                stream_assert(n <= (size_t)(end - at));
                stream_fragment(stream, at, n, last && (chunk->flags & SMB_CHUNK_TO_BE_CONTINUED));
                at += n;
        }
}

/* Takes a chunk and gives it back; false when there was none. */
static inline bool fixture_take(Fixture *fixture, uint32_t page, uint32_t at, Stream streams[]) {
        SmbChunk chunk;

        if (smb_take_chunk(&fixture->service, page, at, &chunk) != 0)
                return false;
        stream_chunk(&streams[chunk.writer_id], &chunk);
        smb_release_chunk(&fixture->service, &chunk);
        return true;
}

static inline int chunk_compare(const void *a, const void *b) {
        const SmbChunk *x = a, *y = b;

        if (x->writer_id != y->writer_id)
                return x->writer_id < y->writer_id ? -1 : 1;
        return (int32_t)(x->chunk_id - y->chunk_id) < 0 ? -1 : x->chunk_id != y->chunk_id;
}

static inline bool
take_one_chunk(SmbArea *area, uint32_t page, uint32_t at, SmbChunk *ret, Stream streams[]) {
        if (smb_take_chunk(area, page, at, ret) != 0)
                return false;
        /* Before its retirement. */
        streams[ret->writer_id].target = smb_writer_buffer(area, ret->writer_id);
        return true;
}

/* All that is complete, each writer's in its order: what found the ring full comes by its place in memory. */
static inline size_t take_all_chunks(SmbArea *area, SmbChunk **ret, Stream streams[]) {
        static _Thread_local SmbChunk chunks[FIXTURE_CHUNKS_MAX];
        SmbCommit commit;
        size_t n = 0;

        while (smb_next_commit(area, &commit) == 0)
                if (!commit.is_patch)
                        n += take_one_chunk(area, commit.page, commit.chunk, &chunks[n], streams);
        /* Again if it was set meanwhile: a chunk may be behind the page that is looked at, and the next before it. */
        while (smb_take_rescan(area))
                for (uint32_t page = 0; page < area->n_pages; page++)
                        for (uint32_t i = 0; i < SMB_CHUNKS_MAX; i++)
                                n += take_one_chunk(area, page, i, &chunks[n], streams);
        stream_assert(n < FIXTURE_CHUNKS_MAX);
        qsort(chunks, n, sizeof(chunks[0]), chunk_compare);
        *ret = chunks;
        return n;
}

/* What the service does when it is awake. Returns how many chunks there were. streams[] is by
 * writer id. */
static inline unsigned fixture_drain(Fixture *fixture, Stream streams[]) {
        SmbChunk *chunks;
        size_t n = take_all_chunks(&fixture->service, &chunks, streams);

        for (size_t i = 0; i < n; i++) {
                stream_chunk(&streams[chunks[i].writer_id], &chunks[i]);
                smb_release_chunk(&fixture->service, &chunks[i]);
        }
        return (unsigned)n;
}
