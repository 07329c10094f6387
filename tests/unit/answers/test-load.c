/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The load: who used the CPUs in one interval after the other. */

#include "answers/answer-load.h"
#include "world.h"

#include "test.h"

#define MS INT64_C(1000000)

static World world;
static Answer *load, *ended;

static void next(AnswerLoad *from, int64_t start, int64_t end) {
        answer_free(load);
        answer_free(ended);
        load = ended = NULL;
        ck_assert_int_eq(answer_load_next(from, start, end, &load, &ended), 0);
}

static AnswerLoad *begin(AnswerGroup group) {
        AnswerLoad *ret;

        ck_assert_int_eq(answer_load_new(&ret, world.store, group), 0);
        return ret;
}

static void finish(AnswerLoad *from) {
        answer_free(load);
        answer_free(ended);
        load = ended = NULL;
        answer_load_free(from);
        world_deinit(&world);
}

static int64_t number(const Answer *answer, size_t row, size_t column) {
        return answer_cell(answer, row, column)->number;
}

START_TEST(test_what_goes_on_is_divided_between_intervals) {
        AnswerLoad *from;

        world_init(&world);
        uint32_t editor = world_process(&world, 10, "editor"),
                 a = world_thread(&world, 10, "main", editor),
                 b = world_thread(&world, 11, "worker", editor);

        world_runs(&world, 0, a, 5 * MS, 30 * MS);
        world_runs(&world, 1, b, 22 * MS, 1 * MS);
        world_run(&world, 0, 0, 35 * MS, 5 * MS);
        from = begin(ANSWER_BY_PROGRAM);
        next(from, 0, 10 * MS);
        ck_assert_int_eq(load->facts[LOAD_FACT_BUSY].number, 5 * MS);
        ck_assert_int_eq(load->facts[LOAD_FACT_ALL].number, 20 * MS);
        next(from, 10 * MS, 20 * MS);
        ck_assert_int_eq(number(load, 0, LOAD_COLUMN_NS), 10 * MS);
        ck_assert_int_eq(number(load, 0, LOAD_COLUMN_THREADS), 1);
        next(from, 20 * MS, 30 * MS);
        ck_assert_uint_eq(load->n_rows, 1);
        ck_assert_str_eq(answer_cell(load, 0, LOAD_COLUMN_WHO)->text, "editor");
        ck_assert_int_eq(number(load, 0, LOAD_COLUMN_NS), 11 * MS);
        ck_assert_int_eq(number(load, 0, LOAD_COLUMN_THREADS), 2);
        next(from, 30 * MS, 40 * MS);
        ck_assert_int_eq(load->facts[LOAD_FACT_BUSY].number, 5 * MS);
        next(from, 40 * MS, 50 * MS);
        ck_assert_uint_eq(load->n_rows, 0);
        finish(from);
}
END_TEST

START_TEST(test_a_thread_that_only_waits_has_a_row) {
        AnswerLoad *from;

        world_init(&world);
        uint32_t hog = world_thread(&world, 20, "hog", TRACE_NONE),
                 other = world_thread(&world, 21, "other", TRACE_NONE);

        world_runs(&world, 0, hog, 0, 20 * MS);
        world_state(&world, other, RUNNABLE, 3 * MS, 17 * MS, TRACE_NONE);
        world_runs(&world, 0, other, 20 * MS, 1 * MS);
        from = begin(ANSWER_BY_THREAD);
        next(from, 0, 10 * MS);
        ck_assert_uint_eq(load->n_rows, 2);
        ck_assert_str_eq(answer_cell(load, 1, LOAD_COLUMN_WHO)->text, "other 21");
        ck_assert_int_eq(number(load, 1, LOAD_COLUMN_NS), 0);
        ck_assert_int_eq(number(load, 1, LOAD_COLUMN_WAITED), 7 * MS);
        ck_assert_int_eq(number(load, 0, LOAD_COLUMN_WAITED), 0);
        finish(from);
}
END_TEST

START_TEST(test_a_slice_counts_where_it_ends) {
        AnswerLoad *from;

        world_init(&world);
        uint32_t app = world_thread(&world, 10, "app", TRACE_NONE),
                 track = world_track(&world, app);

        world_slice(&world, track, "frame", 0, 10 * MS);
        world_slice(&world, track, "frame", 12 * MS, 30 * MS);
        world_slice(&world, track, "blink", 14 * MS, 0);
        world_slice(&world, track, "open", 15 * MS, -1);
        from = begin(ANSWER_BY_PROGRAM);
        next(from, 0, 10 * MS);
        ck_assert_uint_eq(ended->n_rows, 1);
        ck_assert_int_eq(number(ended, 0, ENDED_COLUMN_MAX), 10 * MS);
        next(from, 10 * MS, 40 * MS);
        ck_assert_uint_eq(ended->n_rows, 0);
        next(from, 40 * MS, 50 * MS);
        ck_assert_uint_eq(ended->n_rows, 1);
        ck_assert_str_eq(answer_cell(ended, 0, ENDED_COLUMN_NAME)->text, "frame");
        ck_assert_int_eq(number(ended, 0, ENDED_COLUMN_N), 1);
        ck_assert_int_eq(number(ended, 0, ENDED_COLUMN_NS), 30 * MS);
        ck_assert(!load->facts[LOAD_FACT_BUSY].is_there);
        finish(from);
}
END_TEST

START_TEST(test_times_that_are_too_large_are_not_gone_over) {
        AnswerLoad *from;

        world_init(&world);
        uint32_t app = world_thread(&world, 10, "app", TRACE_NONE);

        world_run(&world, 0, app, INT64_MAX - 1, INT64_MAX);
        world_slice(&world, world_track(&world, app), "late", INT64_MAX - 1, INT64_MAX);
        from = begin(ANSWER_BY_UNIT);
        next(from, 0, INT64_MAX);
        ck_assert_int_eq(load->facts[LOAD_FACT_BUSY].number, 1);
        ck_assert_uint_eq(ended->n_rows, 1);
        finish(from);
}
END_TEST

TEST_MAIN("answers-load",
          test_what_goes_on_is_divided_between_intervals,
          test_a_thread_that_only_waits_has_a_row,
          test_a_slice_counts_where_it_ends,
          test_times_that_are_too_large_are_not_gone_over)
