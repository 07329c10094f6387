/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Rows keep what is set, nothing is nothing in each type, and a table takes no more than its budget. */

#include "test.h"
#include "trace/trace-table.h"

enum { TIME, DOUBLE, ID, I32, NAME, U16, I16, U8, STATE };

static const TraceColumnDef columns[] = {
        { "time", TRACE_TYPE_I64 }, { "double", TRACE_TYPE_DOUBLE }, { "id", TRACE_TYPE_ID },
        { "i32", TRACE_TYPE_I32 },  { "name", TRACE_TYPE_NAME },     { "u16", TRACE_TYPE_U16 },
        { "i16", TRACE_TYPE_I16 },  { "u8", TRACE_TYPE_U8 },         { "state", TRACE_TYPE_STATE },
};
static const TraceTableDef def = { "test", columns, ARRAY_SIZE(columns), true };

START_TEST(test_nothing_is_nothing_in_each_type) {
        TraceBudget budget = { .n_bytes_max = 1 << 20 };
        _cleanup_(trace_table_deinit) TraceTable table;
        int64_t number;

        ck_assert_int_eq(trace_table_init(&table, &def, &budget), 0);
        /* Once without columns, and once with all of them. */
        for (uint32_t round = 0; round < 2; round++) {
                uint32_t row = trace_table_add(&table);

                ck_assert_uint_eq(row, round);
                for (unsigned i = 0; i < ARRAY_SIZE(columns); i++)
                        if (i != DOUBLE)
                                ck_assert(!trace_table_number(&table, i, row, &number));
                ck_assert(trace_table_double(&table, DOUBLE, row) == 0);
                ck_assert_uint_eq(trace_table_get(&table, ID, row), TRACE_NONE);
                ck_assert_uint_eq(trace_table_get(&table, NAME, row), 0);
                ck_assert(trace_table_make(&table, UINT32_MAX));
        }
}
END_TEST

START_TEST(test_rows_keep_what_is_set_while_they_grow) {
        TraceBudget budget = { .n_bytes_max = 1 << 26 };
        _cleanup_(trace_table_deinit) TraceTable table;
        int64_t number;

        ck_assert_int_eq(trace_table_init(&table, &def, &budget), 0);
        for (uint32_t i = 0; i < 5000; i++) {
                uint32_t row = trace_table_add(&table);

                ck_assert_uint_eq(row, i);
                trace_table_set_i64(&table, TIME, row, (int64_t)i - 7);
                trace_table_set(&table, I32, row, (uint32_t)-5);
                trace_table_set(&table, I16, row, (uint32_t)-3);
                if (i % 100 == 0)
                        trace_table_set(&table, U16, row, i % 1000);
        }
        for (uint32_t row = 0; row < 5000; row++) {
                ck_assert_int_eq(trace_table_i64(&table, TIME, row), (int64_t)row - 7);
                ck_assert(trace_table_number(&table, I32, row, &number) && number == -5);
                ck_assert(trace_table_number(&table, I16, row, &number) && number == -3);
                ck_assert_int_eq(trace_table_number(&table, U16, row, &number), row % 100 == 0);
        }
        ck_assert(!budget.is_over);
}
END_TEST

START_TEST(test_the_budget_of_several_tables_is_one) {
        TraceBudget budget = { .n_bytes_max = 8 * 1000 };
        _cleanup_(trace_table_deinit) TraceTable x, y;
        uint32_t row;
        size_t n = 0;

        ck_assert_int_eq(trace_table_init(&x, &def, &budget), 0);
        ck_assert_int_eq(trace_table_init(&y, &def, &budget), 0);
        ck_assert(trace_table_make(&x, 1u << TIME) && trace_table_make(&y, 1u << TIME));
        while ((row = trace_table_add(n % 2 ? &x : &y)) != TRACE_NONE)
                n++;
        ck_assert_uint_eq(n, 1000);
        ck_assert(budget.is_over);
        ck_assert_uint_le(budget.n_bytes, budget.n_bytes_max);
        /* What is there stays. */
        ck_assert_uint_eq(x.n + y.n, 1000);
}
END_TEST

TEST_MAIN("trace-table",
          test_nothing_is_nothing_in_each_type,
          test_rows_keep_what_is_set_while_they_grow,
          test_the_budget_of_several_tables_is_one)
