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

/* What one writer's stream amounts to. */
typedef struct Stream {
        Bytes packet; /* the one that is not finished */
        uint32_t next_chunk_id;
        bool open;
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

/* What the service does when it is awake. Returns how many chunks there were. streams[] is by
 * writer id. */
static inline unsigned fixture_drain(Fixture *fixture, Stream streams[]) {
        SmbCommit commit;
        unsigned n = 0;

        while (smb_next_commit(&fixture->service, &commit) == 0)
                if (!commit.is_patch)
                        n += fixture_take(fixture, commit.page, commit.chunk, streams);
        if (!smb_take_rescan(&fixture->service))
                return n;
        for (uint32_t page = 0; page < fixture->service.n_pages; page++)
                n += fixture_take(fixture, page, 0, streams);
        return n;
}
