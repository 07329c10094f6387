/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Packets that are larger than a batch of envelopes are read like others, in their order, wherever the import stops. */

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <zstd.h>

#include "trace/import-envelope.h"
#include "trace/trace-import.h"
#include "trace/trace-packets.h"

#define BYTES_MAX (UINT64_C(64) << 20)
#define N_EVENTS  200

/* Around the limit, far above it, and more than the reader reads at a time. */
static const size_t sizes[] = { 100,
                                IMPORT_ENVELOPE_BYTES - 200,
                                IMPORT_ENVELOPE_BYTES,
                                IMPORT_ENVELOPE_BYTES + 1,
                                200000,
                                300000 };

/* The name of an event is one letter, many times. */
static char letter_of(size_t i) {
        return (char)('A' + i % 26);
}

static size_t size_of(size_t i) {
        return i % 4 ? i : sizes[i / 4 % ARRAY_SIZE(sizes)];
}

static void put_event(WireWriter *w, size_t i) {
        static char name[300000];
        size_t n = size_of(i), packet = wire_begin(w, 1), event;

        memset(name, letter_of(i), n);
        wire_put_uint(w, 8, 2000 + i);
        event = wire_begin(w, 11);
        wire_put_uint(w, 9, 3);
        wire_put_uint(w, 11, 5);
        wire_put_bytes(w, 23, name, n);
        wire_end(w, event);
        wire_put_uint(w, 10, 3);
        wire_end(w, packet);
}

typedef struct Large {
        uint8_t memory[6u << 20];
        uint8_t packed[6u << 20];
        WireWriter writer;
} Large;

static Large *large_new(void) {
        Large *large = calloc(1, sizeof(*large));

        ck_assert_ptr_nonnull(large);
        wire_writer_init(&large->writer, large->memory, sizeof(large->memory));
        for (size_t i = 0; i < N_EVENTS; i++)
                put_event(&large->writer, i);
        ck_assert(!wire_writer_failed(&large->writer));
        return large;
}

/* All packets in one that is compressed. */
static int large_packed_fd(Large *large) {
        const size_t n_memory = wire_writer_size(&large->writer);
        size_t n = ZSTD_compress(large->packed, sizeof(large->packed), large->memory, n_memory, 1);
        uint8_t bytes[64u << 10];
        size_t packet;
        WireWriter w;

        ck_assert(!ZSTD_isError(n));
        wire_writer_init(&w, bytes, sizeof(bytes));
        packet = wire_begin(&w, 1);
        wire_put_bytes(&w, 133, large->packed, n);
        wire_end(&w, packet);
        ck_assert(!wire_writer_failed(&w));
        return trace_memfd(bytes, wire_writer_size(&w));
}

static int large_fd(Large *large) {
        return trace_memfd(large->memory, wire_writer_size(&large->writer));
}

static void check_rows(const TraceStore *store) {
        const TraceTable *slices = &store->tables[TRACE_TABLE_SLICE];

        ck_assert_uint_eq(slices->n, N_EVENTS);
        for (uint32_t i = 0; i < N_EVENTS; i++) {
                uint32_t name = trace_table_get(slices, SLICE_NAME, i);
                const char *text = trace_pool_text(&store->pool, name);
                size_t n = MIN(size_of(i), (size_t)TRACE_POOL_TEXT_MAX);

                ck_assert_int_eq(trace_table_i64(slices, SLICE_TS, i), 2000 + i);
                ck_assert_uint_eq(trace_pool_length(&store->pool, name), n);
                for (size_t k = 0; k < n; k++)
                        if (text[k] != letter_of(i))
                                ck_abort_msg("event %u, byte %zu: %c", i, k, text[k]);
        }
}

static void check_file(int fd) {
        _cleanup_(trace_store_freep) TraceStore *store = NULL;

        ck_assert_int_eq(trace_import(&store, fd, TRACE_PART_EVENTS, BYTES_MAX), 0);
        close(fd);
        check_rows(store);
}

START_TEST(test_large_packets_are_read_in_their_order) {
        Large *large = large_new();

        check_file(large_fd(large));
        check_file(large_packed_fd(large));
        free(large);
}
END_TEST

/* Then no thread reads ahead. */
START_TEST(test_one_cpu_is_enough) {
        Large *large = large_new();
        cpu_set_t before, one;
        int cpu;

        ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
        for (cpu = 0; !CPU_ISSET(cpu, &before); cpu++)
                ;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
        check_file(large_fd(large));
        check_file(large_packed_fd(large));
        ck_assert_int_eq(sched_setaffinity(0, sizeof(before), &before), 0);
        free(large);
}
END_TEST

/* Counts down to the moment when the import is stopped. */
static bool stops_at_zero(void *user_data) {
        unsigned *n_left = user_data;

        return (*n_left)-- == 0;
}

/* Whatever is lent at that time: it ends, and nobody waits for anybody. */
START_TEST(test_it_can_be_stopped_at_any_packet) {
        Large *large = large_new();
        unsigned n_stopped = 0;
        int r = -ECANCELED;

        for (unsigned n = 0; r == -ECANCELED; n++) {
                _cleanup_(trace_store_freep) TraceStore *store = NULL;
                unsigned n_left = n;
                const TraceImportOptions options = { .parts = TRACE_PART_EVENTS,
                                                     .n_bytes_max = BYTES_MAX,
                                                     .stops = stops_at_zero,
                                                     .user_data = &n_left };
                int fd = large_fd(large);

                r = trace_import_files(&store, &fd, 1, &options);
                close(fd);
                n_stopped += r == -ECANCELED;
        }
        ck_assert_int_eq(r, 0);
        ck_assert_uint_gt(n_stopped, 3);
        free(large);
}
END_TEST

static unsigned count_threads(void) {
        DIR *tasks = opendir("/proc/self/task");
        unsigned n = 0;

        ck_assert_ptr_nonnull(tasks);
        while (readdir(tasks))
                n++;
        closedir(tasks);
        return n;
}

static bool stops_where_threads_are_counted(void *user_data) {
        unsigned *n_threads = user_data;

        *n_threads = count_threads();
        return true;
}

/* How many threads there are while the first n_bytes are read. */
static unsigned count_threads_of_import(Large *large, size_t n_bytes) {
        unsigned n_threads = 0;
        const TraceImportOptions options = { .parts = TRACE_PART_EVENTS,
                                             .n_bytes_max = BYTES_MAX,
                                             .stops = stops_where_threads_are_counted,
                                             .user_data = &n_threads };
        int fd = trace_memfd(large->memory, n_bytes);
        TraceStore *store;

        ck_assert_int_eq(trace_import_files(&store, &fd, 1, &options), -ECANCELED);
        close(fd);
        return n_threads;
}

START_TEST(test_a_small_file_needs_no_thread) {
        const unsigned n_threads = count_threads();
        Large *large = large_new();
        cpu_set_t cpus;

        ck_assert_uint_eq(count_threads_of_import(large, 100000), n_threads);
        ck_assert_int_eq(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
        ck_assert_uint_eq(count_threads_of_import(large, 2000000),
                          n_threads + (CPU_COUNT(&cpus) > 1));
        free(large);
}
END_TEST

/* Not all of it fits in memory, so it ends before the file does. */
START_TEST(test_the_memory_limit_may_be_reached_at_any_packet) {
        Large *large = large_new();

        for (uint64_t n_bytes_max = 1000; n_bytes_max < 6000; n_bytes_max += 100) {
                _cleanup_(trace_store_freep) TraceStore *store = NULL;
                int fd = large_fd(large);

                ck_assert_int_eq(trace_import(&store, fd, TRACE_PART_EVENTS, n_bytes_max), 0);
                ck_assert_uint_le(store->tables[TRACE_TABLE_SLICE].n, N_EVENTS);
                close(fd);
        }
        free(large);
}
END_TEST

/* The threads of other tests may not be counted, so that one comes first. */
TEST_MAIN("trace-import-large",
          test_a_small_file_needs_no_thread,
          test_large_packets_are_read_in_their_order,
          test_one_cpu_is_enough,
          test_it_can_be_stopped_at_any_packet,
          test_the_memory_limit_may_be_reached_at_any_packet)
