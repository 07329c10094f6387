/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "answers/answer-questions.h"
#include "answers/answer-time.h"
#include "world.h"

#include "test.h"

#define MS INT64_C(1000000)

static World world;

START_TEST(test_cpu_time_is_cut_to_the_range_and_summed_by_program) {
        world_init(&world);
        uint32_t editor = world_process(&world, 10, "editor"),
                 a = world_thread(&world, 10, "main", editor),
                 b = world_thread(&world, 11, "worker", editor),
                 other = world_thread(&world, 20, "kthread", TRACE_NONE);

        world_run(&world, 0, a, 0, 10 * MS);
        world_run(&world, 1, other, 5 * MS, 10 * MS);
        world_run(&world, 0, b, 10 * MS, 10 * MS);
        world_run(&world, 0, 0, 20 * MS, 80 * MS);
        world_run(&world, 1, other, 90 * MS, -1);

        ck_assert_int_eq(world_ask_between(&world, "cpu", NULL, 5 * MS, 95 * MS), 0);
        ck_assert_int_eq(world_fact(&world, "busy_ns"), 25 * MS);
        ck_assert_int_eq(world_fact(&world, "available_ns"), 180 * MS);
        ck_assert_int_eq(world_fact(&world, "cpus"), 2);
        ck_assert_int_eq(world_fact(&world, "still_running"), 1);
        ck_assert_uint_eq(world.answer->n_rows, 2);
        ck_assert_str_eq(world_text(&world, 0, "who"), "editor");
        ck_assert_int_eq(world_number(&world, 0, "cpu_ns"), 15 * MS);
        ck_assert_str_eq(world_text(&world, 1, "who"), "kthread");
        ck_assert_double_eq_tol(world_real(&world, 1, "share"), 0.4, 1e-9);
        world_deinit(&world);
}
END_TEST

/* It runs, waits for a CPU behind another one, sleeps until that wakes it, and waits for the disk. */
static uint32_t make_slow_slice(void) {
        uint32_t app = world_thread(&world, 10, "app", TRACE_NONE),
                 hog = world_thread(&world, 20, "hog", TRACE_NONE), row;

        world_runs(&world, 0, hog, 0, 4 * MS);
        row = world_slice(&world, world_track(&world, app), "frame", 0, 20 * MS);
        world_state(&world, app, RUNNABLE, 0, 5 * MS, TRACE_NONE);
        world_runs(&world, 0, app, 5 * MS, 2 * MS);
        world_state(&world, app, SLEEPING, 7 * MS, 3 * MS, TRACE_NONE);
        world_runs(&world, 1, hog, 9 * MS, 8 * MS);
        world_state(&world, app, RUNNABLE, 10 * MS, 0, hog);
        world_runs(&world, 0, app, 10 * MS, 1 * MS);
        trace_table_set(trace_store_table(world.store, TRACE_TABLE_STATE),
                        STATE_IO_WAIT,
                        world_state(&world, app, BLOCKED, 11 * MS, 4 * MS, TRACE_NONE),
                        1);
        world_state(&world, app, RUNNABLE, 15 * MS, 0, 0);
        world_runs(&world, 0, app, 15 * MS, 2 * MS);
        return row;
}

START_TEST(test_a_slice_is_divided_into_what_its_thread_did) {
        world_init(&world);
        make_slow_slice();

        ck_assert_int_eq(world_ask(&world, "slice", "frame"), 0);
        ck_assert_int_eq(world_fact(&world, "dur_ns"), 20 * MS);
        ck_assert_int_eq(world_fact(&world, "ran_ns"), 5 * MS);
        ck_assert_int_eq(world_fact(&world, "runnable_ns"), 5 * MS);
        ck_assert_int_eq(world_fact(&world, "slept_ns"), 3 * MS);
        ck_assert_int_eq(world_fact(&world, "io_ns"), 4 * MS);
        ck_assert_int_eq(world_fact(&world, "unknown_ns"), 3 * MS);
        ck_assert_uint_eq(world.answer->n_rows, 5);
        ck_assert_str_eq(world_text(&world, 1, "what"), "waited for a CPU behind");
        ck_assert_str_eq(world_text(&world, 1, "who"), "hog 20");
        ck_assert_int_eq(world_number(&world, 1, "ns"), 4 * MS);
        ck_assert_str_eq(world_text(&world, 2, "who"), "an interrupt");
        ck_assert_int_eq(world_number(&world, 2, "ns"), 4 * MS);
        ck_assert_str_eq(world_text(&world, 3, "what"), "slept, woken by");
        ck_assert_str_eq(world_text(&world, 3, "who"), "hog 20");
        ck_assert_str_eq(world_text(&world, 4, "who"), ""); /* the rest of the wait for a CPU */
        ck_assert_int_eq(world_number(&world, 4, "ns"), 1 * MS);
        world_deinit(&world);
}
END_TEST

START_TEST(test_a_slice_is_found_by_its_id) {
        world_init(&world);
        make_slow_slice();
        ck_assert_int_eq(world_ask(&world, "slice", "0"), 0);
        ck_assert_int_eq(world_ask(&world, "slice", "1"), ANSWER_E_NO_SLICE);
        ck_assert_int_eq(world_ask(&world, "slice", "99999999999999999999"), ANSWER_E_NO_SLICE);
        ck_assert_int_eq(world_ask(&world, "slice", ""), ANSWER_E_NO_SLICE);
        ck_assert_int_eq(world_ask(&world, "slice", "nothing"), ANSWER_E_NO_SLICE);
        world_deinit(&world);
}
END_TEST

START_TEST(test_a_slice_of_no_thread_is_not_known) {
        world_init(&world);
        world_slice(&world, world_track(&world, TRACE_NONE), "download", 0, 7 * MS);
        ck_assert_int_eq(world_ask(&world, "slice", "download"), 0);
        ck_assert_int_eq(world_fact(&world, "unknown_ns"), 7 * MS);
        ck_assert_uint_eq(world.answer->n_rows, 0);
        world_deinit(&world);
}
END_TEST

/* app sleeps for `helper`, which sleeps for `disk`, which an interrupt wakes. */
START_TEST(test_wakers_are_followed_down_to_the_interrupt) {
        world_init(&world);
        uint32_t app = world_thread(&world, 1, "app", TRACE_NONE),
                 helper = world_thread(&world, 2, "helper", TRACE_NONE),
                 disk = world_thread(&world, 3, "disk", TRACE_NONE);

        world_state(&world, disk, SLEEPING, 0, 50 * MS, TRACE_NONE);
        world_state(&world, helper, SLEEPING, 5 * MS, 46 * MS, TRACE_NONE);
        world_slice(&world, world_track(&world, app), "frame", 10 * MS, 60 * MS);
        world_state(&world, app, SLEEPING, 10 * MS, 50 * MS, TRACE_NONE);
        world_state(&world, disk, RUNNABLE, 50 * MS, 0, 0);
        world_runs(&world, 0, disk, 50 * MS, 2 * MS);
        world_state(&world, helper, RUNNABLE, 51 * MS, 1 * MS, disk);
        world_runs(&world, 0, helper, 52 * MS, 9 * MS);
        world_state(&world, app, RUNNABLE, 60 * MS, 1 * MS, helper);
        world_runs(&world, 0, app, 61 * MS, 9 * MS);

        ck_assert_int_eq(world_ask(&world, "wakers", "frame"), 0);
        ck_assert_int_eq(world_fact(&world, "waited_ns"), 50 * MS);
        ck_assert_uint_eq(world.answer->n_rows, 3);
        ck_assert_str_eq(world_text(&world, 0, "thread"), "helper 2");
        ck_assert_int_eq(world_number(&world, 0, "active_ns"), 9 * MS);
        ck_assert_int_eq(world_number(&world, 0, "ran_ns"), 8 * MS);
        ck_assert_str_eq(world_text(&world, 1, "thread"), "disk 3");
        ck_assert_str_eq(world_text(&world, 2, "thread"), "an interrupt");
        ck_assert_str_eq(world_fact_text(&world, "end"), "an interrupt: a device or a timer");
        world_deinit(&world);
}
END_TEST

START_TEST(test_threads_that_wake_each_other_end) {
        world_init(&world);
        uint32_t a = world_thread(&world, 1, "a", TRACE_NONE),
                 b = world_thread(&world, 2, "b", TRACE_NONE);

        world_slice(&world, world_track(&world, a), "frame", 0, 10 * MS);
        world_state(&world, a, SLEEPING, 0, 9 * MS, TRACE_NONE);
        world_state(&world, b, SLEEPING, 0, 9 * MS, TRACE_NONE);
        world_state(&world, a, RUNNABLE, 9 * MS, 1 * MS, b);
        world_state(&world, b, RUNNABLE, 9 * MS, 1 * MS, a);
        ck_assert_int_eq(world_ask(&world, "wakers", "frame"), 0);
        ck_assert_str_eq(world_fact_text(&world, "end"), "a chain that goes on");
        ck_assert_uint_eq(world.answer->n_rows, 32);
        world_deinit(&world);
}
END_TEST

START_TEST(test_what_is_different_in_the_slowest_is_what_is_above_the_median) {
        world_init(&world);
        uint32_t app = world_thread(&world, 1, "app", TRACE_NONE), track = world_track(&world, app);

        for (int64_t i = 0; i < 10; i++) {
                int64_t ts = i * 100 * MS, slept = i == 7 ? 50 * MS : 2 * MS;

                world_slice(&world, track, "frame", ts, 5 * MS + slept);
                world_runs(&world, 0, app, ts, 5 * MS);
                world_state(&world, app, SLEEPING, ts + 5 * MS, slept, TRACE_NONE);
        }
        ck_assert_int_eq(world_ask(&world, "slowest", "frame"), 0);
        ck_assert_int_eq(world_fact(&world, "n"), 10);
        ck_assert_int_eq(world_fact(&world, "p50_ns"), 7 * MS);
        ck_assert_int_eq(world_fact(&world, "max_ns"), 55 * MS);
        ck_assert_str_eq(world_fact_text(&world, "different"), "it slept longer");
        ck_assert_int_eq(world_fact(&world, "more_than_usual_ns"), 48 * MS);
        ck_assert_int_eq(world_number(&world, 0, "id"), 7);
        ck_assert_int_eq(world_number(&world, 0, "at"), 700 * MS);
        ck_assert_str_eq(world_text(&world, 1, "different"), "");
        world_deinit(&world);
}
END_TEST

START_TEST(test_percentiles_need_enough_slices) {
        world_init(&world);
        uint32_t track = world_track(&world, TRACE_NONE);

        for (int64_t i = 1; i <= 400; i++) {
                world_slice(&world, track, "often", i * MS, i * MS);
                if (i <= 36)
                        world_slice(&world, track, "seldom", i * MS, i * MS);
        }
        world_slice(&world, track, "once", 400 * MS, 1);
        world_slice(&world, track, "open", 400 * MS, -1);
        ck_assert_int_eq(world_ask(&world, "times", NULL), 0);
        ck_assert_int_eq(world_fact(&world, "names"), 3);
        ck_assert_int_eq(world_fact(&world, "still_open"), 1);
        ck_assert_str_eq(world_text(&world, 0, "name"), "often");
        ck_assert_int_eq(world_number(&world, 0, "p50_ns"), 200 * MS + MS / 2);
        ck_assert_int_eq(world_number(&world, 0, "p99_ns"), 396 * MS + MS / 100);
        ck_assert_int_eq(world_number(&world, 0, "longest_id"), 435);
        ck_assert_int_eq(world_number(&world, 1, "p90_ns"), 32 * MS + MS / 2);
        ck_assert_int_eq(world_number(&world, 1, "p99_ns"), INT64_MIN);
        ck_assert_int_eq(world_number(&world, 2, "p90_ns"), INT64_MIN);
        ck_assert_int_eq(world_ask(&world, "times", "seldom"), 0);
        ck_assert_uint_eq(world.answer->n_rows, 1);
        ck_assert_int_eq(world_ask(&world, "times", "never"), ANSWER_E_NO_SLICE);
        world_deinit(&world);
}
END_TEST

START_TEST(test_what_repeats_has_a_period_and_what_is_irregular_has_none) {
        world_init(&world);
        uint32_t thread = world_thread(&world, 7, "ticker", TRACE_NONE),
                 track = world_track(&world, thread);
        static const int64_t gaps[] = { 70, 900, 130, 410, 55, 777 };
        int64_t at = 0;

        for (int64_t i = 0; i < 6; i++) {
                world_slice(&world, track, "collect", i * 1000 * MS + (i % 2) * 10 * MS, 20 * MS);
                world_run(&world, 0, thread, i * 1000 * MS, 3 * MS);
                world_run(&world, 0, thread, i * 1000 * MS + 10 * MS, 3 * MS);
        }
        for (size_t i = 0; i < ARRAY_SIZE(gaps); i++)
                world_slice(&world, track, "click", 6000 * MS + (at += gaps[i] * MS), 1);
        ck_assert_int_eq(world_ask(&world, "repeats", NULL), 0);
        ck_assert_uint_eq(world.answer->n_rows, 2);
        ck_assert_str_eq(world_text(&world, 0, "name"), "collect");
        ck_assert_int_ge(world_number(&world, 0, "period_ns"), 990 * MS);
        ck_assert_int_le(world_number(&world, 0, "period_ns"), 1010 * MS);
        ck_assert_str_eq(world_text(&world, 1, "name"), "ticker 7");
        ck_assert_int_eq(world_number(&world, 1, "n"), 6);
        ck_assert_int_eq(world_number(&world, 1, "each_ns"), 6 * MS);
        world_deinit(&world);
}
END_TEST

START_TEST(test_a_wait_for_a_cpu_is_behind_who_had_it) {
        world_init(&world);
        make_slow_slice();
        ck_assert_int_eq(world_ask(&world, "waits", NULL), 0);
        ck_assert_int_eq(world_fact(&world, "total_ns"), 5 * MS);
        ck_assert_str_eq(world_text(&world, 0, "thread"), "app 10");
        ck_assert_str_eq(world_text(&world, 0, "behind"), "hog 20");
        ck_assert_int_eq(world_number(&world, 0, "behind_ns"), 4 * MS);
        world_deinit(&world);
}
END_TEST

START_TEST(test_a_slice_may_be_called_like_the_id_of_another) {
        static const struct {
                const char *asked;
                int64_t ns;
        } cases[] = { { "1", 5 * MS },    { "name:1", 5 * MS }, { "id:1", 3 * MS },
                      { "2", 7 * MS },    { "id:2", 7 * MS },   { "name:id:1", 7 * MS },
                      { "frame", 3 * MS } };
        world_init(&world);
        uint32_t track = world_track(&world, world_thread(&world, 10, "app", TRACE_NONE));

        world_slice(&world, track, "1", 0, 5 * MS);
        world_slice(&world, track, "frame", 10 * MS, 3 * MS);
        world_slice(&world, track, "id:1", 20 * MS, 7 * MS);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                ck_assert_int_eq(world_ask(&world, "slice", cases[i].asked), 0);
                ck_assert_int_eq(world_fact(&world, "dur_ns"), cases[i].ns);
        }
        ck_assert_int_eq(world_ask(&world, "slice", "name:2"), ANSWER_E_NO_SLICE);
        ck_assert_int_eq(world_ask(&world, "slice", "id:3"), ANSWER_E_NO_SLICE);
        ck_assert_int_eq(world_ask(&world, "slice", "id:"), ANSWER_E_NO_SLICE);
        world_deinit(&world);
}
END_TEST

/* Both threads wait for both CPUs, one after another: behind the first hog for 4 ms, behind the other for 3. */
START_TEST(test_waits_of_each_thread_are_added_up) {
        world_init(&world);
        uint32_t hogs[] = { world_thread(&world, 20, "hog", TRACE_NONE),
                            world_thread(&world, 21, "other hog", TRACE_NONE) },
                 threads[] = { world_thread(&world, 10, "app", TRACE_NONE),
                               world_thread(&world, 11, "late app", TRACE_NONE) };

        for (int64_t k = 0; k < 2; k++) {
                int64_t at = k * 100 * MS;

                world_run(&world, 0, hogs[0], at, 2 * MS);
                world_state(&world, threads[k], RUNNABLE, at, 2 * MS, TRACE_NONE);
                world_runs(&world, 0, threads[k], at + 2 * MS, MS);
                world_run(&world, 1, hogs[1], at, 6 * MS);
                world_state(&world, threads[k], RUNNABLE, at + 3 * MS, 3 * MS, TRACE_NONE);
                world_runs(&world, 1, threads[k], at + 6 * MS, MS);
                world_run(&world, 0, hogs[0], at + 7 * MS, 2 * MS);
                world_state(&world, threads[k], RUNNABLE, at + 7 * MS, 3 * MS, TRACE_NONE);
                world_runs(&world, 0, threads[k], at + 10 * MS, MS);
        }
        ck_assert_int_eq(world_ask(&world, "waits", NULL), 0);
        ck_assert_int_eq(world_fact(&world, "total_ns"), 16 * MS);
        ck_assert_uint_eq(world.answer->n_rows, 2);
        for (size_t row = 0; row < 2; row++) {
                ck_assert_str_eq(world_text(&world, row, "behind"), "hog 20");
                ck_assert_int_eq(world_number(&world, row, "behind_ns"), 4 * MS);
        }
        ck_assert_int_eq(world_ask_between(&world, "waits", NULL, 104 * MS, 107 * MS), 0);
        ck_assert_uint_eq(world.answer->n_rows, 1);
        ck_assert_str_eq(world_text(&world, 0, "thread"), "late app 11");
        ck_assert_str_eq(world_text(&world, 0, "behind"), "other hog 21");
        ck_assert_int_eq(world_number(&world, 0, "behind_ns"), 2 * MS);
        world_deinit(&world);
}
END_TEST

START_TEST(test_a_wakeup_ends_the_idle_time_of_a_cpu) {
        world_init(&world);
        uint32_t timer = world_thread(&world, 1, "timer", TRACE_NONE),
                 next = world_thread(&world, 2, "next", TRACE_NONE);

        for (int64_t i = 0; i < 3; i++) {
                world_run(&world, 0, 0, i * 10 * MS, 5 * MS);
                world_state(&world, timer, RUNNABLE, i * 10 * MS + 5 * MS, 0, 0);
                world_runs(&world, 0, timer, i * 10 * MS + 5 * MS, 3 * MS);
                world_runs(&world, 0, next, i * 10 * MS + 8 * MS, 2 * MS);
        }
        ck_assert_int_eq(world_ask(&world, "wakeups", NULL), 0);
        ck_assert_int_eq(world_fact(&world, "n"), 3);
        ck_assert_uint_eq(world.answer->n_rows, 1);
        ck_assert_str_eq(world_text(&world, 0, "thread"), "timer 1");
        ck_assert_str_eq(world_text(&world, 0, "woken_by"), "an interrupt");
        ck_assert_double_eq_tol(world_real(&world, 0, "per_second"), 100, 1e-6);
        world_deinit(&world);
}
END_TEST

START_TEST(test_waits_for_the_disk_are_told_by_kind) {
        world_init(&world);
        make_slow_slice();
        world_state(&world, 2, BLOCKED, 18 * MS, 1 * MS, TRACE_NONE);
        ck_assert_int_eq(world_ask(&world, "disk", NULL), 0);
        ck_assert_uint_eq(world.answer->n_rows, 2);
        ck_assert_str_eq(world_text(&world, 0, "what"), "IO");
        ck_assert_int_eq(world_number(&world, 0, "waited_ns"), 4 * MS);
        ck_assert_str_eq(world_text(&world, 1, "what"), "IO or a lock");
        world_deinit(&world);
}
END_TEST

START_TEST(test_memory_grows_between_the_first_and_the_last_value) {
        world_init(&world);
        uint32_t small = world_process(&world, 5, "small"),
                 large = world_process(&world, 6, "large");

        world_counter(&world, small, "mem.rss", 0, 1000);
        world_counter(&world, large, "mem.rss", 1, 5000);
        world_counter(&world, small, "mem.rss", 2, 9000);
        world_counter(&world, small, "mem.rss", 3, 4000);
        world_counter(&world, large, "mem.rss", 4, 1e300);
        world_counter(&world, large, "mem.rss", 5, 5100);
        ck_assert_int_eq(world_ask(&world, "memory", NULL), 0);
        ck_assert_str_eq(world_text(&world, 0, "program"), "small");
        ck_assert_int_eq(world_number(&world, 0, "growth_bytes"), 3000);
        ck_assert_int_eq(world_number(&world, 0, "most_bytes"), 9000);
        ck_assert_int_eq(world_number(&world, 1, "growth_bytes"), 100);
        world_deinit(&world);
}
END_TEST

START_TEST(test_the_journal_is_told_in_the_order_of_time) {
        world_init(&world);
        world_log(&world, 30, 6, "later");
        world_log(&world, 10, 3, "\033[31mworse");
        ck_assert_int_eq(world_ask(&world, "journal", NULL), 0);
        ck_assert_int_eq(world_fact(&world, "n"), 2);
        ck_assert_int_eq(world_fact(&world, "warnings"), 1);
        ck_assert_str_eq(world_text(&world, 0, "text"), "\033[31mworse");
        ck_assert_int_eq(world_number(&world, 1, "at"), 20);
        world_deinit(&world);
}
END_TEST

START_TEST(test_a_gap_matters_where_it_is_when_something_was_lost) {
        world_init(&world);
        uint32_t a = world_thread(&world, 1, "a", TRACE_NONE);

        world_runs(&world, 0, a, 0, 10 * MS);
        world_state(&world, a, SLEEPING, 10 * MS, -1, TRACE_NONE);
        world_runs(&world, 0, a, 20 * MS, 80 * MS);
        world_state(&world, a, SLEEPING, 100 * MS, -1, TRACE_NONE); /* the last one */
        ck_assert_int_eq(world_ask(&world, "losses", NULL), 0);
        ck_assert_str_eq(world_fact_text(&world, "here"), "no");
        ck_assert_int_eq(world_fact(&world, "gaps"), 1);

        trace_store_count(world.store, "ftrace_cpu_has_data_loss", 0, 1);
        ck_assert_int_eq(world_ask(&world, "losses", NULL), 0);
        ck_assert_str_eq(world_fact_text(&world, "here"), "yes");
        ck_assert_int_eq(world_ask_between(&world, "losses", NULL, 30 * MS, 90 * MS), 0);
        ck_assert_str_eq(world_fact_text(&world, "here"), "it may");
        ck_assert_int_eq(world_number(&world, 0, "where"), 0);
        world_deinit(&world);
}
END_TEST

START_TEST(test_interrupts_are_slices_of_their_category) {
        world_init(&world);
        TraceTable *table = trace_store_table(world.store, TRACE_TABLE_SLICE);
        uint32_t row = world_slice(&world, world_track(&world, TRACE_NONE), "timer", 0, 4 * MS);

        world_slice(&world, 0, "frame", 0, 90 * MS);
        trace_table_set(table, SLICE_CATEGORY, row, trace_pool_add_text(&world.store->pool, "irq"));
        ck_assert_int_eq(world_ask(&world, "interrupts", NULL), 0);
        ck_assert_int_eq(world_fact(&world, "total_ns"), 4 * MS);
        ck_assert_uint_eq(world.answer->n_rows, 1);
        world_deinit(&world);
}
END_TEST

static uint32_t bus_track(const char *name, uint32_t parent) {
        TraceTable *table = trace_store_table(world.store, TRACE_TABLE_TRACK);
        uint32_t track = world_track(&world, TRACE_NONE);

        trace_table_set(table, TRACK_NAME, track, trace_pool_add_text(&world.store->pool, name));
        trace_table_set(table, TRACK_PARENT, track, parent);
        return track;
}

static void bus_slice(uint32_t track, const char *name, int64_t ts, int64_t dur) {
        uint32_t row = world_slice(&world, track, name, ts, dur);

        trace_table_set(trace_store_table(world.store, TRACE_TABLE_SLICE),
                        SLICE_CATEGORY,
                        row,
                        trace_pool_add_text(&world.store->pool, "dbus"));
}

START_TEST(test_calls_over_a_bus_are_those_of_their_callers) {
        world_init(&world);
        uint32_t peer = bus_track("D-Bus :1.7", TRACE_NONE), calls = bus_track("calls", peer),
                 second = bus_track("calls 2", peer), served = bus_track("served", peer);

        bus_slice(calls, "a.B.Get", 0, 5 * MS);
        bus_slice(second, "a.B.Get", 1 * MS, 2 * MS);
        bus_slice(served, "a.B.Get", 1 * MS, 4 * MS);
        bus_slice(calls, "a.B.Never", 20 * MS, -1);
        bus_slice(bus_track("signals", peer), "a.B.Sang", 30 * MS, 0);
        bus_slice(bus_track("calls without answers", peer), "a.B.Tell", 40 * MS, 0);
        world_slice(&world, calls, "of a program", 50 * MS, 9 * MS);

        ck_assert_int_eq(world_ask(&world, "bus", NULL), 0);
        ck_assert_int_eq(world_fact(&world, "calls"), 3);
        ck_assert_int_eq(world_fact(&world, "waited_ns"), 7 * MS);
        ck_assert_int_eq(world_fact(&world, "max_ns"), 5 * MS);
        ck_assert_int_eq(world_fact(&world, "not_answered"), 1);
        ck_assert_int_eq(world_fact(&world, "sent"), 2);
        ck_assert_uint_eq(world.answer->n_rows, 4);
        ck_assert_str_eq(world_text(&world, 0, "who"), "D-Bus :1.7");
        ck_assert_str_eq(world_text(&world, 0, "name"), "a.B.Get");
        ck_assert_int_eq(world_number(&world, 0, "n"), 2);

        ck_assert_int_eq(world_ask_between(&world, "bus", NULL, 4 * MS, 25 * MS), 0);
        ck_assert_int_eq(world_fact(&world, "waited_ns"), 1 * MS);
        ck_assert_int_eq(world_fact(&world, "calls"), 2);
        ck_assert_int_eq(world_fact(&world, "sent"), 0);
        world_deinit(&world);
}
END_TEST

static uint32_t heap_stack(const char *function, uint32_t caller) {
        TraceTable *frames = trace_store_table(world.store, TRACE_TABLE_FRAME),
                   *callsites = trace_store_table(world.store, TRACE_TABLE_CALLSITE);
        uint32_t frame = trace_table_add(frames), callsite = trace_table_add(callsites);

        trace_table_set(
                frames, FRAME_NAME, frame, trace_pool_add_text(&world.store->pool, function));
        trace_table_set(callsites, CALLSITE_PARENT, callsite, caller);
        trace_table_set(callsites, CALLSITE_FRAME, callsite, frame);
        return callsite;
}

static void
heap_change_of(uint32_t recording, int64_t ts, uint32_t upid, uint32_t callsite, int64_t size) {
        TraceTable *table = trace_store_table(world.store, TRACE_TABLE_HEAP);
        uint32_t row = trace_table_add(table);

        trace_table_set_i64(table, HEAP_TS, row, ts);
        trace_table_set(table, HEAP_UPID, row, upid);
        trace_table_set(table, HEAP_CALLSITE, row, callsite);
        trace_table_set_i64(table, HEAP_SIZE, row, size);
        trace_table_set(table, HEAP_RECORDING, row, recording);
}

static void heap_change(int64_t ts, uint32_t upid, uint32_t callsite, int64_t size) {
        heap_change_of(0, ts, upid, callsite, size);
}

static void
heap_sums(uint32_t upid, uint32_t callsite, int64_t allocated, int64_t freed, bool at_exit) {
        TraceTable *table = trace_store_table(world.store, TRACE_TABLE_HEAP_SITE);
        uint32_t row = trace_table_add(table);

        trace_table_set(table, HEAP_SITE_UPID, row, upid);
        trace_table_set(table, HEAP_SITE_CALLSITE, row, callsite);
        trace_table_set_i64(table, HEAP_SITE_AT_EXIT, row, at_exit);
        trace_table_set(table, HEAP_SITE_RECORDING, row, 0);
        trace_table_set_i64(table, HEAP_SITE_SUMS, row, allocated);
        trace_table_set_i64(table, HEAP_SITE_SUMS + 2, row, freed);
}

START_TEST(test_heaps_grow_between_the_first_and_the_last_dump) {
        world_init(&world);
        uint32_t app = world_process(&world, 5, "app"), other = world_process(&world, 6, "other"),
                 start = heap_stack("start", TRACE_NONE),
                 leak = heap_stack("leak", heap_stack("[thread worker]", TRACE_NONE)),
                 list = heap_stack("list", heap_stack("[thread app]", TRACE_NONE));

        heap_change(10, app, start, 5000);
        heap_change(10, app, list, 100);
        heap_change(20, app, leak, 300);
        heap_change(20, other, leak, 70);
        heap_change(30, app, leak, 400);
        heap_change(30, app, list, 250);
        heap_change(30, app, list, -150);
        /* Another recording of the same at the same time. */
        heap_change_of(1, 15, app, leak, 900);
        heap_change_of(1, 35, app, leak, 9000);
        trace_pool_add_text(&world.store->pool, "worker");
        trace_pool_add_text(&world.store->pool, "app");
        heap_sums(app, start, 9000, 4000, true);
        heap_sums(app, leak, 700, 0, true);
        heap_sums(app, list, 350, 350, true);
        heap_sums(other, leak, 70, 0, false);

        ck_assert_int_eq(world_ask(&world, "grows", NULL), 0);
        ck_assert_int_eq(world_fact(&world, "heaps_with_several_dumps"), 1);
        ck_assert_int_eq(world_fact(&world, "heaps_with_one_dump"), 1);
        ck_assert_int_eq(world_fact(&world, "heaps_at_exit"), 1);
        ck_assert_int_eq(world_fact(&world, "first_bytes"), 5100);
        ck_assert_int_eq(world_fact(&world, "last_bytes"), 5900);
        ck_assert_int_eq(world_fact(&world, "growth_bytes"), 800);
        ck_assert_int_eq(world_fact(&world, "not_freed_bytes"), 5700);
        ck_assert_int_eq(world_fact(&world, "most_not_freed_bytes"), 5000);
        ck_assert_int_eq(world_fact(&world, "most_growing_thread_bytes"), 700);
        ck_assert_str_eq(world_fact_text(&world, "most_growing_thread"), "worker");
        ck_assert_str_eq(world_fact_text(&world, "most_not_freed_stack"), "start");
        ck_assert_uint_eq(world.answer->n_rows, 3);
        ck_assert_str_eq(world_text(&world, 0, "stack"), "leak < [thread worker]");
        ck_assert_str_eq(world_text(&world, 0, "thread"), "worker");
        ck_assert_str_eq(world_text(&world, 0, "program"), "app");
        ck_assert_int_eq(world_number(&world, 0, "growth_bytes"), 700);
        ck_assert_int_eq(world_number(&world, 0, "not_freed_bytes"), 700);
        ck_assert_int_eq(world_number(&world, 1, "growth_bytes"), 100);
        ck_assert_str_eq(world_text(&world, 2, "stack"), "start");

        /* What was there before the range did not grow in it, and what is behind it is not known. */
        ck_assert_int_eq(world_ask_between(&world, "grows", NULL, 11, 29), 0);
        ck_assert_int_eq(world_fact(&world, "heaps_with_several_dumps"), 0);
        ck_assert_int_eq(world_fact(&world, "heaps_with_one_dump"), 2);
        ck_assert_int_eq(world_fact(&world, "heaps_at_exit"), 0);
        ck_assert_uint_eq(world.answer->n_rows, 0);
        ck_assert_int_eq(world_ask_between(&world, "grows", NULL, 11, 30), 0);
        ck_assert_int_eq(world_fact(&world, "first_bytes"), 5400);
        ck_assert_int_eq(world_fact(&world, "growth_bytes"), 500);
        world_deinit(&world);
}
END_TEST

/* An outcome, never a figure that is made of nothing. */
START_TEST(test_an_empty_trace_answers_nothing) {
        world_init(&world);
        size_t n;
        const AnswerDef *const *defs = answer_defs(&n);

        for (size_t i = 0; i < n; i++) {
                int r = world_ask(&world, defs[i]->name, "frame");

                if (streq(defs[i]->name, "losses"))
                        ck_assert_int_eq(r, 0);
                else
                        ck_assert_int_gt(r, 0);
        }
        world_deinit(&world);
}
END_TEST

/* Every question goes over rows that nothing honest would write; what it says does not matter. */
START_TEST(test_times_that_are_too_large_end_at_the_largest) {
        world_init(&world);
        static const int64_t extremes[] = { INT64_MIN, INT64_MIN + 1, -1,
                                            0,         INT64_MAX - 1, INT64_MAX };
        static const char *const states[] = { RUNNING, RUNNABLE, SLEEPING, BLOCKED, "X", "" };
        size_t n;
        const AnswerDef *const *defs = answer_defs(&n);
        uint32_t app = world_thread(&world, INT32_MIN, "app", 4000000000),
                 track = world_track(&world, app);

        for (size_t i = 0; i < ARRAY_SIZE(extremes); i++)
                for (size_t k = 0; k < ARRAY_SIZE(extremes); k++) {
                        world_slice(
                                &world, i ? track : 4000000000, "frame", extremes[i], extremes[k]);
                        world_runs(&world,
                                   k ? 65535 : 0,
                                   k ? app : 4000000000,
                                   extremes[i],
                                   extremes[k]);
                        world_state(&world, app, states[k], extremes[i], extremes[k], app);
                        world_log(&world, extremes[i], 3, NULL);
                        world_counter(&world, 0, "mem.rss", extremes[i], k ? 1e308 : -1e308);
                        heap_change(extremes[i], k ? 4000000000 : 0, 4000000000, extremes[k]);
                        heap_sums(0, 4000000000, extremes[i], extremes[k], true);
                }
        for (size_t i = 0; i < n; i++)
                ck_assert_int_ge(world_ask(&world, defs[i]->name, "frame"), 0);
        ck_assert_int_eq(time_overlap(INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX), INT64_MAX);
        ck_assert_int_eq(time_add(INT64_MIN, -1), INT64_MIN);
        ck_assert_int_eq(time_of_real(1e300), INT64_MAX);
        world_deinit(&world);
}
END_TEST

START_TEST(test_rows_past_the_limit_are_counted) {
        world_init(&world);
        AnswerQuestion question = {
                .store = world.store, .end = 100, .last = 100, .n_rows_max = 2
        };

        for (int i = 0; i < 5; i++)
                world_log(&world, i, 6, "line");
        ck_assert_int_eq(answer_find(&world.answer, answer_def_find("journal"), &question), 0);
        ck_assert_uint_eq(world.answer->n_rows, 2);
        ck_assert_uint_eq(world.answer->n_left_out, 3);
        world_deinit(&world);
}
END_TEST

TEST_MAIN("answers",
          test_cpu_time_is_cut_to_the_range_and_summed_by_program,
          test_a_slice_is_divided_into_what_its_thread_did,
          test_a_slice_is_found_by_its_id,
          test_a_slice_of_no_thread_is_not_known,
          test_wakers_are_followed_down_to_the_interrupt,
          test_threads_that_wake_each_other_end,
          test_what_is_different_in_the_slowest_is_what_is_above_the_median,
          test_percentiles_need_enough_slices,
          test_what_repeats_has_a_period_and_what_is_irregular_has_none,
          test_a_wait_for_a_cpu_is_behind_who_had_it,
          test_waits_of_each_thread_are_added_up,
          test_a_slice_may_be_called_like_the_id_of_another,
          test_a_wakeup_ends_the_idle_time_of_a_cpu,
          test_waits_for_the_disk_are_told_by_kind,
          test_memory_grows_between_the_first_and_the_last_value,
          test_heaps_grow_between_the_first_and_the_last_dump,
          test_the_journal_is_told_in_the_order_of_time,
          test_calls_over_a_bus_are_those_of_their_callers,
          test_a_gap_matters_where_it_is_when_something_was_lost,
          test_interrupts_are_slices_of_their_category,
          test_an_empty_trace_answers_nothing,
          test_times_that_are_too_large_end_at_the_largest,
          test_rows_past_the_limit_are_counted)
