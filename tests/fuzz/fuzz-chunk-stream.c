/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A hostile producer: a program of steps that fill shared memory with well-formed chunks or with
 * anything, and let the service take, peek, patch, read, clone and clear. Whatever happens, what is
 * read lies in memory and is not empty, when the producer is gone nothing stays unread, and of two
 * clones of the same moment the one that is read at once and the one that is read later are equal.
 */

#include "buffer/trace-buffer.h"
#include "fuzz.h"
#include "smb/smb-reader.h"

#define PAGES      8
#define PAGE_BYTES 4096
#define PRODUCER   5
#define STEPS_MAX  400

typedef struct World {
        SmbArea area;
        TraceBuffer *buffer;
        FuzzInput input;
        uint64_t digest; /* of all bytes read, so that they are */
        TraceBuffer *clone;
        uint64_t clone_digest;
} World;

static _Alignas(4096) uint8_t memory[PAGES * PAGE_BYTES + (1u << 17)];

/* Any memory, any bytes. */
static void step_scribble(World *world) {
        size_t n_area = (size_t)(world->area.pages - memory) + PAGES * PAGE_BYTES;
        size_t offset = (size_t)fuzz_take_16(&world->input) * 4 % n_area;
        const uint8_t *bytes;
        size_t n = fuzz_take_bytes(&world->input, fuzz_take(&world->input) & 63, &bytes);

        n = n < n_area - offset ? n : n_area - offset;
        memcpy(memory + offset, bytes, n);
}

/* A chunk with a header in order; its fragments are any bytes. */
static void step_fill(World *world) {
        unsigned page = fuzz_take(&world->input) % PAGES, shape = fuzz_take(&world->input);
        SmbPageHeader *page_header = smb_page(&world->area, page);
        SmbLayout layout = (SmbLayout)(1 + shape % 5);
        uint32_t chunk = shape / 5 % smb_layout_chunks(layout);
        uint32_t n_chunk = smb_chunk_bytes(PAGE_BYTES, layout);
        uint8_t *start = (uint8_t *)page_header + SMB_PAGE_HEADER_BYTES + chunk * n_chunk;
        SmbChunkHeader *header = (SmbChunkHeader *)start;
        const uint8_t *bytes;
        size_t n;

        page_header->state = (uint32_t)layout << 28 |
                             (uint32_t)(shape & 0x80 ? SMB_CHUNK_COMPLETE : SMB_CHUNK_BEING_WRITTEN)
                                     << (2 * chunk);
        header->writer_id = 1 + fuzz_take(&world->input) % 3;
        header->chunk_id = (uint32_t)(int8_t)fuzz_take(&world->input);
        header->packets = fuzz_take(&world->input);
        header->packets |= (uint16_t)((fuzz_take(&world->input) & 7) << SMB_FLAGS_SHIFT);
        n = fuzz_take_bytes(&world->input, fuzz_take(&world->input), &bytes);
        n = n < n_chunk - SMB_CHUNK_HEADER_BYTES ? n : n_chunk - SMB_CHUNK_HEADER_BYTES;
        memcpy(start + SMB_CHUNK_HEADER_BYTES, bytes, n);
}

static void put(World *world, const SmbChunk *chunk) {
        ChunkOrigin origin = { .producer_id = PRODUCER, .writer_id = chunk->writer_id };
        ChunkData data = {
                .chunk_id = chunk->chunk_id,
                .n_fragments = chunk->n_fragments,
                .flags = chunk->flags,
                .complete = chunk->complete,
                .payload = chunk->payload,
                .n_payload = chunk->n_payload,
        };
        int r = trace_buffer_put(world->buffer, &origin, &data);

        FUZZ_CHECK(chunk->payload >= world->area.pages);
        FUZZ_CHECK(chunk->payload + chunk->n_payload <= world->area.pages + PAGES * PAGE_BYTES);
        FUZZ_CHECK(r == 0 || r == TRACE_BUFFER_E_DISCARDED);
}

static void take(World *world, uint32_t page, uint32_t i) {
        SmbChunk chunk;

        if (smb_take_chunk(&world->area, page, i, &chunk) == 0) {
                put(world, &chunk);
                smb_release_chunk(&world->area, &chunk);
        }
}

static void step_take(World *world) {
        uint32_t page = fuzz_take(&world->input) % (PAGES + 1);

        take(world, page, fuzz_take(&world->input) % 16);
}

static void step_peek(World *world) {
        for (uint32_t page = 0; page < PAGES; page++)
                for (uint32_t i = 0; i < smb_page_chunks(&world->area, page); i++) {
                        SmbChunk chunk;

                        if (smb_peek_chunk(&world->area, page, i, &chunk) == 0)
                                put(world, &chunk);
                }
}

static void patch(World *world, const SmbCommit *commit) {
        trace_buffer_patch(world->buffer,
                           PRODUCER,
                           commit->writer_id,
                           commit->chunk_id,
                           commit->offset,
                           commit->data,
                           commit->more_patches);
}

static void step_drain(World *world) {
        SmbCommit commit;

        while (smb_next_commit(&world->area, &commit) == 0)
                if (commit.is_patch)
                        patch(world, &commit);
                else
                        take(world, commit.page, commit.chunk);
}

static void step_patch(World *world) {
        SmbCommit commit = {
                .writer_id = 1 + fuzz_take(&world->input) % 3,
                .chunk_id = (uint32_t)(int8_t)fuzz_take(&world->input),
                .offset = fuzz_take_16(&world->input),
        };

        for (size_t i = 0; i < sizeof(commit.data); i++)
                commit.data[i] = fuzz_take(&world->input);
        commit.more_patches = commit.offset & 0x8000;
        commit.offset &= 0xff;
        patch(world, &commit);
}

static void check_packet(World *world, const TracePacket *packet) {
        size_t n = 0;

        for (size_t i = 0; i < packet->n_slices; i++) {
                const uint8_t *bytes = packet->slices[i].iov_base;

                for (size_t k = 0; k < packet->slices[i].iov_len; k++)
                        world->digest = (world->digest ^ bytes[k]) * UINT64_C(0x100000001b3);
                n += packet->slices[i].iov_len;
        }
        FUZZ_CHECK(n == packet->n_bytes && n > 0);
        FUZZ_CHECK(packet->loss == 0 || (packet->loss & LOSS_PRESENT));
        FUZZ_CHECK(packet->origin->producer_id == PRODUCER);
        FUZZ_CHECK(packet->origin->writer_id > 0);
        world->digest += packet->loss + packet->origin->writer_id;
}

static void read_some(World *world, TraceBuffer *buffer, size_t n_max) {
        TracePacket packet;
        int r = 0;

        trace_buffer_begin_read(buffer);
        while (n_max-- > 0 && (r = trace_buffer_read(buffer, &packet)) == 0)
                check_packet(world, &packet);
        FUZZ_CHECK(r == 0 || r == TRACE_BUFFER_E_END);
}

static uint64_t read_clone(World *world, TraceBuffer *clone) {
        world->digest = 0;
        read_some(world, clone, SIZE_MAX);
        FUZZ_CHECK(trace_buffer_unread_bytes(clone) == 0);
        return world->digest;
}

static void drop_clone(World *world) {
        if (world->clone)
                FUZZ_CHECK(read_clone(world, world->clone) == world->clone_digest);
        world->clone = trace_buffer_free(world->clone);
}

static void step_clone(World *world) {
        uint64_t keep_from = (uint64_t)fuzz_take(&world->input) * 64;
        TraceBuffer *other;

        drop_clone(world);
        FUZZ_CHECK(trace_buffer_clone(&other, world->buffer, keep_from) == 0);
        FUZZ_CHECK(trace_buffer_clone(&world->clone, world->buffer, keep_from) == 0);
        world->clone_digest = read_clone(world, other);
        trace_buffer_free(other);
}

static void step_clear(World *world) {
        trace_buffer_clear(world->buffer);
        FUZZ_CHECK(trace_buffer_unread_bytes(world->buffer) == 0);
}

static void check_stats(const World *world) {
        const TraceBufferStats *stats = trace_buffer_stats(world->buffer);
        WriterCursor cursor = {};
        WriterStats writer;

        FUZZ_CHECK(stats->chunks_read + stats->chunks_overwritten <= stats->chunks_written);
        FUZZ_CHECK(stats->bytes_read + stats->bytes_overwritten <= stats->bytes_written);
        FUZZ_CHECK(stats->padding_bytes_cleared <= stats->padding_bytes_written);
        while (trace_buffer_next_writer(world->buffer, &cursor, &writer)) {
                FUZZ_CHECK(writer.origin.producer_id == PRODUCER);
                for (size_t i = 0; i < TRACE_BUFFER_HISTOGRAM_BUCKETS - 1; i++)
                        FUZZ_CHECK(writer.n_bytes[i] <=
                                   writer.n_chunks[i] * trace_buffer_histogram_bounds[i]);
        }
}

static void step_read(World *world) {
        unsigned n = fuzz_take(&world->input);

        read_some(world, world->buffer, n & 1 ? SIZE_MAX : n / 2);
}

static void step_clones(World *world) {
        if (fuzz_take(&world->input) & 3)
                step_clone(world);
        else
                step_clear(world);
}

static void play(World *world) {
        static void (*const steps[])(World *) = {
                step_fill,  step_take,  step_read,     step_peek,
                step_patch, step_drain, step_scribble, step_clones,
        };

        for (unsigned i = 0; i < STEPS_MAX && world->input.n_left > 0; i++)
                steps[fuzz_take(&world->input) % 8](world);
        step_peek(world);
        trace_buffer_producer_gone(world->buffer, PRODUCER);
        read_some(world, world->buffer, SIZE_MAX);
        FUZZ_CHECK(trace_buffer_unread_bytes(world->buffer) == 0);
        check_stats(world);
        drop_clone(world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        World world = { .input = { data, n_bytes } };
        uint8_t shape = fuzz_take(&world.input);
        size_t segment_bytes = 512 << (shape >> 1 & 3);

        memset(memory, 0, sizeof(memory));
        if (shape & 1) {
                FUZZ_CHECK(smb_native_bytes(PAGES * PAGE_BYTES, PAGE_BYTES) <= sizeof(memory));
                smb_area_create(&world.area, memory, PAGES * PAGE_BYTES, PAGE_BYTES);
        } else {
                smb_area_create_plain(&world.area, memory, PAGES * PAGE_BYTES, PAGE_BYTES);
        }
        FUZZ_CHECK(trace_buffer_new(&world.buffer,
                                    segment_bytes * (2 + (shape >> 3 & 3)),
                                    segment_bytes,
                                    shape & 0x80 ? TRACE_BUFFER_DISCARD : TRACE_BUFFER_RING) == 0);
        play(&world);
        trace_buffer_free(world.buffer);
        return 0;
}
