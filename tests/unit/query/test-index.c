/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An index finds the rows that have a value, all of them and no others, in their order. */

#include <errno.h>

#include "query/query-index.h"
#include "test.h"

static const TraceColumnDef columns[] = { { "id", TRACE_TYPE_ID }, { "i32", TRACE_TYPE_I32 } };
static const TraceTableDef def = { "test", columns, ARRAY_SIZE(columns), false };

static TraceBudget budget = { .n_bytes_max = 1 << 26 };

START_TEST(test_rows_of_each_value_are_found_in_order) {
        _cleanup_(query_index_deinit) QueryIndex index = { 0 };
        _cleanup_(trace_table_deinit) TraceTable table;
        size_t n_found = 0;

        ck_assert_int_eq(trace_table_init(&table, &def, &budget), 0);
        for (uint32_t i = 0; i < 1000; i++) {
                trace_table_add(&table);
                if (i % 10 != 3) /* those have nothing */
                        trace_table_set(&table, 0, i, i % 10);
        }
        ck_assert_int_eq(query_index_make(&index, &table, 0), 0);
        for (int64_t value = 0; value < 10; value++) {
                const uint32_t *rows;
                size_t n = query_index_find(&index, value, &rows);

                ck_assert_uint_eq(n, value == 3 ? 0 : 100);
                for (size_t i = 0; i < n; i++)
                        ck_assert_int_eq(rows[i], (int64_t)i * 10 + value);
                n_found += n;
        }
        ck_assert_uint_eq(n_found, 900);
        ck_assert_uint_eq(index.n_distinct, 10); /* nothing is one of them */
}
END_TEST

START_TEST(test_values_that_are_not_there_have_no_rows) {
        _cleanup_(query_index_deinit) QueryIndex index = { 0 };
        _cleanup_(trace_table_deinit) TraceTable table;
        const uint32_t *rows;

        ck_assert_int_eq(trace_table_init(&table, &def, &budget), 0);
        trace_table_add(&table);
        trace_table_set(&table, 0, 0, 5);
        ck_assert_int_eq(query_index_make(&index, &table, 0), 0);
        ck_assert_uint_eq(query_index_find(&index, 5, &rows), 1);
        ck_assert_uint_eq(query_index_find(&index, 4, &rows), 0);
        ck_assert_uint_eq(query_index_find(&index, 6, &rows), 0);
        ck_assert_uint_eq(query_index_find(&index, -1, &rows), 0);
        ck_assert_uint_eq(query_index_find(&index, INT64_MAX, &rows), 0);
}
END_TEST

/* One row that has a large number must not cost memory for all below it. */
START_TEST(test_values_far_apart_get_no_index) {
        _cleanup_(query_index_deinit) QueryIndex index = { 0 };
        _cleanup_(trace_table_deinit) TraceTable table;

        ck_assert_int_eq(trace_table_init(&table, &def, &budget), 0);
        trace_table_add(&table);
        trace_table_set(&table, 0, 0, UINT32_MAX - 1);
        trace_table_set(&table, 1, 0, (uint32_t)-5);
        ck_assert_int_eq(query_index_make(&index, &table, 0), -E2BIG);
        ck_assert_int_eq(query_index_make(&index, &table, 1), -E2BIG);
        ck_assert_ptr_null(index.starts);
}
END_TEST

TEST_MAIN("query-index",
          test_rows_of_each_value_are_found_in_order,
          test_values_that_are_not_there_have_no_rows,
          test_values_far_apart_get_no_index)
