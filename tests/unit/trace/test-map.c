/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A map gives back what was put in, however it grew. */

#include "test.h"
#include "trace/trace-map.h"

#define N 2000

START_TEST(test_what_was_set_is_found_and_nothing_else) {
        _cleanup_(trace_map_deinit) TraceMap map = { 0 };

        ck_assert_uint_eq(trace_map_find(&map, 1), TRACE_MAP_NONE);
        for (uint64_t i = 0; i < N; i++)
                ck_assert_int_eq(trace_map_set(&map, i << 32, i), 0);
        ck_assert_uint_eq(map.n, N);
        for (uint64_t i = 0; i < N; i++)
                ck_assert_uint_eq(trace_map_find(&map, i << 32), i);
        ck_assert_uint_eq(trace_map_find(&map, 1), TRACE_MAP_NONE);
}
END_TEST

START_TEST(test_a_key_has_its_latest_value) {
        _cleanup_(trace_map_deinit) TraceMap map = { 0 };

        ck_assert_int_eq(trace_map_set(&map, UINT64_MAX, 1), 0);
        ck_assert_int_eq(trace_map_set(&map, UINT64_MAX, 2), 0);
        ck_assert_uint_eq(map.n, 1);
        ck_assert_uint_eq(trace_map_find(&map, UINT64_MAX), 2);
}
END_TEST

START_TEST(test_a_cleared_map_is_empty) {
        _cleanup_(trace_map_deinit) TraceMap map = { 0 };

        for (uint64_t i = 0; i < N; i++)
                ck_assert_int_eq(trace_map_set(&map, i, i), 0);
        trace_map_clear(&map);
        ck_assert_uint_eq(map.n, 0);
        for (uint64_t i = 0; i < N; i++)
                ck_assert_uint_eq(trace_map_find(&map, i), TRACE_MAP_NONE);
}
END_TEST

START_TEST(test_each_entry_is_gone_over_once) {
        _cleanup_(trace_map_deinit) TraceMap map = { 0 };
        uint64_t key, value, n = 0, sum = 0;

        for (uint64_t i = 0; i < N; i++)
                ck_assert_int_eq(trace_map_set(&map, i, 2 * i), 0);
        for (size_t at = 0; trace_map_next(&map, &at, &key, &value); n++) {
                ck_assert_uint_eq(value, 2 * key);
                sum += key;
        }
        ck_assert_uint_eq(n, N);
        ck_assert_uint_eq(sum, (uint64_t)N * (N - 1) / 2);
}
END_TEST

TEST_MAIN("trace-map",
          test_what_was_set_is_found_and_nothing_else,
          test_a_key_has_its_latest_value,
          test_a_cleared_map_is_empty,
          test_each_entry_is_gone_over_once)
