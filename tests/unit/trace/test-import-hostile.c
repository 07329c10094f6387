/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whatever a file is: no crash, no silence, and no more memory than is allowed. */

#include <errno.h>
#include <sys/resource.h>

#include "trace/trace-import.h"
#include "trace/trace-packets.h"
#include "trace/trace-sequence.h"

#define BYTES_MAX   (UINT64_C(64) << 20)
#define N_SEQUENCES (TRACE_SEQUENCES_MAX + 10)

static TraceBuilder *builder_usual(void) {
        TraceBuilder *builder = trace_builder_new();

        trace_clock(builder);
        trace_sequence_start(builder, 3, 77, 5);
        trace_thread_track(builder, 3, 5, 77, 78, "painter");
        for (uint64_t at_ns = 2000; at_ns < 2010; at_ns++)
                trace_track_event(builder, 3, at_ns, at_ns % 2 ? 2 : 1, 0);
        trace_compact_sched(builder, 0, 2000, 78, "painter", 500, false);
        trace_stats(builder, 13, 4096);
        return builder;
}

static int64_t stat_of(const TraceStore *store, const char *name) {
        const TraceTable *table = &store->tables[TRACE_TABLE_STAT];
        uint32_t number = trace_pool_find(&store->pool, name, strlen(name));

        for (uint32_t row = 0; number && row < table->n; row++)
                if (trace_table_get(table, STAT_NAME, row) == number)
                        return trace_table_i64(table, STAT_VALUE, row);
        return 0;
}

/* Where packets end. */
static bool is_boundary(const TraceBuilder *builder, size_t at) {
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, builder->memory, wire_writer_size(&builder->writer));
        while (reader.at < builder->memory + at && wire_read(&reader, &field) > 0)
                ;
        return reader.at == builder->memory + at;
}

START_TEST(test_a_file_cut_anywhere_is_read_up_to_the_cut_and_says_so) {
        TraceBuilder *builder = builder_usual();
        size_t n_before = 0;

        for (size_t n = 1; n <= wire_writer_size(&builder->writer); n++) {
                _cleanup_(trace_store_freep) TraceStore *store = NULL;
                int fd = trace_builder_fd(builder, n);
                int r = trace_import(&store, fd, TRACE_PART_ALL, BYTES_MAX);

                close(fd);
                if (r == -EBADMSG) { /* not one packet is whole */
                        ck_assert_uint_eq(n_before, 0);
                        continue;
                }
                ck_assert_int_eq(r, 0);
                ck_assert_uint_ge(store->tables[TRACE_TABLE_SLICE].n, n_before);
                n_before = store->tables[TRACE_TABLE_SLICE].n;
                ck_assert_int_eq(stat_of(store, "trace_file_damaged"), !is_boundary(builder, n));
        }
        ck_assert_uint_eq(n_before, 5);
        free(builder);
}
END_TEST

START_TEST(test_garbage_leaves_consistent_tables) {
        TraceBuilder *builder = builder_usual();
        const size_t n = wire_writer_size(&builder->writer);
        uint8_t *bytes = malloc(n);
        uint64_t random = 42;

        for (unsigned round = 0; round < 3000; round++) {
                _cleanup_(trace_store_freep) TraceStore *store = NULL;
                int fd, r;

                memcpy(bytes, builder->memory, n);
                for (unsigned i = 0; i < 1 + round % 8; i++) {
                        random = random * 6364136223846793005u + 1442695040888963407u;
                        bytes[(random >> 33) % n] = (uint8_t)(random >> 20);
                }
                fd = trace_memfd(bytes, n);
                r = trace_import(&store, fd, TRACE_PART_ALL, BYTES_MAX);
                close(fd);
                ck_assert(r == 0 || r == -EBADMSG);
                for (uint32_t row = 0; r == 0 && row < store->tables[TRACE_TABLE_SLICE].n; row++)
                        ck_assert_uint_lt(trace_table_get(&store->tables[TRACE_TABLE_SLICE],
                                                          SLICE_TRACK,
                                                          row),
                                          store->tables[TRACE_TABLE_TRACK].n);
        }
        free(bytes);
        free(builder);
}
END_TEST

START_TEST(test_what_is_no_trace_is_told_apart) {
        static const uint8_t bytes[] = { 0x7f, 'E', 'L', 'F', 2, 1, 1, 0 };
        int fd = trace_memfd(bytes, sizeof(bytes));
        TraceStore *store;

        ck_assert_int_eq(trace_import(&store, fd, TRACE_PART_ALL, BYTES_MAX), -EBADMSG);
        close(fd);
        fd = trace_memfd(bytes, 0);
        ck_assert_int_eq(trace_import(&store, fd, TRACE_PART_ALL, BYTES_MAX), -EBADMSG);
        close(fd);
}
END_TEST

/* A packet of 200 MB, of which ten bytes are there. */
START_TEST(test_a_length_that_lies_costs_no_memory) {
        static const uint8_t bytes[] = { 0x0a, 0x80, 0x84, 0xaf, 0x5f, 0, 0, 0, 0, 0 };
        struct rusage before, after;
        TraceStore *store;
        int fd = trace_memfd(bytes, sizeof(bytes));

        getrusage(RUSAGE_SELF, &before);
        ck_assert_int_eq(trace_import(&store, fd, TRACE_PART_ALL, BYTES_MAX), -EBADMSG);
        getrusage(RUSAGE_SELF, &after);
        ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, 64 << 10);
        close(fd);
}
END_TEST

/* Such a time is left out, whatever kind of event has it, and counted. */
START_TEST(test_a_time_that_no_clock_can_have_is_counted) {
        static const uint64_t times[] = { 1000000, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX };
        TraceBuilder *builder = trace_builder_new();
        TraceStore *store;
        int fd;

        trace_sequence_start(builder, 3, 77, 5);
        trace_thread_track(builder, 3, 5, 77, 78, "painter");
        for (size_t i = 0; i < ARRAY_SIZE(times); i++)
                trace_track_event(builder, 3, times[i], i % 2 ? 2 : 1, 0);
        fd = trace_builder_fd(builder, SIZE_MAX);
        ck_assert_int_eq(trace_import(&store, fd, TRACE_PART_ALL, BYTES_MAX), 0);
        ck_assert_uint_eq(store->tables[TRACE_TABLE_SLICE].n, 1);
        ck_assert_int_eq(trace_table_i64(&store->tables[TRACE_TABLE_SLICE], SLICE_DUR, 0),
                         INT64_MAX - 1000000);
        ck_assert_int_eq(stat_of(store, "clock_sync_failure"), 2);
        trace_store_free(store);
        close(fd);
        free(builder);
}
END_TEST

/* More events than there is memory for: it stops, keeps what is there, and says so. */
START_TEST(test_the_memory_limit_holds_and_is_told) {
        TraceBuilder *builder = trace_builder_new();
        TraceStore *store;
        int fd;

        trace_clock(builder);
        trace_sequence_start(builder, 3, 77, 5);
        for (uint64_t i = 0; i < 20000; i++)
                trace_track_event(builder, 3, 2000 + i, 3, 0);
        fd = trace_builder_fd(builder, SIZE_MAX);
        ck_assert_int_eq(trace_import(&store, fd, TRACE_PART_EVENTS, 300000), 0);
        ck_assert(store->budget.is_over);
        ck_assert_int_eq(stat_of(store, "trace_memory_limit_reached"), 1);
        ck_assert_uint_gt(store->tables[TRACE_TABLE_SLICE].n, 0);
        ck_assert_uint_lt(store->tables[TRACE_TABLE_SLICE].n, 20000);
        ck_assert_uint_le(store->budget.n_bytes, 300000);
        trace_store_free(store);
        close(fd);
        free(builder);
}
END_TEST

/* A new sequence in each packet. */
START_TEST(test_sequences_are_bounded) {
        TraceBuilder *builder = calloc(1, sizeof(*builder));
        const size_t n_bytes = (N_SEQUENCES + 1) * 16;
        uint8_t *memory = malloc(n_bytes);
        TraceStore *store;
        int fd;

        wire_writer_init(&builder->writer, memory, n_bytes);
        for (uint32_t id = 1; id <= N_SEQUENCES; id++) {
                size_t packet = wire_begin(&builder->writer, 1);

                wire_put_uint(&builder->writer, 10, id);
                wire_end(&builder->writer, packet);
        }
        ck_assert(!wire_writer_failed(&builder->writer));
        fd = trace_memfd(memory, wire_writer_size(&builder->writer));
        ck_assert_int_eq(trace_import(&store, fd, TRACE_PART_ALL, BYTES_MAX), 0);
        ck_assert(store->budget.is_over);
        trace_store_free(store);
        close(fd);
        free(memory);
        free(builder);
}
END_TEST

/* Tracks that are in each other, and one that is in itself. */
START_TEST(test_tracks_in_a_circle_have_no_slices) {
        TraceBuilder *builder = trace_builder_new();
        TraceStore *store;
        int fd;

        trace_clock(builder);
        trace_sequence_start(builder, 3, 77, 5);
        trace_named_track(builder, 5, 6, "five", false);
        trace_named_track(builder, 6, 5, "six", false);
        trace_track_event(builder, 3, 2000, 3, 0);
        fd = trace_builder_fd(builder, SIZE_MAX);
        ck_assert_int_eq(trace_import(&store, fd, TRACE_PART_ALL, BYTES_MAX), 0);
        ck_assert_uint_eq(store->tables[TRACE_TABLE_SLICE].n, 0);
        trace_store_free(store);
        close(fd);
        free(builder);
}
END_TEST

/* A description of a thread that names a process as well, after more threads than there are processes. */
START_TEST(test_a_thread_is_not_taken_for_a_process) {
        TraceBuilder *builder = trace_builder_new();
        size_t track, owner;
        TraceStore *store;
        WireWriter *w;
        int fd;

        for (int32_t tid = 78; tid < 278; tid++)
                trace_thread_track(builder, 3, (uint64_t)tid, 77, tid, "one of many");
        w = trace_packet(builder, 0);
        track = wire_begin(w, 60);
        wire_put_uint(w, 1, 5);
        owner = wire_begin(w, 4);
        wire_put_int(w, 1, 77);
        wire_put_int(w, 2, 300);
        wire_put_string(w, 5, "last");
        wire_end(w, owner);
        owner = wire_begin(w, 3);
        wire_put_int(w, 1, 77);
        wire_put_string(w, 6, "nobody");
        wire_put_uint(w, 7, 12345);
        wire_end(w, owner);
        wire_end(w, track);
        trace_packet_end(builder, 3, 77, 0);
        fd = trace_builder_fd(builder, SIZE_MAX);
        ck_assert_int_eq(trace_import(&store, fd, TRACE_PART_ALL, BYTES_MAX), 0);
        ck_assert_uint_ne(trace_pool_find(&store->pool, "last", 4), 0);
        ck_assert_uint_eq(trace_pool_find(&store->pool, "nobody", 6), 0);
        trace_store_free(store);
        close(fd);
        free(builder);
}
END_TEST

TEST_MAIN("trace-import-hostile",
          test_a_file_cut_anywhere_is_read_up_to_the_cut_and_says_so,
          test_garbage_leaves_consistent_tables,
          test_what_is_no_trace_is_told_apart,
          test_a_length_that_lies_costs_no_memory,
          test_a_time_that_no_clock_can_have_is_counted,
          test_the_memory_limit_holds_and_is_told,
          test_sequences_are_bounded,
          test_tracks_in_a_circle_have_no_slices,
          test_a_thread_is_not_taken_for_a_process)
