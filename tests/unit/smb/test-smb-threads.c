/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Meant to be run under ThreadSanitizer, too: see HACKING.md. */

#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "smb-fixture.h"

#define N_THREADS 4
#define N_MANY    40 /* threads */
#define N_PACKETS 4000
#define N_LIVES   40
#define STALL_NS  UINT64_C(20000000000)

typedef struct Load {
        Fixture fixture;
        SmbFullPolicy policy;
        unsigned n_threads;
        unsigned n_packets; /* of each thread */
        unsigned n_lives;   /* writers that each thread uses, one after the other */
        _Atomic unsigned n_running;
        _Atomic unsigned n_full;
} Load;

/* Packets say who wrote them and how many came before. */
typedef struct Header {
        uint16_t writer_id;
        uint16_t n_bytes;
        uint32_t number;
} Header;

static void write_packets(Load *load, unsigned n_packets, unsigned seed) {
        uint8_t packet[3000] = { 0 };
        SmbWriter writer;

        while (smb_writer_init(&writer, load->fixture.producer, 1, load->policy, STALL_NS) != 0)
                sched_yield();
        for (uint32_t i = 0; i < n_packets; i++) {
                Header header = { .writer_id = writer.writer_id, .number = i };

                seed = seed * 1103515245 + 12345;
                header.n_bytes = (uint16_t)(sizeof(header) + (seed >> 16) % (i % 10 ? 100 : 2900));
                memset(packet, (int)(uint8_t)i, header.n_bytes);
                memcpy(packet, &header, sizeof(header));
                if (smb_writer_write(&writer, packet, header.n_bytes) != 0)
                        load->n_full++;
        }
        smb_writer_deinit(&writer);
}

static void *run_writer(void *userdata) {
        Load *load = userdata;

        for (unsigned i = 0; i < load->n_lives; i++)
                write_packets(load, load->n_packets / load->n_lives, i);
        load->n_running--;
        return NULL;
}

static void check_packet(Stream *stream, const uint8_t *packet, size_t n_bytes) {
        Header header;

        ck_assert_uint_ge(n_bytes, sizeof(header));
        memcpy(&header, packet, sizeof(header));
        ck_assert_uint_eq(header.n_bytes, n_bytes);
        if (header.number == 0)
                stream->user = 0;
        ck_assert_uint_ge(header.number, stream->user); /* some may be dropped, none swapped */
        stream->user = header.number + 1;
        for (size_t i = sizeof(header); i < n_bytes; i++)
                stream_assert(packet[i] == (uint8_t)header.number);
}

/* The service's loop: sleeps on the doorbell whenever there is nothing, so a lost ring hangs the
 * test. */
static void serve(Load *load, Stream streams[]) {
        struct pollfd doorbell = { .fd = load->fixture.doorbell_fd, .events = POLLIN };

        while (load->n_running > 0) {
                if (fixture_drain(&load->fixture, streams) > 0)
                        continue;
                if (!smb_prepare_sleep(&load->fixture.service))
                        continue;
                poll(&doorbell, 1, load->n_running > 0 ? 100 : 0);
                fixture_rings(&load->fixture);
                smb_wake(&load->fixture.service);
        }
        while (fixture_drain(&load->fixture, streams) > 0)
                ;
}

static void run_load(Load *load, size_t pages_bytes, unsigned *ret_packets) {
        static Stream streams[SMB_NATIVE_WRITERS_MAX];
        pthread_t threads[N_MANY];

        memset(streams, 0, sizeof(streams));
        for (size_t i = 0; i < SMB_NATIVE_WRITERS_MAX; i++)
                streams[i].on_packet = check_packet;
        fixture_init(&load->fixture, pages_bytes, SMB_PAGE_BYTES_MIN);
        load->n_running = load->n_threads;
        for (unsigned i = 0; i < load->n_threads; i++)
                ck_assert_int_eq(pthread_create(&threads[i], NULL, run_writer, load), 0);
        serve(load, streams);
        for (unsigned i = 0; i < load->n_threads; i++)
                pthread_join(threads[i], NULL);

        *ret_packets = 0;
        for (size_t i = 0; i < SMB_NATIVE_WRITERS_MAX; i++) {
                *ret_packets += streams[i].n_packets;
                ck_assert_uint_eq(streams[i].n_gaps, 0);
                bytes_deinit(&streams[i].packet);
        }
        ck_assert_uint_eq(smb_n_dropped(&load->fixture.service), load->n_full);
        ck_assert_uint_eq(atomic_load(&load->fixture.producer->n_acquired),
                          atomic_load(&load->fixture.service.control->n_freed));
        fixture_deinit(&load->fixture);
}

START_TEST(test_stalling_threads_lose_nothing) {
        Load load = { .policy = SMB_FULL_STALL,
                      .n_threads = N_THREADS,
                      .n_packets = N_PACKETS,
                      .n_lives = 1 };
        unsigned n_packets;

        run_load(&load, 8 * SMB_PAGE_BYTES_MIN, &n_packets);
        ck_assert_uint_eq(load.n_full, 0);
        ck_assert_uint_eq(n_packets, N_THREADS * N_PACKETS);
}
END_TEST

START_TEST(test_dropping_threads_lose_exactly_what_is_counted) {
        Load load = { .policy = SMB_FULL_DROP,
                      .n_threads = N_THREADS,
                      .n_packets = N_PACKETS,
                      .n_lives = 1 };
        unsigned n_packets;

        run_load(&load, 8 * SMB_PAGE_BYTES_MIN, &n_packets);
        ck_assert_uint_eq(n_packets + load.n_full, N_THREADS * N_PACKETS);
}
END_TEST

START_TEST(test_threads_that_come_and_go_lose_nothing) {
        Load load = { .policy = SMB_FULL_STALL,
                      .n_threads = N_THREADS,
                      .n_packets = N_PACKETS,
                      .n_lives = N_LIVES };
        unsigned n_packets;

        run_load(&load, 16 * SMB_PAGE_BYTES_MIN, &n_packets);
        ck_assert_uint_eq(n_packets, N_THREADS * N_PACKETS);
}
END_TEST

/* Pages of 1, 2, 4, 7 and 14 chunks side by side: the number of writers goes up and down. */
START_TEST(test_many_threads_share_pages_and_lose_exactly_what_is_counted) {
        Load load = {
                .policy = SMB_FULL_DROP, .n_threads = N_MANY, .n_packets = 1000, .n_lives = 4
        };
        unsigned n_packets;

        run_load(&load, 12 * SMB_PAGE_BYTES_MIN, &n_packets);
        ck_assert_uint_eq(n_packets + load.n_full, N_MANY * load.n_packets);
}
END_TEST

START_TEST(test_many_threads_that_stall_lose_nothing) {
        Load load = {
                .policy = SMB_FULL_STALL, .n_threads = N_MANY, .n_packets = 1000, .n_lives = 4
        };
        unsigned n_packets;

        run_load(&load, 12 * SMB_PAGE_BYTES_MIN, &n_packets);
        ck_assert_uint_eq(n_packets, N_MANY * load.n_packets);
}
END_TEST

TEST_MAIN("smb-threads",
          test_stalling_threads_lose_nothing,
          test_dropping_threads_lose_exactly_what_is_counted,
          test_threads_that_come_and_go_lose_nothing,
          test_many_threads_share_pages_and_lose_exactly_what_is_counted,
          test_many_threads_that_stall_lose_nothing)
