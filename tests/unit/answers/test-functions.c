/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which functions used the CPUs, by samples of call stacks. */

#include "trace/trace-pool.h"
#include "world.h"

#include "test.h"

#define MS INT64_C(1000000)

static World world;

static TraceTable *table_of(TraceTableId id) {
        return trace_store_table(world.store, id);
}

static uint32_t text(const char *name) {
        return trace_pool_add_text(&world.store->pool, name);
}

static uint32_t mapping(const char *name) {
        uint32_t row = trace_table_add(table_of(TRACE_TABLE_MAPPING));

        trace_table_set(table_of(TRACE_TABLE_MAPPING), MAPPED_NAME, row, text(name));
        return row;
}

/* `symbol`: what a program's file says besides, or NULL. */
static uint32_t frame(uint32_t file, const char *name, const char *symbol) {
        TraceTable *frames = table_of(TRACE_TABLE_FRAME), *symbols = table_of(TRACE_TABLE_SYMBOL);
        uint32_t row = trace_table_add(frames);

        trace_table_set(frames, FRAME_MAPPING_ID, row, file);
        if (name)
                trace_table_set(frames, FRAME_NAME, row, text(name));
        if (symbol) {
                uint32_t set = trace_table_add(symbols);

                trace_table_set(symbols, SYMBOL_SET, set, set);
                trace_table_set(symbols, SYMBOL_NAME, set, text(symbol));
                trace_table_set(frames, FRAME_SYMBOL_SET, row, set);
        }
        return row;
}

static uint32_t callsite(uint32_t parent, uint32_t of) {
        TraceTable *table = table_of(TRACE_TABLE_CALLSITE);
        uint32_t row = trace_table_add(table);

        trace_table_set(table, CALLSITE_PARENT, row, parent);
        trace_table_set(table, CALLSITE_FRAME, row, of);
        return row;
}

static void sample(int64_t ts, uint32_t utid, uint32_t at) {
        TraceTable *table = table_of(TRACE_TABLE_SAMPLE);
        uint32_t row = trace_table_add(table);

        trace_table_set_i64(table, PERF_TS, row, ts);
        trace_table_set(table, PERF_UTID, row, utid);
        trace_table_set(table, PERF_CALLSITE, row, at);
}

/* main calls work, which calls itself; and there is a file without names. */
static uint32_t thread, inner;

static void make_samples(void) {
        uint32_t app, library, outer, deep;

        world_init(&world);
        thread = world_thread(&world, 10, "app", TRACE_NONE);
        app = mapping("/usr/bin/app");
        library = mapping("/usr/lib/libx.so");
        outer = callsite(TRACE_NONE, frame(app, "main", NULL));
        inner = callsite(outer, frame(app, NULL, "work"));
        deep = callsite(inner, frame(app, "work", NULL));
        sample(1 * MS, thread, outer);
        sample(2 * MS, thread, inner);
        sample(3 * MS, thread, deep);
        sample(4 * MS, thread, callsite(inner, frame(library, NULL, NULL)));
        sample(5 * MS, thread, callsite(TRACE_NONE, frame(library, "work", NULL)));
        sample(6 * MS, thread, TRACE_NONE);
}

START_TEST(test_a_function_counts_once_in_a_recursion) {
        make_samples();
        ck_assert_int_eq(world_ask(&world, "functions", NULL), 0);
        ck_assert_int_eq(world_fact(&world, "samples"), 6);
        ck_assert_int_eq(world_fact(&world, "without_stack"), 1);
        ck_assert_int_eq(world_fact(&world, "without_name"), 1);
        ck_assert_uint_eq(world.answer->n_rows, 4);
        ck_assert_str_eq(world_text(&world, 0, "function"), "work");
        ck_assert_str_eq(world_text(&world, 0, "file"), "/usr/bin/app");
        ck_assert_int_eq(world_number(&world, 0, "samples"), 2);
        ck_assert_int_eq(world_number(&world, 0, "with_callees"), 3);
        ck_assert_double_eq_tol(world_real(&world, 0, "share"), 2.0 / 6, 1e-9);
        world_deinit(&world);
}
END_TEST

START_TEST(test_functions_of_one_name_are_told_apart_by_their_files) {
        size_t n = 0, n_library = 0;

        make_samples();
        ck_assert_int_eq(world_ask(&world, "functions", NULL), 0);
        for (size_t i = 0; i < world.answer->n_rows; i++)
                if (streq(world_text(&world, i, "function"), "work")) {
                        n++;
                        n_library += streq(world_text(&world, i, "file"), "/usr/lib/libx.so");
                }
        ck_assert_uint_eq(n, 2);
        ck_assert_uint_eq(n_library, 1);
        world_deinit(&world);
}
END_TEST

START_TEST(test_samples_of_a_slice_are_those_of_its_thread) {
        uint32_t other;

        make_samples();
        other = world_thread(&world, 11, "other", TRACE_NONE);
        world_slice(&world, world_track(&world, thread), "frame", 2 * MS, 2 * MS);
        sample(7 * MS, other, inner);
        world_slice(&world, world_track(&world, other), "idle", 8 * MS, 1 * MS);
        ck_assert_int_eq(world_ask(&world, "functions", "frame"), 0);
        ck_assert_int_eq(world_fact(&world, "samples"), 3);
        ck_assert_int_eq(world_ask(&world, "functions", "idle"), ANSWER_E_NOTHING);
        ck_assert_int_eq(world_ask(&world, "functions", "gone"), ANSWER_E_NO_SLICE);
        ck_assert_int_eq(world_ask_between(&world, "functions", NULL, 5 * MS, 9 * MS), 0);
        ck_assert_int_eq(world_fact(&world, "samples"), 3);
        world_deinit(&world);
}
END_TEST

static void sleep_for(int64_t ts, int64_t ns, uint32_t at, const char *source) {
        TraceTable *table = table_of(TRACE_TABLE_STACK_SAMPLE);
        uint32_t row = trace_table_add(table);

        trace_table_set_i64(table, WEIGHED_TS, row, ts);
        trace_table_set_i64(table, WEIGHED_WEIGHT, row, ns);
        trace_table_set(table, WEIGHED_UTID, row, thread);
        trace_table_set(table, WEIGHED_CALLSITE, row, at);
        trace_table_set(table, WEIGHED_SOURCE, row, text(source));
        trace_table_set(table, WEIGHED_UNIT, row, text("ns"));
}

START_TEST(test_sleep_is_the_programs_and_as_long_as_it_lasted_in_the_time_asked_for) {
        uint32_t in_kernel;

        make_samples();
        in_kernel = callsite(inner, frame(mapping("/kernel"), "do_nanosleep", NULL));
        sleep_for(1 * MS, 4 * MS, in_kernel, "linux.offcpu");
        sleep_for(2 * MS, 9 * MS, in_kernel, "linux.faults");
        sleep_for(7 * MS, 2 * MS, TRACE_NONE, "linux.offcpu");
        world_slice(&world, world_track(&world, thread), "frame", 3 * MS, 1 * MS);
        ck_assert_int_eq(world_ask(&world, "sleeps", NULL), 0);
        ck_assert_int_eq(world_fact(&world, "slept_ns"), 6 * MS);
        ck_assert_int_eq(world_fact(&world, "without_stack_ns"), 2 * MS);
        ck_assert_uint_eq(world.answer->n_rows, 1);
        ck_assert_str_eq(world_text(&world, 0, "function"), "work");
        ck_assert_int_eq(world_number(&world, 0, "slept_ns"), 4 * MS);
        ck_assert_int_eq(world_ask(&world, "sleeps", "frame"), 0);
        ck_assert_int_eq(world_fact(&world, "slept_ns"), 1 * MS);
        world_deinit(&world);
}
END_TEST

START_TEST(test_stacks_that_are_circles_end) {
        TraceTable *callsites;
        uint32_t first;

        world_init(&world);
        thread = world_thread(&world, 10, "app", TRACE_NONE);
        first = callsite(TRACE_NONE, frame(mapping("x"), "a", NULL));
        callsites = table_of(TRACE_TABLE_CALLSITE);
        trace_table_set(callsites, CALLSITE_PARENT, first, callsite(first, 99999));
        sample(1 * MS, thread, first);
        sample(2 * MS, thread, 77777);
        ck_assert_int_eq(world_ask(&world, "functions", NULL), 0);
        ck_assert_uint_eq(world.answer->n_rows, 1);
        ck_assert_int_eq(world_number(&world, 0, "with_callees"), 1);
        ck_assert_int_eq(world_fact(&world, "without_stack"), 1);
        world_deinit(&world);
}
END_TEST

TEST_MAIN("answers-functions",
          test_a_function_counts_once_in_a_recursion,
          test_functions_of_one_name_are_told_apart_by_their_files,
          test_samples_of_a_slice_are_those_of_its_thread,
          test_sleep_is_the_programs_and_as_long_as_it_lasted_in_the_time_asked_for,
          test_stacks_that_are_circles_end)
