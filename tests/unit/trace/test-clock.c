/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "trace/trace-clock.h"

#include "test.h"

#define SEQUENCE 3
#define BOOTTIME TRACE_CLOCK_BOOTTIME
#define MONO     TRACE_CLOCK_MONOTONIC

/* A snapshot of clocks with units of 1 ns: id, time, id, time. */
#define SNAPSHOT(clocks, ...)                                          \
        ({                                                             \
                const uint64_t _numbers[] = { __VA_ARGS__ };           \
                add(clocks, SEQUENCE, _numbers, ARRAY_SIZE(_numbers)); \
        })

static int add(TraceClocks *clocks, uint32_t sequence, const uint64_t *numbers, size_t n) {
        TraceClockReading readings[64] = { 0 };

        for (size_t i = 0; i < n / 2; i++) {
                readings[i].id = (uint32_t)numbers[2 * i];
                readings[i].timestamp = numbers[2 * i + 1];
        }
        return trace_clocks_add_snapshot(clocks, sequence, readings, n / 2);
}

static uint64_t convert(TraceClocks *clocks, uint32_t sequence, uint32_t id, uint64_t timestamp) {
        uint64_t ns;

        ck_assert_int_eq(trace_clocks_convert(clocks, &ns, sequence, id, timestamp), 0);
        return ns;
}

static int outcome(TraceClocks *clocks, uint32_t sequence, uint32_t id, uint64_t timestamp) {
        uint64_t ns;

        return trace_clocks_convert(clocks, &ns, sequence, id, timestamp);
}

START_TEST(test_time_of_the_boot_clock_needs_no_snapshot) {
        _cleanup_(trace_clocks_freep) TraceClocks *clocks = trace_clocks_new();

        ck_assert_uint_eq(convert(clocks, SEQUENCE, BOOTTIME, 17), 17);
        ck_assert_int_eq(outcome(clocks, SEQUENCE, MONO, 17), TRACE_CLOCK_E_UNKNOWN);
}
END_TEST

START_TEST(test_the_newest_snapshot_that_is_not_later_is_used) {
        _cleanup_(trace_clocks_freep) TraceClocks *clocks = trace_clocks_new();
        static const uint64_t times[][2] = {
                { 50, 1050 },  { 100, 1100 }, { 199, 1199 }, { 200, 2200 },
                { 299, 2299 }, { 300, 3300 }, { 900, 3900 },
        };

        ck_assert_int_eq(SNAPSHOT(clocks, MONO, 100, BOOTTIME, 1100), 0);
        ck_assert_int_eq(SNAPSHOT(clocks, BOOTTIME, 2200, MONO, 200), 0);
        ck_assert_int_eq(SNAPSHOT(clocks, MONO, 300, BOOTTIME, 3300), 0);
        for (size_t i = 0; i < ARRAY_SIZE(times); i++)
                ck_assert_uint_eq(convert(clocks, SEQUENCE, MONO, times[i][0]), times[i][1]);
}
END_TEST

START_TEST(test_clocks_are_related_over_others) {
        _cleanup_(trace_clocks_freep) TraceClocks *clocks = trace_clocks_new();

        /* The snapshots come in the order in which each is of no use yet. */
        ck_assert_int_eq(SNAPSHOT(clocks, 200, 7, 201, 70), 0);
        ck_assert_int_eq(SNAPSHOT(clocks, 201, 70, 202, 700), 0);
        ck_assert_int_eq(outcome(clocks, SEQUENCE, 200, 8), TRACE_CLOCK_E_UNKNOWN);
        ck_assert_int_eq(SNAPSHOT(clocks, 202, 700, MONO, 7000), 0);
        ck_assert_int_eq(SNAPSHOT(clocks, MONO, 7000, BOOTTIME, 70000), 0);
        ck_assert_uint_eq(convert(clocks, SEQUENCE, 200, 8), 70001);

        ck_assert_int_eq(SNAPSHOT(clocks, 199, 3, 200, 7), 0); /* a step too many */
        ck_assert_int_eq(outcome(clocks, SEQUENCE, 199, 4), TRACE_CLOCK_E_UNKNOWN);
        ck_assert_int_eq(SNAPSHOT(clocks, 200, 7, BOOTTIME, 80000), 0); /* a shorter way */
        ck_assert_uint_eq(convert(clocks, SEQUENCE, 199, 4), 80001);
}
END_TEST

START_TEST(test_each_sequence_has_its_own_clocks) {
        _cleanup_(trace_clocks_freep) TraceClocks *clocks = trace_clocks_new();
        static const uint64_t other[] = { 64, 5, BOOTTIME, 9005 };

        ck_assert_int_eq(SNAPSHOT(clocks, 64, 5, BOOTTIME, 1005), 0);
        ck_assert_int_eq(outcome(clocks, 4, 64, 6), TRACE_CLOCK_E_UNKNOWN);
        ck_assert_int_eq(add(clocks, 4, other, ARRAY_SIZE(other)), 0);
        ck_assert_uint_eq(convert(clocks, SEQUENCE, 64, 6), 1006);
        ck_assert_uint_eq(convert(clocks, 4, 64, 6), 9006);
        ck_assert_int_eq(SNAPSHOT(clocks, 128, 5, BOOTTIME, 10000), 0);
        ck_assert_uint_eq(convert(clocks, 4, 128, 6), 10001);
}
END_TEST

START_TEST(test_incremental_clocks_count_on_from_the_last_time_or_snapshot) {
        _cleanup_(trace_clocks_freep) TraceClocks *clocks = trace_clocks_new();
        TraceClockReading readings[] = {
                { .id = MONO, .timestamp = 5000 },
                { .id = 64, .timestamp = 5, .unit_ns = 1000, .is_incremental = true },
        };

        ck_assert_int_eq(SNAPSHOT(clocks, MONO, 4000, BOOTTIME, 14000), 0);
        ck_assert_int_eq(trace_clocks_add_snapshot(clocks, SEQUENCE, readings, 2), 0);
        ck_assert_uint_eq(convert(clocks, SEQUENCE, 64, 0), 15000);
        ck_assert_uint_eq(convert(clocks, SEQUENCE, 64, 2), 17000);
        ck_assert_uint_eq(convert(clocks, SEQUENCE, 64, 1), 18000);
        readings[0].timestamp = 9000;
        readings[1].timestamp = 9;
        ck_assert_int_eq(trace_clocks_add_snapshot(clocks, SEQUENCE, readings, 2), 0);
        ck_assert_uint_eq(convert(clocks, SEQUENCE, 64, 1), 20000);
}
END_TEST

START_TEST(test_trace_time_is_another_clock_if_a_snapshot_says_so_in_time) {
        _cleanup_(trace_clocks_freep) TraceClocks *clocks = trace_clocks_new();

        ck_assert_int_eq(SNAPSHOT(clocks, MONO, 100, BOOTTIME, 1100), 0);
        trace_clocks_set_trace_time(clocks, 64); /* of one sequence: no clock for all */
        ck_assert_uint_eq(trace_clocks_trace_time(clocks), BOOTTIME);
        trace_clocks_set_trace_time(clocks, MONO);
        ck_assert_uint_eq(convert(clocks, SEQUENCE, BOOTTIME, 1200), 200);
        ck_assert_uint_eq(convert(clocks, SEQUENCE, MONO, 200), 200);
        trace_clocks_set_trace_time(clocks, BOOTTIME); /* too late */
        ck_assert_uint_eq(convert(clocks, SEQUENCE, BOOTTIME, 1200), 200);
}
END_TEST

START_TEST(test_clock_that_ran_backwards_is_converted_to_and_not_from) {
        _cleanup_(trace_clocks_freep) TraceClocks *clocks = trace_clocks_new();

        ck_assert_int_eq(SNAPSHOT(clocks, 200, 10, 201, 20), 0);
        ck_assert_int_eq(SNAPSHOT(clocks, 201, 20, BOOTTIME, 1020), 0);
        ck_assert_int_eq(SNAPSHOT(clocks, 200, 10, 202, 30), 0);
        ck_assert_int_eq(SNAPSHOT(clocks, 202, 30, MONO, 40), 0);
        ck_assert_int_eq(SNAPSHOT(clocks, MONO, 40, BOOTTIME, 1040), 0);
        ck_assert_uint_eq(convert(clocks, SEQUENCE, 200, 11), 1021);
        ck_assert_int_eq(SNAPSHOT(clocks, 200, 20, 201, 15), 0);
        ck_assert_int_eq(outcome(clocks, SEQUENCE, 201, 21), TRACE_CLOCK_E_UNKNOWN);
        ck_assert_uint_eq(convert(clocks, SEQUENCE, 200, 11), 1041); /* the other way round */
        /* A snapshot in which trace time runs backwards is of no use at all. */
        ck_assert_int_eq(SNAPSHOT(clocks, MONO, 50, BOOTTIME, 1039), TRACE_CLOCK_E_INVALID);
        ck_assert_uint_eq(convert(clocks, SEQUENCE, MONO, 50), 1050);
}
END_TEST

START_TEST(test_snapshots_that_contradict_are_refused) {
        _cleanup_(trace_clocks_freep) TraceClocks *clocks = trace_clocks_new();
        TraceClockReading readings[] = {
                { .id = BOOTTIME, .timestamp = 5000 },
                { .id = 64, .timestamp = 5, .unit_ns = 1000, .is_incremental = true },
        };

        ck_assert_int_eq(SNAPSHOT(clocks, MONO, 1, MONO, 2), TRACE_CLOCK_E_INVALID);
        ck_assert_int_eq(SNAPSHOT(clocks, MONO, UINT64_MAX, BOOTTIME, 2), TRACE_CLOCK_E_INVALID);
        ck_assert_int_eq(trace_clocks_add_snapshot(clocks, SEQUENCE, readings, 2), 0);
        readings[1].unit_ns = 0;
        ck_assert_int_eq(trace_clocks_add_snapshot(clocks, SEQUENCE, readings, 2),
                         TRACE_CLOCK_E_INVALID);
        readings[1].unit_ns = 1000;
        readings[1].is_incremental = false;
        ck_assert_int_eq(trace_clocks_add_snapshot(clocks, SEQUENCE, readings, 2),
                         TRACE_CLOCK_E_INVALID);
        readings[1].is_incremental = true;
        readings[1].timestamp = UINT64_MAX / 2;
        ck_assert_int_eq(trace_clocks_add_snapshot(clocks, SEQUENCE, readings, 2),
                         TRACE_CLOCK_E_INVALID);
        ck_assert_uint_eq(convert(clocks, SEQUENCE, 64, 1), 6000);
}
END_TEST

START_TEST(test_times_that_overflow_are_none) {
        _cleanup_(trace_clocks_freep) TraceClocks *clocks = trace_clocks_new();
        TraceClockReading readings[] = {
                { .id = BOOTTIME, .timestamp = 5000 },
                { .id = 64, .timestamp = 5, .unit_ns = 1000, .is_incremental = true },
                { .id = MONO, .timestamp = 9000 },
        };

        ck_assert_int_eq(trace_clocks_add_snapshot(clocks, SEQUENCE, readings, 3), 0);
        ck_assert_int_eq(outcome(clocks, SEQUENCE, MONO, 3999), TRACE_CLOCK_E_INVALID); /* < 0 */
        ck_assert_int_eq(outcome(clocks, SEQUENCE, MONO, UINT64_MAX), TRACE_CLOCK_E_INVALID);
        ck_assert_int_eq(outcome(clocks, SEQUENCE, 64, UINT64_MAX / 2), TRACE_CLOCK_E_INVALID);
        ck_assert_int_eq(outcome(clocks, SEQUENCE, 64, INT64_MAX / 1000), TRACE_CLOCK_E_INVALID);
        ck_assert_uint_eq(convert(clocks, SEQUENCE, 64, 1), 6000); /* nothing was counted */
}
END_TEST

START_TEST(test_a_file_cannot_make_clocks_grow_without_bound) {
        _cleanup_(trace_clocks_freep) TraceClocks *clocks = trace_clocks_new();
        TraceClockReading many[TRACE_CLOCK_SNAPSHOT_MAX + 1] = { 0 };
        TraceClockReading two[] = { { .id = 64 }, { .id = MONO } };
        uint32_t n_sequences = 0, n_snapshots = 0;

        for (uint32_t i = 0; i < ARRAY_SIZE(many); i++)
                many[i].id = 1000 + i;
        ck_assert_int_eq(trace_clocks_add_snapshot(clocks, 0, many, ARRAY_SIZE(many)),
                         TRACE_CLOCK_E_TOO_MANY);
        ck_assert_int_eq(SNAPSHOT(clocks, MONO, 0, BOOTTIME, 10), 0);
        while (trace_clocks_add_snapshot(clocks, n_sequences, two, 2) == 0)
                n_sequences++;
        ck_assert_uint_ge(n_sequences, TRACE_CLOCK_CLOCKS_MAX - 2);
        ck_assert_uint_lt(n_sequences, TRACE_CLOCK_CLOCKS_MAX);
        ck_assert_uint_eq(convert(clocks, n_sequences - 1, 64, 5), 15);
        while (trace_clocks_add_snapshot(clocks, 0, two, 2) == 0)
                n_snapshots++;
        ck_assert_uint_le(2 * (n_sequences + n_snapshots), TRACE_CLOCK_READINGS_MAX);
        ck_assert_int_eq(SNAPSHOT(clocks, MONO, 0, BOOTTIME, 10), TRACE_CLOCK_E_TOO_MANY);
}
END_TEST

/* Each clock runs backwards, and is one that another's way goes through. */
START_TEST(test_ways_are_not_searched_again_without_end) {
        _cleanup_(trace_clocks_freep) TraceClocks *clocks = trace_clocks_new();
        const uint32_t n = 20000;

        for (uint32_t i = 0; i < n; i++) {
                ck_assert_int_eq(SNAPSHOT(clocks, 1000 + i, 5, BOOTTIME, 5), 0);
                ck_assert_int_eq(SNAPSHOT(clocks, 100000 + i, 5, 1000 + i, 5), 0);
        }
        ck_assert_uint_eq(convert(clocks, SEQUENCE, 100000 + n - 1, 6), 6);
        for (uint32_t i = 0; i < n; i++) {
                ck_assert_int_eq(SNAPSHOT(clocks, 1000 + i, 4, BOOTTIME, 6), 0);
                ck_assert_int_eq(outcome(clocks, SEQUENCE, 100000 + i, 6), TRACE_CLOCK_E_UNKNOWN);
        }
}
END_TEST

TEST_MAIN("clock",
          test_time_of_the_boot_clock_needs_no_snapshot,
          test_the_newest_snapshot_that_is_not_later_is_used,
          test_clocks_are_related_over_others,
          test_each_sequence_has_its_own_clocks,
          test_incremental_clocks_count_on_from_the_last_time_or_snapshot,
          test_trace_time_is_another_clock_if_a_snapshot_says_so_in_time,
          test_clock_that_ran_backwards_is_converted_to_and_not_from,
          test_snapshots_that_contradict_are_refused,
          test_times_that_overflow_are_none,
          test_a_file_cannot_make_clocks_grow_without_bound,
          test_ways_are_not_searched_again_without_end)
