/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What goes wrong without notice if it does: a bell, a number in the header of a message, a word in shared memory. */

#include <endian.h>
#include <pthread.h>
#include <sched.h>

#include "smb-fixture.h"

#define PAGE     4096
#define STALL_NS UINT64_C(20000000)

START_TEST(test_a_writer_that_waits_rings_for_the_service) {
        static uint8_t packet[SMB_PAGE_BYTES_MAX];
        SmbWriter writer = {};
        Fixture fixture;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 1, SMB_FULL_STALL, STALL_NS),
                         0);
        for (unsigned i = 0; i < 4; i++) {
                size_t n = PAGE - SMB_PAGE_HEADER_BYTES - SMB_CHUNK_HEADER_BYTES - 2;

                ck_assert_int_eq(smb_writer_write(&writer, packet, n), 0);
        }
        smb_writer_flush(&writer);
        fixture_rings(&fixture);
        ck_assert_int_eq(smb_writer_write(&writer, packet, 1), SMB_WRITER_E_FULL);
        ck_assert_uint_ge(fixture_rings(&fixture), 1);
        smb_writer_deinit(&writer);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_ids_of_another_buffer_are_taken_when_no_others_are_left) {
        static SmbWriter writers[SMB_NATIVE_WRITERS_MAX];
        static Stream streams[SMB_NATIVE_WRITERS_MAX];
        Fixture fixture;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        for (uint16_t buffer = 1; buffer <= 2; buffer++) {
                for (unsigned i = 1; i < SMB_NATIVE_WRITERS_MAX; i++)
                        ck_assert_int_eq(
                                smb_writer_init(
                                        &writers[i], fixture.producer, buffer, SMB_FULL_DROP, 0),
                                0);
                for (unsigned i = 1; i < SMB_NATIVE_WRITERS_MAX; i++) {
                        smb_writer_deinit(&writers[i]);
                        fixture_drain(&fixture, streams);
                }
        }
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_chunk_of_a_message_has_all_of_its_header) {
        uint8_t message[SMB_CHUNK_HEADER_BYTES + 3] = { 0x78, 0x56, 0x34, 0x12, 5,  0,
                                                        2,    0,    'a',  'b',  'c' };
        SmbChunk chunk;

        message[7] = SMB_CHUNK_CONTINUES << (SMB_FLAGS_SHIFT - 8);
        ck_assert_int_eq(smb_read_chunk(message, sizeof(message), true, &chunk), 0);
        ck_assert_uint_eq(chunk.chunk_id, le32toh(0x12345678));
        ck_assert_uint_eq(chunk.writer_id, 5);
        ck_assert_uint_eq(chunk.n_fragments, 2);
        ck_assert_uint_eq(chunk.flags, SMB_CHUNK_CONTINUES);
        ck_assert_uint_eq(chunk.n_payload, 3);
        ck_assert_ptr_eq(chunk.payload, message + SMB_CHUNK_HEADER_BYTES);
        ck_assert(chunk.complete);
        ck_assert_int_eq(smb_read_chunk(message, SMB_CHUNK_HEADER_BYTES, false, &chunk), 0);
        ck_assert(!chunk.complete);
        ck_assert_uint_eq(chunk.n_payload, 0);
        ck_assert_int_eq(smb_read_chunk(message, SMB_CHUNK_HEADER_BYTES - 1, true, &chunk),
                         SMB_E_INVALID);
}
END_TEST

START_TEST(test_place_of_an_answered_request_is_free) {
        Fixture fixture;
        SmbAsked asked;
        unsigned place;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert_int_eq(smb_ask(&fixture.service, SMB_REQUEST_STOP, NULL, 0, &place), 0);
        ck_assert_int_eq(atomic_load(&fixture.service.control->requests[place].state),
                         SMB_REQUEST_ASKED);
        ck_assert(smb_take_request(fixture.producer, &asked));
        smb_answer(fixture.producer, asked.place);
        ck_assert(smb_take_answer(&fixture.service, place));
        ck_assert_int_eq(atomic_load(&fixture.service.control->requests[place].state),
                         SMB_REQUEST_FREE);
        fixture_deinit(&fixture);
}
END_TEST

/* Its size would say that the writer has given up on it. */
START_TEST(test_a_packet_of_an_impossible_size_is_dropped_as_a_whole) {
        uint8_t *packet = mmap(NULL,
                               SMB_PACKET_DROPPED,
                               PROT_READ,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                               -1,
                               0);
        static Stream streams[SMB_NATIVE_WRITERS_MAX];
        SmbWriter writer = {};
        Fixture fixture;

        ck_assert(packet != MAP_FAILED);
        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 1, SMB_FULL_STALL, STALL_NS),
                         0);
        ck_assert_int_eq(smb_writer_write(&writer, packet, SMB_PACKET_DROPPED), SMB_WRITER_E_FULL);
        smb_writer_flush(&writer);
        ck_assert_uint_eq(fixture_drain(&fixture, streams), 0);
        smb_writer_deinit(&writer);
        fixture_deinit(&fixture);
        munmap(packet, SMB_PACKET_DROPPED);
}
END_TEST

START_TEST(test_both_sides_know_how_large_the_memory_is) {
        Fixture fixture;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert_uint_eq(fixture.service.n_bytes, fixture.n_bytes);
        ck_assert_uint_eq(fixture.producer->area.n_bytes, fixture.n_bytes);
        fixture_deinit(&fixture);
}
END_TEST

#define N_THREADS 4
#define N_PATCHES 50000

typedef struct Poster {
        pthread_t thread;
        SmbProducer *producer;
        uint16_t writer_id;
} Poster;

static void *post_patches(void *userdata) {
        static const uint8_t data[4] = { 1, 2, 3, 4 };
        const Poster *poster = userdata;

        for (uint32_t i = 0; i < N_PATCHES; i++)
                while (!smb_post_patch(poster->producer, poster->writer_id, i, 0, data, false))
                        sched_yield();
        return NULL;
}

/* They fight for the slots of a small ring. */
START_TEST(test_patches_of_many_threads_arrive_once_and_in_order) {
        uint32_t n_arrived[N_THREADS + 1] = {}, n = 0;
        Poster posters[N_THREADS + 1] = {};
        SmbCommit commit;
        Fixture fixture;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        for (uint16_t i = 1; i <= N_THREADS; i++) {
                posters[i] = (Poster){ .producer = fixture.producer, .writer_id = i };
                ck_assert_int_eq(
                        pthread_create(&posters[i].thread, NULL, post_patches, &posters[i]), 0);
        }
        while (n < N_THREADS * N_PATCHES) {
                if (smb_next_commit(&fixture.service, &commit) != 0) {
                        sched_yield();
                        continue;
                }
                stream_assert(commit.is_patch && commit.writer_id <= N_THREADS);
                stream_assert(commit.chunk_id == n_arrived[commit.writer_id]);
                n_arrived[commit.writer_id]++;
                n++;
        }
        for (unsigned i = 1; i <= N_THREADS; i++)
                pthread_join(posters[i].thread, NULL);
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), SMB_E_EMPTY);
        fixture_deinit(&fixture);
}
END_TEST

TEST_MAIN("smb-edges",
          test_a_writer_that_waits_rings_for_the_service,
          test_ids_of_another_buffer_are_taken_when_no_others_are_left,
          test_chunk_of_a_message_has_all_of_its_header,
          test_place_of_an_answered_request_is_free,
          test_a_packet_of_an_impossible_size_is_dropped_as_a_whole,
          test_both_sides_know_how_large_the_memory_is,
          test_patches_of_many_threads_arrive_once_and_in_order)
