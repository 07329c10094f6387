/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "smb-fixture.h"

#define PAGE     4096
#define N_PAGES  16
#define PAYLOAD  (PAGE - SMB_PAGE_HEADER_BYTES - SMB_CHUNK_HEADER_BYTES)
#define STALL_NS UINT64_C(20000000)
#define LONG_NS  UINT64_C(20000000000)

static void fill(uint8_t *packet, size_t n, unsigned seed) {
        for (size_t i = 0; i < n; i++)
                packet[i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

/* Packets of the sizes in sizes[], the i-th filled with seed i. */
static const size_t sizes[] = {
        1,    5,     7,    8,    9,    15,    16, 17,        31,    32,   33,   34,   126,  127,
        128,  129,   300,  2000, 4000, 16383, 3,  4075,      4076,  4077, 4078, 4079, 4080, 4081,
        8000, 20000, 8160, 8159, 8158, 16384, 0,  16384 + 5, 12000, 1,    1,    30000
};

static void check_packet(Stream *stream, const uint8_t *packet, size_t n_bytes) {
        static uint8_t expected[65536];

        while (sizes[stream->user] == 0)
                stream->user++;
        ck_assert_uint_eq(n_bytes, sizes[stream->user]);
        fill(expected, n_bytes, (unsigned)stream->user++);
        ck_assert_int_eq(memcmp(packet, expected, n_bytes), 0);
}

static void round_trip(uint32_t page_bytes) {
        static uint8_t packet[65536];
        Stream streams[SMB_NATIVE_WRITERS_MAX] = { 0 };
        SmbWriter writer;
        Fixture fixture;

        fixture_init(&fixture, (size_t)N_PAGES * page_bytes, page_bytes);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 3, SMB_FULL_DROP, 0), 0);
        ck_assert_uint_eq(smb_writer_buffer(&fixture.service, writer.writer_id), 3);
        streams[writer.writer_id].on_packet = check_packet;
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                fill(packet, sizes[i], (unsigned)i);
                ck_assert_int_eq(smb_writer_write(&writer, packet, sizes[i]), 0);
                fixture_drain(&fixture, streams);
        }
        smb_writer_flush(&writer);
        fixture_drain(&fixture, streams);
        ck_assert_uint_eq(streams[writer.writer_id].n_packets,
                          sizeof(sizes) / sizeof(sizes[0]) - 1);
        ck_assert_uint_eq(streams[writer.writer_id].n_gaps, 0);
        smb_writer_deinit(&writer);
        bytes_deinit(&streams[1].packet);
        fixture_deinit(&fixture);
}

START_TEST(test_packets_of_all_sizes_survive_fragmentation) {
        round_trip(4096);
        round_trip(32768);
}
END_TEST

START_TEST(test_many_laps_of_the_ring_lose_nothing) {
        Stream streams[SMB_NATIVE_WRITERS_MAX] = { 0 };
        uint8_t packet[1000] = { 0 };
        SmbWriter writer;
        Fixture fixture;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 1, SMB_FULL_DROP, 0), 0);
        for (unsigned i = 0; i < 4 * 5 * SMB_SLOTS_MIN; i++) {
                ck_assert_int_eq(smb_writer_write(&writer, packet, sizeof(packet)), 0);
                if (i % 3 == 0)
                        fixture_drain(&fixture, streams);
        }
        smb_writer_deinit(&writer);
        fixture_drain(&fixture, streams);
        ck_assert_uint_eq(streams[1].n_packets, 4 * 5 * SMB_SLOTS_MIN);
        ck_assert_uint_eq(streams[1].n_gaps, 0);
        ck_assert_uint_gt(fixture.service.head, 4 * SMB_SLOTS_MIN);
        ck_assert_uint_eq(smb_n_dropped(&fixture.service), 0);
        bytes_deinit(&streams[1].packet);
        fixture_deinit(&fixture);
}
END_TEST

static void write_more_than_can_be_counted(const char *packet, uint32_t page_bytes) {
        Stream streams[SMB_NATIVE_WRITERS_MAX] = { 0 };
        SmbWriter writer;
        Fixture fixture;

        fixture_init(&fixture, 8 * page_bytes, page_bytes);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 1, SMB_FULL_DROP, 0), 0);
        for (unsigned i = 0; i < 3000; i++)
                ck_assert_int_eq(smb_writer_write(&writer, packet, strlen(packet)), 0);
        smb_writer_deinit(&writer);
        fixture_drain(&fixture, streams);
        ck_assert_uint_eq(streams[1].n_packets, 3000);
        ck_assert_uint_eq(streams[1].n_chunks, 3);
        bytes_deinit(&streams[1].packet);
        fixture_deinit(&fixture);
}

START_TEST(test_a_chunk_holds_no_more_fragments_than_can_be_counted) {
        write_more_than_can_be_counted("x", PAGE);
        write_more_than_can_be_counted("8 bytes.", 32768);
}
END_TEST

START_TEST(test_a_full_memory_drops_and_counts_and_marks) {
        Stream streams[SMB_NATIVE_WRITERS_MAX] = { 0 };
        static uint8_t packet[PAYLOAD - 2];
        SmbWriter writer;
        Fixture fixture;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 1, SMB_FULL_DROP, 0), 0);
        for (unsigned i = 0; i < 4; i++)
                ck_assert_int_eq(smb_writer_write(&writer, packet, sizeof(packet)), 0);
        ck_assert(!smb_writer_lost(&writer));
        ck_assert_int_eq(smb_writer_write(&writer, packet, 100), SMB_WRITER_E_FULL);
        ck_assert_int_eq(smb_writer_write(&writer, packet, 100), SMB_WRITER_E_FULL);
        ck_assert(smb_writer_lost(&writer));
        ck_assert_uint_eq(smb_n_dropped(&fixture.service), 2);

        ck_assert_uint_eq(fixture_drain(&fixture, streams), 4);
        ck_assert_int_eq(smb_writer_write(&writer, packet, 100), 0);
        ck_assert(!smb_writer_lost(&writer));
        smb_writer_deinit(&writer);
        fixture_drain(&fixture, streams);
        ck_assert_uint_eq(streams[1].n_packets, 5);
        ck_assert_uint_eq(streams[1].n_gaps, 0);
        bytes_deinit(&streams[1].packet);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_a_packet_that_finds_no_next_chunk_leaves_no_trace) {
        Stream streams[SMB_NATIVE_WRITERS_MAX] = { 0 };
        static uint8_t packet[3 * PAGE];
        SmbWriter writer, other;
        Fixture fixture;

        fixture_init(&fixture, 8 * PAGE, PAGE);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 1, SMB_FULL_DROP, 0), 0);
        ck_assert_int_eq(smb_writer_init(&other, fixture.producer, 1, SMB_FULL_DROP, 0), 0);
        ck_assert_int_eq(smb_writer_write(&writer, packet, 100), 0);
        for (unsigned i = 0; i < 7; i++)
                ck_assert_int_eq(smb_writer_write(&other, packet, PAYLOAD - 2), 0);
        ck_assert_int_eq(smb_writer_write(&writer, packet, PAGE), SMB_WRITER_E_FULL);
        ck_assert_int_eq(smb_writer_write(&writer, packet, 200), 0); /* still has its chunk */
        smb_writer_deinit(&writer);
        smb_writer_deinit(&other);
        fixture_drain(&fixture, streams);
        ck_assert_uint_eq(streams[1].n_packets, 2);
        ck_assert_uint_eq(streams[1].n_given_up, 0);
        bytes_deinit(&streams[1].packet);
        bytes_deinit(&streams[2].packet);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_a_packet_that_stalls_in_its_middle_is_given_up_in_order) {
        Stream streams[SMB_NATIVE_WRITERS_MAX] = { 0 };
        static uint8_t packet[6 * PAGE];
        SmbWriter writer;
        Fixture fixture;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 1, SMB_FULL_STALL, STALL_NS),
                         0);
        ck_assert_int_eq(smb_writer_write(&writer, packet, 6 * PAGE), SMB_WRITER_E_FULL);
        fixture_drain(&fixture, streams);
        ck_assert_uint_eq(streams[1].n_given_up, 1);
        ck_assert_uint_eq(streams[1].n_packets, 0);
        ck_assert_int_eq(smb_writer_write(&writer, packet, 10), 0);
        smb_writer_deinit(&writer);
        fixture_drain(&fixture, streams);
        ck_assert_uint_eq(streams[1].n_packets, 1);
        ck_assert_uint_eq(streams[1].n_gaps, 0);
        bytes_deinit(&streams[1].packet);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_a_stalled_writer_gives_up_at_its_deadline) {
        static uint8_t packet[PAYLOAD - 2];
        struct timespec before, after;
        SmbWriter writer;
        Fixture fixture;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 1, SMB_FULL_STALL, STALL_NS),
                         0);
        for (unsigned i = 0; i < 4; i++)
                ck_assert_int_eq(smb_writer_write(&writer, packet, sizeof(packet)), 0);
        clock_gettime(CLOCK_MONOTONIC, &before);
        errno = 77;
        ck_assert_int_eq(smb_writer_write(&writer, packet, 10), SMB_WRITER_E_FULL);
        ck_assert_int_eq(errno, 77);
        clock_gettime(CLOCK_MONOTONIC, &after);
        /* And does not wait again before it got something. */
        writer.stall_ns = LONG_NS;
        ck_assert_int_eq(smb_writer_write(&writer, packet, 10), SMB_WRITER_E_FULL);
        ck_assert_int_ge((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec -
                                 before.tv_nsec,
                         (long)STALL_NS);
        ck_assert_uint_gt(fixture_rings(&fixture), 0); /* it asked before it waited */
        smb_writer_deinit(&writer);
        fixture_deinit(&fixture);
}
END_TEST

static void *drain_when_someone_waits(void *userdata) {
        Stream streams[SMB_NATIVE_WRITERS_MAX] = { 0 };
        Fixture *fixture = userdata;

        while (atomic_load(&fixture->service.control->n_waiting) == 0)
                sched_yield();
        fixture_drain(fixture, streams);
        bytes_deinit(&streams[1].packet);
        return NULL;
}

START_TEST(test_a_stalled_writer_wakes_when_a_chunk_is_released) {
        static uint8_t packet[PAYLOAD - 2];
        pthread_t thread;
        SmbWriter writer;
        Fixture fixture;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 1, SMB_FULL_STALL, LONG_NS), 0);
        for (unsigned i = 0; i < 4; i++)
                ck_assert_int_eq(smb_writer_write(&writer, packet, sizeof(packet)), 0);
        ck_assert_int_eq(pthread_create(&thread, NULL, drain_when_someone_waits, &fixture), 0);
        ck_assert_int_eq(smb_writer_write(&writer, packet, 10), 0);
        pthread_join(thread, NULL);
        smb_writer_deinit(&writer);
        fixture_deinit(&fixture);
}
END_TEST

static void *close_when_someone_waits(void *userdata) {
        Fixture *fixture = userdata;

        while (atomic_load(&fixture->service.control->n_waiting) == 0)
                sched_yield();
        smb_producer_close(fixture->producer);
        return NULL;
}

START_TEST(test_closing_wakes_stalled_writers_and_makes_all_drop) {
        static uint8_t packet[PAYLOAD - 2];
        pthread_t thread;
        SmbWriter writer;
        Fixture fixture;

        fixture_init(&fixture, 4 * PAGE, PAGE);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 1, SMB_FULL_STALL, LONG_NS), 0);
        for (unsigned i = 0; i < 4; i++)
                ck_assert_int_eq(smb_writer_write(&writer, packet, sizeof(packet)), 0);
        ck_assert_int_eq(pthread_create(&thread, NULL, close_when_someone_waits, &fixture), 0);
        ck_assert_int_eq(smb_writer_write(&writer, packet, 10), SMB_WRITER_E_CLOSED);
        pthread_join(thread, NULL);
        ck_assert_int_eq(smb_writer_write(&writer, packet, 10), SMB_WRITER_E_CLOSED);
        ck_assert_uint_eq(smb_n_dropped(&fixture.service), 0);
        smb_writer_deinit(&writer);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_only_the_first_commit_to_a_sleeping_service_rings) {
        Stream streams[SMB_NATIVE_WRITERS_MAX] = { 0 };
        SmbWriter writer;
        Fixture fixture;

        fixture_init(&fixture, N_PAGES * PAGE, PAGE);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 1, SMB_FULL_DROP, 0), 0);
        ck_assert(smb_prepare_sleep(&fixture.service));
        for (unsigned i = 0; i < 3; i++) {
                ck_assert_int_eq(smb_writer_write(&writer, "x", 1), 0);
                ck_assert_uint_eq(fixture_rings(&fixture), 0); /* not committed */
                smb_writer_flush(&writer);
                ck_assert_uint_eq(fixture_rings(&fixture), i == 0);
        }
        ck_assert(!smb_prepare_sleep(&fixture.service)); /* something came in */
        ck_assert_uint_eq(fixture_drain(&fixture, streams), 3);
        ck_assert(smb_prepare_sleep(&fixture.service));
        smb_wake(&fixture.service);
        ck_assert_int_eq(smb_writer_write(&writer, "x", 1), 0);
        smb_writer_flush(&writer);
        ck_assert_uint_eq(fixture_rings(&fixture), 0);
        smb_writer_deinit(&writer);
        bytes_deinit(&streams[1].packet);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_a_quarter_full_memory_rings_even_an_awake_service_once) {
        Stream streams[SMB_NATIVE_WRITERS_MAX] = { 0 };
        SmbWriter writer;
        Fixture fixture;

        fixture_init(&fixture, N_PAGES * PAGE, PAGE);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 1, SMB_FULL_DROP, 0), 0);
        for (unsigned lap = 0; lap < 3; lap++) {
                for (unsigned i = 0; i < N_PAGES; i++) {
                        ck_assert_int_eq(smb_writer_write(&writer, "x", 1), 0);
                        smb_writer_flush(&writer);
                        ck_assert_msg(fixture_rings(&fixture) == (i == N_PAGES / 4),
                                      "lap %u chunk %u",
                                      lap,
                                      i);
                }
                fixture_drain(&fixture, streams);
        }
        smb_writer_deinit(&writer);
        bytes_deinit(&streams[1].packet);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_a_full_ring_asks_for_a_rescan_and_nothing_is_lost) {
        Stream streams[SMB_NATIVE_WRITERS_MAX] = { 0 };
        const uint8_t patch[4] = { 1, 2, 3, 4 };
        SmbWriter writer;
        Fixture fixture;

        fixture_init(&fixture, N_PAGES * PAGE, PAGE);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 9, SMB_FULL_DROP, 0), 0);
        for (unsigned i = 0; i < fixture.service.n_slots; i++)
                ck_assert(smb_post_patch(fixture.producer, 7, i, 0, patch, false));
        ck_assert(!smb_post_patch(fixture.producer, 7, 0, 0, patch, false));
        ck_assert(!smb_take_rescan(&fixture.service));

        ck_assert_int_eq(smb_writer_write(&writer, "x", 1), 0);
        smb_writer_deinit(&writer);
        ck_assert(!smb_prepare_sleep(&fixture.service));
        ck_assert_uint_eq(fixture_drain(&fixture, streams), 1);
        ck_assert_uint_eq(streams[1].n_packets, 1);
        ck_assert(!smb_take_rescan(&fixture.service));
        bytes_deinit(&streams[1].packet);
        fixture_deinit(&fixture);
}
END_TEST

/* As no service leaves it that keeps to the rules: a thread must not turn round and round for that. */
START_TEST(test_a_ring_whose_slots_lie_is_a_full_one) {
        SmbWriter writer;
        Fixture fixture;

        fixture_init(&fixture, 8 * PAGE, PAGE);
        for (uint32_t i = 0; i < fixture.service.n_slots; i++)
                atomic_store(&fixture.service.control->slots[i].turn, 7 * fixture.service.n_slots);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 1, SMB_FULL_DROP, 0), 0);
        ck_assert_int_eq(smb_writer_write(&writer, "\x40\x01", 2), 0);
        smb_writer_flush(&writer);
        ck_assert(smb_take_rescan(&fixture.service));

        /* More than can be counted, as a sanitizer sees. */
        atomic_store(&fixture.service.control->tail, UINT32_C(0x80007fff));
        ck_assert_int_eq(smb_writer_write(&writer, "\x40\x01", 2), 0);
        smb_writer_flush(&writer);
        smb_writer_deinit(&writer);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_patches_arrive_as_posted) {
        const uint8_t data[4] = { 0x81, 0x82, 0x83, 0x04 };
        SmbCommit commit;
        Fixture fixture;

        fixture_init(&fixture, PAGE, PAGE);
        ck_assert(smb_prepare_sleep(&fixture.service));
        ck_assert(smb_post_patch(fixture.producer, 0x7fff, 0xdeadbeef, 0xabcd, data, true));
        ck_assert_uint_eq(fixture_rings(&fixture), 1);
        ck_assert(smb_post_patch(fixture.producer, 1, 2, 3, data, false));
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), 0);
        ck_assert(commit.is_patch && commit.more_patches);
        ck_assert_uint_eq(commit.writer_id, 0x7fff);
        ck_assert_uint_eq(commit.chunk_id, 0xdeadbeef);
        ck_assert_uint_eq(commit.offset, 0xabcd);
        ck_assert_int_eq(memcmp(commit.data, data, 4), 0);
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), 0);
        ck_assert(commit.is_patch && !commit.more_patches);
        ck_assert_uint_eq(commit.writer_id, 1);
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), SMB_E_EMPTY);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_writer_ids_run_out_and_come_back_behind_their_chunks) {
        static SmbWriter writers[SMB_NATIVE_WRITERS_MAX];
        static Stream streams[SMB_NATIVE_WRITERS_MAX];
        SmbWriter one_more;
        SmbCommit commit;
        Fixture fixture;
        uint16_t id;

        fixture_init(&fixture, N_PAGES * PAGE, PAGE);
        for (unsigned i = 1; i < SMB_NATIVE_WRITERS_MAX; i++)
                ck_assert_int_eq(
                        smb_writer_init(&writers[i], fixture.producer, 5, SMB_FULL_DROP, 0), 0);
        ck_assert_int_eq(smb_writer_init(&one_more, fixture.producer, 5, SMB_FULL_DROP, 0),
                         SMB_WRITER_E_NO_ID);

        id = writers[77].writer_id;
        ck_assert_int_eq(smb_writer_write(&writers[77], "x", 1), 0);
        smb_writer_deinit(&writers[77]);
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), 0);
        ck_assert_uint_eq(smb_writer_buffer(&fixture.service, id),
                          5); /* the chunk's buffer is known */
        ck_assert(fixture_take(&fixture, commit.page, commit.chunk, streams));
        ck_assert_int_eq(smb_next_commit(&fixture.service, &commit), SMB_E_EMPTY);
        ck_assert_uint_eq(smb_writer_buffer(&fixture.service, id), 0);

        ck_assert_int_eq(smb_writer_init(&one_more, fixture.producer, 5, SMB_FULL_DROP, 0), 0);
        ck_assert_uint_eq(one_more.writer_id, id);
        ck_assert_uint_eq(one_more.next_chunk_id, 1); /* goes on, so that nobody sees a gap */
        bytes_deinit(&streams[id].packet);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_a_retirement_that_found_the_ring_full_is_tried_again) {
        static SmbWriter writers[SMB_NATIVE_WRITERS_MAX];
        static Stream streams[SMB_NATIVE_WRITERS_MAX];
        SmbWriter one_more;
        Fixture fixture;

        fixture_init(&fixture, N_PAGES * PAGE, PAGE);
        for (unsigned i = 1; i < SMB_NATIVE_WRITERS_MAX; i++)
                ck_assert_int_eq(
                        smb_writer_init(&writers[i], fixture.producer, 5, SMB_FULL_DROP, 0), 0);
        for (unsigned i = 1; i <= 2 * fixture.service.n_slots; i++)
                smb_writer_deinit(&writers[i]);
        fixture_drain(&fixture, streams);
        for (unsigned i = 1; i <= fixture.service.n_slots; i++)
                ck_assert_int_eq(
                        smb_writer_init(&writers[i], fixture.producer, 5, SMB_FULL_DROP, 0), 0);
        ck_assert_int_eq(smb_writer_init(&one_more, fixture.producer, 5, SMB_FULL_DROP, 0),
                         SMB_WRITER_E_NO_ID);
        fixture_drain(&fixture, streams);
        ck_assert_int_eq(smb_writer_init(&one_more, fixture.producer, 5, SMB_FULL_DROP, 0), 0);
        fixture_deinit(&fixture);
}
END_TEST

/* All of them have said something, and none has returned its chunk. */
static void check_that_all_find_a_chunk(unsigned n_pages, unsigned n_writers, bool in_one_page) {
        static SmbWriter writers[SMB_NATIVE_WRITERS_MAX];
        static Stream streams[SMB_NATIVE_WRITERS_MAX];
        Fixture fixture;

        memset(streams, 0, sizeof(streams));
        fixture_init(&fixture, n_pages * PAGE, PAGE);
        for (unsigned i = 0; i < n_writers; i++)
                ck_assert_int_eq(
                        smb_writer_init(&writers[i], fixture.producer, 1, SMB_FULL_DROP, 0), 0);
        for (unsigned i = 0; i < n_writers; i++)
                ck_assert_int_eq(smb_writer_write(&writers[i], "a packet", 8), 0);
        ck_assert_uint_eq(smb_n_used_pages(&fixture.service) == 1, in_one_page);
        /* More than one chunk holds, and they have neighbours. */
        for (unsigned round = 0; round < 100; round++) {
                for (unsigned i = 0; i < n_writers; i++) {
                        ck_assert_int_eq(smb_writer_write(&writers[i], "one more packet", 15), 0);
                        if (i % 16 == 0)
                                fixture_drain(&fixture, streams);
                }
        }
        for (unsigned i = 0; i < n_writers; i++)
                smb_writer_deinit(&writers[i]);
        while (fixture_drain(&fixture, streams) > 0)
                ;
        for (unsigned i = 1; i <= n_writers; i++) {
                ck_assert_uint_eq(streams[i].n_packets, 101);
                ck_assert_uint_eq(streams[i].n_gaps, 0);
                bytes_deinit(&streams[i].packet);
        }
        ck_assert_uint_eq(smb_n_dropped(&fixture.service), 0);
        for (uint32_t page = 0; page < n_pages; page++)
                ck_assert_uint_eq(smb_page_chunks(&fixture.service, page), 0);
        fixture_deinit(&fixture);
}

START_TEST(test_each_of_many_writers_finds_a_chunk) {
        check_that_all_find_a_chunk(256, 1000, false);
        check_that_all_find_a_chunk(256, 3500, false);
        check_that_all_find_a_chunk(16, 200, false);
        check_that_all_find_a_chunk(4, 14, true);
}
END_TEST

START_TEST(test_few_writers_have_whole_pages) {
        SmbWriter writers[64];
        Fixture fixture;

        fixture_init(&fixture, 256 * PAGE, PAGE);
        for (unsigned i = 0; i < ARRAY_SIZE(writers); i++) {
                ck_assert_int_eq(
                        smb_writer_init(&writers[i], fixture.producer, 1, SMB_FULL_DROP, 0), 0);
                ck_assert_int_eq(smb_writer_write(&writers[i], "a packet", 8), 0);
                ck_assert_uint_eq(smb_page_chunks(&fixture.service, i), 1);
        }
        for (unsigned i = 0; i < ARRAY_SIZE(writers); i++)
                smb_writer_deinit(&writers[i]);
        fixture_deinit(&fixture);
}
END_TEST

static unsigned n_starved;

static void note_starving(SmbProducer *producer) {
        n_starved++;
}

START_TEST(test_starving_is_told_once_and_only_when_chunks_are_at_hand) {
        static uint8_t packet[PAYLOAD - 2];
        Stream streams[SMB_NATIVE_WRITERS_MAX] = { 0 };
        SmbWriter writers[15];
        Fixture fixture;

        fixture_init(&fixture, 1 * PAGE, PAGE);
        fixture.producer->starving = note_starving;
        for (unsigned i = 0; i < 15; i++)
                ck_assert_int_eq(
                        smb_writer_init(&writers[i], fixture.producer, 1, SMB_FULL_DROP, 0), 0);
        for (unsigned i = 0; i < 14; i++)
                ck_assert_int_eq(smb_writer_write(&writers[i], "a packet", 8), 0);
        ck_assert_uint_eq(n_starved, 0);
        for (unsigned i = 0; i < 3; i++)
                ck_assert_int_eq(smb_writer_write(&writers[14], "a packet", 8), SMB_WRITER_E_FULL);
        ck_assert_uint_eq(n_starved, 1);

        /* What a friend does then. */
        for (unsigned i = 0; i < 14; i++)
                smb_writer_flush(&writers[i]);
        ck_assert_int_eq(smb_writer_write(&writers[14], "a packet", 8), SMB_WRITER_E_FULL);
        fixture_drain(&fixture, streams);
        for (unsigned i = 0; i < 15; i++)
                ck_assert_int_eq(smb_writer_write(&writers[(i + 14) % 15], "a packet", 8),
                                 i < 14 ? 0 : SMB_WRITER_E_FULL);
        ck_assert_uint_eq(n_starved, 2);
        for (unsigned i = 0; i < 15; i++)
                smb_writer_deinit(&writers[i]);
        ck_assert_int_eq(smb_writer_init(&writers[0], fixture.producer, 1, SMB_FULL_DROP, 0), 0);
        /* All chunks wait for the service now: nobody else can help. */
        ck_assert_int_eq(smb_writer_write(&writers[0], packet, 8), SMB_WRITER_E_FULL);
        ck_assert_uint_eq(n_starved, 2);
        fixture_drain(&fixture, streams);
        smb_writer_deinit(&writers[0]);
        for (unsigned i = 0; i < SMB_NATIVE_WRITERS_MAX; i++)
                bytes_deinit(&streams[i].packet);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_deinit_is_harmless_on_zeros_and_twice) {
        SmbWriter writer = { 0 };
        Fixture fixture;

        smb_writer_deinit(&writer);
        fixture_init(&fixture, PAGE, PAGE);
        ck_assert_int_eq(smb_writer_init(&writer, fixture.producer, 1, SMB_FULL_DROP, 0), 0);
        smb_writer_deinit(&writer);
        smb_writer_deinit(&writer);
        ck_assert_uint_eq(atomic_load(&fixture.service.control->tail), 1);
        fixture_deinit(&fixture);
}
END_TEST

TEST_MAIN("smb-writer",
          test_packets_of_all_sizes_survive_fragmentation,
          test_many_laps_of_the_ring_lose_nothing,
          test_a_chunk_holds_no_more_fragments_than_can_be_counted,
          test_a_full_memory_drops_and_counts_and_marks,
          test_a_packet_that_finds_no_next_chunk_leaves_no_trace,
          test_a_packet_that_stalls_in_its_middle_is_given_up_in_order,
          test_a_stalled_writer_gives_up_at_its_deadline,
          test_a_stalled_writer_wakes_when_a_chunk_is_released,
          test_closing_wakes_stalled_writers_and_makes_all_drop,
          test_only_the_first_commit_to_a_sleeping_service_rings,
          test_a_quarter_full_memory_rings_even_an_awake_service_once,
          test_a_full_ring_asks_for_a_rescan_and_nothing_is_lost,
          test_a_ring_whose_slots_lie_is_a_full_one,
          test_patches_arrive_as_posted,
          test_writer_ids_run_out_and_come_back_behind_their_chunks,
          test_a_retirement_that_found_the_ring_full_is_tried_again,
          test_each_of_many_writers_finds_a_chunk,
          test_few_writers_have_whole_pages,
          test_starving_is_told_once_and_only_when_chunks_are_at_hand,
          test_deinit_is_harmless_on_zeros_and_twice)
