/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Simulated writers against the two promises of a trace buffer: a packet comes out whole or not at
 * all, and what is missing is said on the next packet of its writer, and only then.
 *
 * With clones a third: what a clone has to read stays the same, whatever happens to its original
 * meanwhile. So there are two of each moment, one of which is read at once and one much later.
 *
 * Each packet says who wrote it, its number and its length, and is filled with a pattern. The
 * writers cut packets into chunks of random sizes, leave bytes to be patched, show chunks before
 * they are complete, and deliver late and out of order; reads come in between.
 */

#include "buffer/trace-buffer.h"
#include "smb/smb.h"
#include "test.h"

#define WRITERS       5
#define CHUNK_BYTES   600
#define PACKET_BYTES  2500
#define OUTBOX_MAX    6
#define PACKET_HEADER 12 /* writer, number, length */

typedef struct Chunk {
        uint32_t id;
        uint16_t n_fragments;
        uint8_t flags;
        size_t n;
        size_t n_room;
        uint8_t bytes[CHUNK_BYTES];
} Chunk;

typedef struct Patch {
        bool is_due;
        uint32_t chunk_id;
        uint32_t offset;
        uint8_t data[4];
} Patch;

typedef struct Writer {
        uint16_t id;
        Chunk open;
        Chunk outbox[OUTBOX_MAX];
        size_t n_outbox;
        Patch patch;
        uint32_t n_written;
        uint32_t n_read; /* packets, up to and with the last one that came out */
} Writer;

typedef struct World {
        uint64_t seed;
        TraceBuffer *buffer;
        Writer writers[WRITERS];
        size_t n_lost;
        size_t n_whole;
        bool clones;
        TraceBuffer *clone;
        uint64_t clone_digest; /* of all that the clone has to read */
        size_t n_clones;
        size_t n_empty; /* chunks put without fragments: overwritten, they count as nothing */
} World;

/* Each ck_assert() writes to a pipe: too slow for every byte of every packet. */
#define CHECK(_x)                                \
        do {                                     \
                if (!(_x))                       \
                        ck_abort_msg("%s", #_x); \
        } while (0)

static uint32_t world_random(World *world, uint32_t below) {
        world->seed = world->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (uint32_t)(world->seed >> 33) % below;
}

static void writer_put(World *world, const Writer *writer, const Chunk *chunk, bool complete) {
        ChunkOrigin origin = { .producer_id = 3, .writer_id = writer->id };
        ChunkData data = {
                .chunk_id = chunk->id,
                .n_fragments = chunk->n_fragments,
                .flags = chunk->flags,
                .complete = complete,
                .payload = chunk->bytes,
                .n_payload = complete ? chunk->n : chunk->n_room,
        };
        int r;

        world->n_empty += chunk->n_fragments == 0;
        r = trace_buffer_put(world->buffer, &origin, &data);
        CHECK(r == 0 || r == TRACE_BUFFER_E_DISCARDED);
}

static void writer_deliver_one(World *world, Writer *writer) {
        uint32_t i;

        if (writer->n_outbox == 0)
                return;
        i = world_random(world, (uint32_t)writer->n_outbox);
        writer_put(world, writer, &writer->outbox[i], true);
        memmove(&writer->outbox[i],
                &writer->outbox[i + 1],
                (--writer->n_outbox - i) * sizeof(writer->outbox[0]));
}

static void writer_deliver(World *world, Writer *writer) {
        while (writer->n_outbox > 0)
                writer_deliver_one(world, writer);
}

static void writer_patch(World *world, Writer *writer) {
        if (!writer->patch.is_due)
                return;
        /* A patch never overtakes its chunk. The chunk may be overwritten by now; then the read-
         * back says so. */
        writer_deliver(world, writer);
        trace_buffer_patch(world->buffer,
                           3,
                           writer->id,
                           writer->patch.chunk_id,
                           writer->patch.offset,
                           writer->patch.data,
                           false);
        writer->patch.is_due = false;
}

static void writer_open_chunk(World *world, Writer *writer, uint32_t id) {
        writer->open.id = id;
        writer->open.n = 0;
        writer->open.n_fragments = 0;
        writer->open.flags = 0;
        writer->open.n_room = 40 + world_random(world, CHUNK_BYTES - 40);
        memset(writer->open.bytes, 0, sizeof(writer->open.bytes));
}

static void writer_close_chunk(World *world, Writer *writer, bool to_be_continued) {
        if (to_be_continued)
                writer->open.flags |= SMB_CHUNK_TO_BE_CONTINUED;
        while (writer->n_outbox == OUTBOX_MAX)
                writer_deliver_one(world, writer);
        writer->outbox[writer->n_outbox++] = writer->open;
        writer_open_chunk(world, writer, writer->open.id + 1);
        if (to_be_continued)
                writer->open.flags |= SMB_CHUNK_CONTINUES;
}

/* Now and then the beginning of a long packet is left out and comes as a patch. */
static void writer_leave_out(World *world, Writer *writer, size_t offset) {
        Chunk *chunk = &writer->open;

        if (writer->patch.is_due || world_random(world, 3) > 0)
                return;
        writer->patch =
                (Patch){ .is_due = true, .chunk_id = chunk->id, .offset = (uint32_t)offset };
        memcpy(writer->patch.data, chunk->bytes + offset, 4);
        memset(chunk->bytes + offset, 0, 4);
        chunk->flags |= SMB_CHUNK_NEEDS_PATCHING;
}

static void writer_write(World *world, Writer *writer) {
        uint32_t n =
                PACKET_HEADER + world_random(world, world_random(world, 4) ? 100 : PACKET_BYTES);
        uint32_t header[3] = { writer->id, ++writer->n_written, n };
        uint8_t packet[PACKET_HEADER + PACKET_BYTES];
        size_t done = 0;

        memset(packet, (int)(writer->n_written * 7 + writer->id), n);
        memcpy(packet, header, PACKET_HEADER);
        while (done < n) {
                Chunk *chunk = &writer->open;
                size_t n_now;

                if (chunk->n + 2 + 8 > chunk->n_room) {
                        writer_close_chunk(world, writer, done > 0);
                        continue;
                }
                n_now = MIN(n - done, chunk->n_room - chunk->n - 2);
                chunk->bytes[chunk->n++] = (uint8_t)(n_now | 0x80);
                chunk->bytes[chunk->n++] = (uint8_t)(n_now >> 7);
                memcpy(chunk->bytes + chunk->n, packet + done, n_now);
                chunk->n += n_now;
                chunk->n_fragments++;
                done += n_now;
                if (done == n)
                        break;
                if (done == n_now)
                        writer_leave_out(world, writer, chunk->n - n_now);
                writer_close_chunk(world, writer, true);
        }
}

typedef struct Label {
        uint32_t writer;
        uint32_t number;
        uint32_t n_bytes;
} Label;

static_assert(sizeof(Label) == PACKET_HEADER, "as writer_write() puts it");

/* Dies if the packet is not one that a writer wrote. */
static Label packet_label(const TracePacket *packet) {
        uint8_t bytes[PACKET_HEADER + PACKET_BYTES];
        Label label;
        size_t n = 0;

        CHECK(packet->n_bytes <= sizeof(bytes));
        for (size_t i = 0; i < packet->n_slices; i++) {
                memcpy(bytes + n, packet->slices[i].iov_base, packet->slices[i].iov_len);
                n += packet->slices[i].iov_len;
        }
        CHECK(n == packet->n_bytes && n >= PACKET_HEADER);
        memcpy(&label, bytes, PACKET_HEADER);
        CHECK(label.writer == packet->origin->writer_id && label.n_bytes == n);
        for (size_t i = PACKET_HEADER; i < n; i++)
                CHECK(bytes[i] == (uint8_t)(label.number * 7 + label.writer));
        return label;
}

static void world_check_packet(World *world, const TracePacket *packet) {
        Label label = packet_label(packet);
        Writer *writer = &world->writers[label.writer - 1];

        CHECK(label.number > writer->n_read);
        if ((label.number == writer->n_read + 1) != (packet->loss == 0))
                ck_abort_msg("writer %u: packet %u after %u says loss %u",
                             writer->id,
                             label.number,
                             writer->n_read,
                             packet->loss);
        world->n_lost += packet->loss != 0;
        world->n_whole++;
        writer->n_read = label.number;
}

/* In a clone a loss may also be said where only more could have come. `is_cut`: what is left out in
 * front is no loss. */
static uint64_t world_read_clone(World *world, TraceBuffer *clone, bool is_cut) {
        uint32_t n_read[WRITERS];
        uint64_t digest = 0;
        TracePacket packet;
        int r;

        for (size_t i = 0; i < WRITERS; i++)
                n_read[i] = is_cut ? 0 : world->writers[i].n_read;
        trace_buffer_begin_read(clone);
        while ((r = trace_buffer_read(clone, &packet)) == 0) {
                Label label = packet_label(&packet);
                uint32_t *n = &n_read[label.writer - 1];

                CHECK(label.number > *n);
                CHECK(label.number == *n + 1 || packet.loss || (is_cut && *n == 0));
                *n = label.number;
                digest = (digest ^ label.number ^ (uint64_t)label.writer << 32 ^
                          (uint64_t)packet.loss << 40) *
                         UINT64_C(0x100000001b3);
        }
        CHECK(r == TRACE_BUFFER_E_END);
        CHECK(trace_buffer_unread_bytes(clone) == 0);
        return digest;
}

static void world_let_clone_go(World *world) {
        WriterCursor cursor = {};
        WriterStats stats;
        size_t n = 0;

        if (!world->clone)
                return;
        while (trace_buffer_next_writer(world->clone, &cursor, &stats))
                n++;
        CHECK(n <= WRITERS);
        CHECK(world_read_clone(world, world->clone, true) == world->clone_digest);
        world->clone = trace_buffer_free(world->clone);
}

static void world_clone(World *world) {
        const TraceBufferStats *stats = trace_buffer_stats(world->buffer);
        uint64_t keep_from = world_random(world, 2)
                                     ? world_random(world, (uint32_t)stats->bytes_written + 1)
                                     : 0;
        TraceBuffer *other;

        world_let_clone_go(world);
        ck_assert_int_eq(trace_buffer_clone(&other, world->buffer, keep_from), 0);
        ck_assert_int_eq(trace_buffer_clone(&world->clone, world->buffer, keep_from), 0);
        world->clone_digest = world_read_clone(world, other, keep_from > 0);
        trace_buffer_free(other);
        world->n_clones++;
}

static void world_read(World *world, uint32_t n_max) {
        TracePacket packet;
        int r = 0;

        /* What is on its way is put first: late chunks that were given up are another matter. */
        for (size_t i = 0; i < WRITERS; i++)
                writer_deliver(world, &world->writers[i]);
        trace_buffer_begin_read(world->buffer);
        while (n_max-- > 0 && (r = trace_buffer_read(world->buffer, &packet)) == 0)
                world_check_packet(world, &packet);
        ck_assert(r == 0 || r == TRACE_BUFFER_E_END);
}

static void world_step(World *world) {
        Writer *writer = &world->writers[world_random(world, WRITERS)];

        if (world->clones && world_random(world, 40) == 0)
                world_clone(world);
        switch (world_random(world, 12)) {
        case 0:
                writer_patch(world, writer);
                break;
        case 1:
                writer_put(world, writer, &writer->open, false);
                break;
        case 2:
                writer_deliver(world, writer);
                break;
        case 3:
                writer_deliver_one(world, writer);
                break;
        case 4:
                world_read(world, world_random(world, 3) ? UINT32_MAX : world_random(world, 30));
                break;
        default:
                writer_write(world, writer);
                break;
        }
}

/* When all has been read, every chunk is accounted for. */
static void world_check_stats(const World *world) {
        const TraceBufferStats *stats = trace_buffer_stats(world->buffer);
        uint64_t n_chunks = stats->chunks_read + stats->chunks_overwritten;
        uint64_t n_bytes = stats->bytes_read + stats->bytes_overwritten;

        CHECK(n_chunks <= stats->chunks_written);
        CHECK(n_chunks + stats->chunks_relocated + world->n_empty >= stats->chunks_written);
        CHECK(n_bytes <= stats->bytes_written);
        CHECK(stats->padding_bytes_cleared <= stats->padding_bytes_written);
        CHECK(stats->padding_bytes_written - stats->padding_bytes_cleared <= stats->buffer_bytes);
        CHECK(stats->abi_violations == 0);
}

static void world_play(World *world, uint64_t seed, size_t n_bytes, size_t segment_bytes) {
        ck_assert_int_eq(
                trace_buffer_new(&world->buffer, n_bytes, segment_bytes, TRACE_BUFFER_RING), 0);
        world->seed = seed;
        for (uint16_t i = 0; i < WRITERS; i++) {
                world->writers[i].id = (uint16_t)(i + 1);
                /* Ids wrap in the middle of it. */
                writer_open_chunk(world, &world->writers[i], UINT32_MAX - 50);
        }
        for (size_t i = 0; i < 1500; i++)
                world_step(world);

        for (size_t i = 0; i < WRITERS; i++) {
                writer_close_chunk(world, &world->writers[i], false);
                writer_deliver(world, &world->writers[i]);
                writer_patch(world, &world->writers[i]);
        }
        world_read(world, UINT32_MAX);
        ck_assert_uint_eq(trace_buffer_unread_bytes(world->buffer), 0);
        world_check_stats(world);
        world_let_clone_go(world);
        trace_buffer_free(world->buffer);
}

START_TEST(test_large_buffer_loses_nothing) {
        for (uint64_t seed = 1; seed <= 40; seed++) {
                World world = {};

                world_play(&world, seed, 4 << 20, 64 << 10);
                ck_assert_uint_eq(world.n_lost, 0);
                for (size_t i = 0; i < WRITERS; i++)
                        ck_assert_uint_eq(world.writers[i].n_read, world.writers[i].n_written);
        }
}
END_TEST

START_TEST(test_small_buffer_says_what_it_loses) {
        size_t n_lost = 0, n_whole = 0;

        for (uint64_t seed = 1; seed <= 200; seed++) {
                World world = {};

                world_play(&world, seed, 3 * (1024 + 512 * (seed % 8)), 1024 + 512 * (seed % 8));
                n_lost += world.n_lost;
                n_whole += world.n_whole;
        }
        ck_assert_uint_gt(n_lost, 1000);
        ck_assert_uint_gt(n_whole, 2 * n_lost);
}
END_TEST

START_TEST(test_clones_do_not_change) {
        size_t n_clones = 0, n_lost = 0;

        for (uint64_t seed = 1; seed <= 150; seed++) {
                World world = { .clones = true };
                size_t segment_bytes = 1024 + 512 * (seed % 8);

                world_play(&world, seed, (2 + seed % 5) * segment_bytes, segment_bytes);
                n_clones += world.n_clones;
                n_lost += world.n_lost;
        }
        ck_assert_uint_gt(n_clones, 3000);
        ck_assert_uint_gt(n_lost, 1000);
}
END_TEST

START_TEST(test_clones_do_not_disturb) {
        for (uint64_t seed = 1; seed <= 40; seed++) {
                World world = { .clones = true };

                world_play(&world, seed, 4 << 20, 64 << 10);
                ck_assert_uint_eq(world.n_lost, 0);
                for (size_t i = 0; i < WRITERS; i++)
                        ck_assert_uint_eq(world.writers[i].n_read, world.writers[i].n_written);
        }
}
END_TEST

TEST_MAIN("buffer-random",
          test_large_buffer_loses_nothing,
          test_small_buffer_says_what_it_loses,
          test_clones_do_not_change,
          test_clones_do_not_disturb)
