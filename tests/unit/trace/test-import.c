/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A file becomes the tables that are asked for, in the order of its times. */

#include <errno.h>
#include <math.h>

#include "trace/trace-import.h"
#include "trace/trace-packets.h"

#define BYTES_MAX (UINT64_C(64) << 20)

static TraceStore *store_of(const TraceBuilder *builder, unsigned parts) {
        int fd = trace_builder_fd(builder, SIZE_MAX);
        TraceStore *store;

        ck_assert_int_eq(trace_import(&store, fd, parts, BYTES_MAX), 0);
        close(fd);
        return store;
}

static size_t n_rows(const TraceStore *store, TraceTableId table) {
        return store->tables[table].n;
}

static int64_t stat_of(const TraceStore *store, const char *name) {
        const TraceTable *table = &store->tables[TRACE_TABLE_STAT];
        uint32_t number = trace_pool_find(&store->pool, name, strlen(name));

        for (uint32_t row = 0; row < table->n; row++)
                if (trace_table_get(table, STAT_NAME, row) == number)
                        return trace_table_i64(table, STAT_VALUE, row);
        return -1;
}

/* Two slices, one in the other, and two switches. */
static TraceBuilder *builder_usual(void) {
        TraceBuilder *builder = trace_builder_new();

        trace_clock(builder);
        trace_sequence_start(builder, 3, 77, 5);
        trace_thread_track(builder, 3, 5, 77, 78, "painter");
        trace_track_event(builder, 3, 2000, 1, 0);
        trace_track_event(builder, 3, 2100, 1, 0);
        trace_track_event(builder, 3, 2300, 2, 0);
        trace_track_event(builder, 3, 2600, 2, 0);
        trace_compact_sched(builder, 0, 2000, 78, "painter", 500, false);
        return builder;
}

START_TEST(test_slices_have_their_thread) {
        TraceBuilder *builder = builder_usual();
        _cleanup_(trace_store_freep) TraceStore *store = store_of(builder, TRACE_PART_ALL);
        const TraceTable *slices = &store->tables[TRACE_TABLE_SLICE];
        const TraceTable *tracks = &store->tables[TRACE_TABLE_TRACK];
        const TraceTable *threads = &store->tables[TRACE_TABLE_THREAD];
        uint32_t utid;

        ck_assert_uint_eq(slices->n, 2);
        ck_assert_int_eq(trace_table_i64(slices, SLICE_TS, 0), 2000);
        ck_assert_int_eq(trace_table_i64(slices, SLICE_DUR, 0), 600);
        ck_assert_int_eq(trace_table_i64(slices, SLICE_DUR, 1), 200);
        ck_assert_uint_eq(trace_table_get(slices, SLICE_PARENT, 1), 0);
        utid = trace_table_get(tracks, TRACK_UTID, trace_table_get(slices, SLICE_TRACK, 0));
        ck_assert_uint_eq(trace_table_get(threads, THREAD_TID, utid), 78);
        ck_assert_str_eq(trace_pool_text(&store->pool, trace_table_get(threads, THREAD_NAME, utid)),
                         "painter");
        free(builder);
}
END_TEST

START_TEST(test_only_what_is_asked_for_is_filled) {
        TraceBuilder *builder = builder_usual();
        TraceStore *store = store_of(builder, TRACE_PART_SCHED);

        ck_assert_uint_eq(n_rows(store, TRACE_TABLE_SCHED), 1);
        ck_assert_uint_eq(n_rows(store, TRACE_TABLE_SLICE), 0);
        ck_assert_uint_eq(n_rows(store, TRACE_TABLE_STATE), 0);
        trace_store_free(store);
        store = store_of(builder, TRACE_PART_EVENTS);
        ck_assert_uint_eq(n_rows(store, TRACE_TABLE_SLICE), 2);
        ck_assert_uint_eq(n_rows(store, TRACE_TABLE_SCHED), 0);
        trace_store_free(store);
        free(builder);
}
END_TEST

/* A bundle in which 78 runs from 2000 on, and 79 and 80 are woken before and after that. */
static void put_wakings(TraceBuilder *builder) {
        static const uint64_t columns[][3] = { { 1, 2000, 10 }, { 2, 0, 1 },      { 3, 78, 0 },
                                               { 4, 120, 120 }, { 7, 1990, 20 },  { 8, 79, 80 },
                                               { 9, 0, 0 },     { 10, 120, 120 }, { 12, 0, 0 } };
        WireWriter *w = trace_packet(builder, 0);
        size_t bundle = wire_begin(w, 1), compact = wire_begin(w, 4), column;

        for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
                column = wire_begin(w, (uint32_t)columns[i][0]);
                wire_put_varint(w, columns[i][1]);
                wire_put_varint(w, columns[i][2]);
                wire_end(w, column);
        }
        wire_end(w, compact);
        wire_end(w, bundle);
        trace_packet_end(builder, 2, 55, 0);
}

static bool has_thread(const TraceStore *store, int32_t tid) {
        const TraceTable *threads = &store->tables[TRACE_TABLE_THREAD];

        for (uint32_t utid = 0; utid < threads->n; utid++)
                if (trace_table_get(threads, THREAD_TID, utid) == (uint32_t)tid)
                        return true;
        return false;
}

START_TEST(test_threads_that_were_only_woken_are_there_whatever_else_is_asked) {
        static const unsigned parts[] = { TRACE_PART_THREADS,
                                          TRACE_PART_THREADS | TRACE_PART_SCHED,
                                          TRACE_PART_THREADS | TRACE_PART_STATES,
                                          TRACE_PART_ALL };
        TraceBuilder *builder = trace_builder_new();

        trace_clock(builder);
        put_wakings(builder);
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                _cleanup_(trace_store_freep) TraceStore *store = store_of(builder, parts[i]);

                ck_assert(has_thread(store, 78) && has_thread(store, 80));
                ck_assert(!has_thread(store, 79)); /* before the first switch */
        }
        free(builder);
}
END_TEST

START_TEST(test_packets_behind_a_loss_wait_for_a_new_start) {
        TraceBuilder *builder = builder_usual();
        TraceStore *store;
        WireWriter *w;
        size_t event;

        w = trace_packet(builder, 3000);
        wire_put_uint(w, 13, 2); /* needs what was told */
        event = wire_begin(w, 11);
        wire_put_uint(w, 9, 3);
        wire_put_uint(w, 10, 1);
        wire_end(w, event);
        trace_packet_end(builder, 3, 77, PACKET_LOSS_PRESENT);
        store = store_of(builder, TRACE_PART_EVENTS);
        ck_assert_uint_eq(n_rows(store, TRACE_TABLE_SLICE), 2);
        ck_assert_int_eq(stat_of(store, "tokenizer_skipped_packets"), 1);
        ck_assert_int_eq(stat_of(store, "tokenizer_packets_after_loss"), 1);
        trace_store_free(store);
        free(builder);
}
END_TEST

START_TEST(test_a_time_of_an_unknown_clock_is_counted) {
        TraceBuilder *builder = builder_usual();
        TraceStore *store;
        WireWriter *w = trace_packet(builder, 3000);
        size_t event;

        wire_put_uint(w, 58, 42);
        event = wire_begin(w, 11);
        wire_put_uint(w, 9, 3);
        wire_end(w, event);
        trace_packet_end(builder, 3, 77, 0);
        store = store_of(builder, TRACE_PART_EVENTS);
        ck_assert_uint_eq(n_rows(store, TRACE_TABLE_SLICE), 2);
        ck_assert_int_eq(stat_of(store, "clock_sync_failure"), 1);
        trace_store_free(store);
        free(builder);
}
END_TEST

START_TEST(test_a_clock_of_the_machine_is_converted) {
        TraceBuilder *builder = builder_usual();
        TraceStore *store;
        WireWriter *w = trace_packet(builder, 900); /* MONOTONIC is 600 behind */
        size_t event;

        wire_put_uint(w, 58, 3);
        event = wire_begin(w, 11);
        wire_put_uint(w, 9, 3);
        wire_put_uint(w, 10, 1);
        wire_end(w, event);
        trace_packet_end(builder, 3, 77, 0);
        store = store_of(builder, TRACE_PART_EVENTS);
        ck_assert_uint_eq(n_rows(store, TRACE_TABLE_SLICE), 3);
        ck_assert_int_eq(trace_table_i64(&store->tables[TRACE_TABLE_SLICE], SLICE_TS, 0), 1500);
        trace_store_free(store);
        free(builder);
}
END_TEST

static bool stops_at_once(void *user_data) {
        ++*(unsigned *)user_data;
        return true;
}

START_TEST(test_it_stops_when_it_is_told_to) {
        TraceBuilder *builder = builder_usual();
        unsigned n_asked = 0;
        const TraceImportOptions options = { .parts = TRACE_PART_ALL,
                                             .n_bytes_max = BYTES_MAX,
                                             .stops = stops_at_once,
                                             .user_data = &n_asked };
        int fd = trace_builder_fd(builder, SIZE_MAX);
        TraceStore *store = NULL;

        ck_assert_int_eq(trace_import_files(&store, &fd, 1, &options), -ECANCELED);
        ck_assert_ptr_null(store);
        ck_assert_uint_eq(n_asked, 1);
        close(fd);
        free(builder);
}
END_TEST

/* The value of the only row of a counter; NAN if there is no such counter. */
static double counter_of(const TraceStore *store, const char *name) {
        const TraceTable *tracks = &store->tables[TRACE_TABLE_TRACK];
        const TraceTable *counters = &store->tables[TRACE_TABLE_COUNTER];
        uint32_t number = trace_pool_find(&store->pool, name, strlen(name));
        double value = NAN;

        for (uint32_t row = 0; number && row < counters->n; row++)
                if (trace_table_get(tracks,
                                    TRACK_NAME,
                                    trace_table_get(counters, COUNTER_TRACK, row)) == number) {
                        ck_assert(isnan(value));
                        value = trace_table_double(counters, COUNTER_VALUE, row);
                }
        return value;
}

static void put_battery(TraceBuilder *builder, const char *name, int64_t current_ua) {
        static const float percent = 87.5f;
        WireWriter *w = trace_packet(builder, 2000);
        size_t begin = wire_begin(w, 38);

        *w->at++ = 2 << 3 | WIRE_FIXED32;
        memcpy(w->at, &percent, sizeof(percent));
        w->at += sizeof(percent);
        wire_put_int(w, 3, current_ua);
        wire_put_int(w, 6, 40000000); /* µWh */
        wire_put_int(w, 7, 12500000); /* µV */
        if (name)
                wire_put_string(w, 5, name);
        wire_end(w, begin);
        trace_packet_end(builder, 3, 77, 0);
}

START_TEST(test_batteries_are_counters) {
        TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_store_freep) TraceStore *store = NULL;

        trace_clock(builder);
        put_battery(builder, NULL, -2000000);
        put_battery(builder, "BAT1", 1000000);
        store = store_of(builder, TRACE_PART_EVENTS);
        ck_assert_double_eq(counter_of(store, "batt.capacity_pct"), 87.5);
        ck_assert_double_eq(counter_of(store, "batt.current_ua"), -2000000);
        ck_assert_double_eq(counter_of(store, "batt.voltage_uv"), 12500000);
        ck_assert_double_eq(counter_of(store, "batt.charge_uah"), 3200000);
        ck_assert_double_eq(counter_of(store, "batt.power_mw"), 25000);
        ck_assert_double_eq(counter_of(store, "batt.BAT1.current_ua"), 1000000);
        ck_assert_double_eq(counter_of(store, "batt.BAT1.power_mw"), 12500);
        ck_assert(isnan(counter_of(store, "batt.current.avg_ua")));
        free(builder);
}
END_TEST

/* `name`: NULL in what a session says later of the same counter. */
static void
put_rail(TraceBuilder *builder, uint64_t at_ns, uint64_t session, const char *name, uint64_t uws) {
        WireWriter *w = trace_packet(builder, at_ns);
        size_t begin = wire_begin(w, 40), inner = wire_begin(w, 2);

        wire_put_uint(w, 1, 7);
        wire_put_uint(w, 3, uws);
        wire_end(w, inner);
        if (name) {
                inner = wire_begin(w, 1);
                wire_put_uint(w, 1, 7);
                wire_put_string(w, 2, name);
                wire_end(w, inner);
        }
        wire_put_uint(w, 3, session);
        wire_end(w, begin);
        trace_packet_end(builder, 3, 77, 0);
}

START_TEST(test_energy_is_a_counter_of_its_session) {
        TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_store_freep) TraceStore *store = NULL;

        trace_clock(builder);
        put_rail(builder, 2000, 1, "package-0", 1000);
        put_rail(builder, 2001, 2, "dram", 2000);
        put_rail(builder, 2002, 3, NULL, 3000);
        store = store_of(builder, TRACE_PART_EVENTS);
        ck_assert_double_eq(counter_of(store, "power.package-0_uws"), 1000);
        ck_assert_double_eq(counter_of(store, "power.dram_uws"), 2000);
        ck_assert_uint_eq(n_rows(store, TRACE_TABLE_COUNTER), 2);
        ck_assert_int_eq(stat_of(store, "power_rail_unknown_index"), 1);
        free(builder);
}
END_TEST

TEST_MAIN("trace-import",
          test_slices_have_their_thread,
          test_only_what_is_asked_for_is_filled,
          test_threads_that_were_only_woken_are_there_whatever_else_is_asked,
          test_packets_behind_a_loss_wait_for_a_new_start,
          test_a_time_of_an_unknown_clock_is_counted,
          test_a_clock_of_the_machine_is_converted,
          test_it_stops_when_it_is_told_to,
          test_batteries_are_counters,
          test_energy_is_a_counter_of_its_session)
