/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <math.h>

#include "answers/comparison.h"
#include "answers/statistics.h"
#include "world.h"

#include "test.h"

#define MS INT64_C(1000000)

START_TEST(test_ranks_have_the_exact_p_of_the_tables) {
        static const double low[] = { 1, 2, 3, 4 }, high[] = { 5, 6, 7, 8 },
                            between[] = { 2.5, 4.5, 6, 7 }, same[] = { 3, 3, 3, 3 };

        ck_assert_double_eq_tol(statistics_rank_p(low, 4, high, 4), 2.0 / 70, 1e-9);
        ck_assert_double_eq_tol(statistics_rank_p(high, 4, low, 4), 2.0 / 70, 1e-9);
        ck_assert_double_eq_tol(statistics_rank_p(low, 4, between, 4), 8.0 / 70, 1e-9); /* U = 2 */
        ck_assert_double_eq_tol(statistics_rank_p(same, 4, same, 4), 1, 1e-9);
        ck_assert_double_eq_tol(statistics_rank_p_min(4, 4), 2.0 / 70, 1e-9);
        ck_assert_double_eq_tol(statistics_rank_p_min(1, 1), 1, 1e-9);
}
END_TEST

START_TEST(test_many_values_use_the_normal_distribution) {
        double a[100], b[100];

        for (size_t i = 0; i < 100; i++) {
                a[i] = (double)i;
                b[i] = (double)i + 0.5;
        }
        ck_assert_double_gt(statistics_rank_p(a, 100, b, 100), 0.8);
        for (size_t i = 0; i < 100; i++)
                b[i] += 60;
        ck_assert_double_lt(statistics_rank_p(a, 100, b, 100), 1e-6);
}
END_TEST

START_TEST(test_p_is_corrected_for_how_many_there_are) {
        double p[] = { 0.04, 0.01, 0.03, 0.5 };

        ck_assert(statistics_correct(p, ARRAY_SIZE(p)));
        ck_assert_double_eq_tol(p[1], 0.04, 1e-9);
        ck_assert_double_eq_tol(p[2], 0.09, 1e-9);
        ck_assert_double_eq_tol(p[0], 0.09, 1e-9); /* not below the one before it */
        ck_assert_double_eq_tol(p[3], 0.5, 1e-9);
        ck_assert(statistics_correct(p, 0));
}
END_TEST

START_TEST(test_an_interval_has_the_ratio_in_it_and_needs_enough_values) {
        static const double a[] = { 10, 11, 9, 10, 10.5, 9.5 },
                            b[] = { 20, 21, 19, 20, 20.5, 19.5 };
        double low, high, low_again, high_again;

        ck_assert(statistics_ratio_interval(a, 6, b, 6, &low, &high));
        ck_assert_double_le(low, 2);
        ck_assert_double_ge(high, 2);
        ck_assert_double_ge(low, 1.5);
        ck_assert(statistics_ratio_interval(a, 6, b, 6, &low_again, &high_again));
        ck_assert(low == low_again && high == high_again);
        ck_assert(!statistics_ratio_interval(a, 5, b, 6, &low, &high));
}
END_TEST

/* A recording in which a frame takes that long, among others that do not change. */
static void record(Comparison *comparison, unsigned side, int64_t frame, const char *other) {
        World world;

        world_init(&world);
        for (int64_t i = 0; i < 10; i++) {
                world_slice(&world, 0, "frame", i * 100 * MS, frame + i * MS / 10);
                world_slice(&world, 0, other, i * 100 * MS, 7 * MS);
        }
        ck_assert_int_eq(comparison_add(comparison, side, world.store, NULL), 0);
        world_deinit(&world);
}

static void compare(World *world, size_t n, int64_t frame_b) {
        Comparison comparison;
        double change;

        ck_assert_int_eq(comparison_init(&comparison, COMPARISON_P50, NULL), 0);
        for (size_t i = 0; i < n; i++) {
                record(&comparison, 0, 10 * MS + (int64_t)i, "same");
                record(&comparison, 1, frame_b + (int64_t)i, "same");
        }
        record(&comparison, 1, frame_b + (int64_t)n, "new");
        ck_assert_int_eq(comparison_answer(&comparison, 0, &world->answer), 0);
        ck_assert(comparison_change(&comparison, "frame", &change));
        ck_assert_double_eq_tol(change, ((double)frame_b + 0.45 * MS) / (10.45 * MS) - 1, 1e-6);
        ck_assert(!comparison_change(&comparison, "new", &change));
        comparison_deinit(&comparison);
}

START_TEST(test_a_difference_is_shown_by_enough_recordings) {
        World world = { 0 };

        compare(&world, 6, 13 * MS);
        ck_assert_int_eq(world_fact(&world, "changed"), 1);
        ck_assert_int_eq(world_fact(&world, "names_tested"), 2);
        ck_assert_str_eq(world_text(&world, 0, "name"), "frame");
        ck_assert_str_eq(world_text(&world, 0, "verdict"), "more");
        ck_assert_double_gt(world_real(&world, 0, "change_low"), 0.2);
        answer_free(world.answer);
}
END_TEST

START_TEST(test_one_recording_on_a_side_shows_nothing) {
        World world = { 0 };

        compare(&world, 1, 30 * MS);
        ck_assert_int_eq(world_fact(&world, "changed"), 0);
        ck_assert_int_eq(world_fact(&world, "too_few"), 2);
        ck_assert_str_eq(world_text(&world, 0, "verdict"), "too few");
        answer_free(world.answer);
}
END_TEST

START_TEST(test_a_small_difference_is_none_however_sure_it_is) {
        World world = { 0 };

        compare(&world, 8, 10 * MS + MS / 10);
        ck_assert_int_eq(world_fact(&world, "changed"), 0);
        answer_free(world.answer);
}
END_TEST

START_TEST(test_nothing_compares_with_nothing) {
        Comparison comparison;
        World world;

        world_init(&world);
        ck_assert_int_eq(comparison_init(&comparison, COMPARISON_CPU, NULL), 0);
        ck_assert_int_eq(comparison_add(&comparison, 0, world.store, NULL), 0);
        ck_assert_int_eq(comparison_answer(&comparison, 0, &world.answer), 0);
        ck_assert_uint_eq(world.answer->n_rows, 0);
        comparison_deinit(&comparison);
        world_deinit(&world);
}
END_TEST

/* A recording of 1 s on that kernel, whose CPUs ran half of the time as fast as in the other half. */
static void record_under(Comparison *comparison, unsigned side, const char *kernel, double khz) {
        World world;

        world_init(&world);
        world_slice(&world, 0, "frame", 0, 1000 * MS);
        if (kernel)
                world_metadata(&world, "system_release", kernel);
        world_metadata(&world, "system_os_id", "debian");
        world_metadata(&world, "system_os_version", side ? "13" : "12");
        world_metadata(&world, "trace_config_sources", "linux.ftrace, track_event");
        for (uint32_t cpu = 0; khz > 0 && cpu < 2; cpu++) {
                uint32_t track = world_clock_track(&world, cpu);

                world_clock(&world, track, 0, khz);
                world_clock(&world, track, 500 * MS, khz * 2);
        }
        ck_assert_int_eq(comparison_add(comparison, side, world.store, NULL), 0);
        world_deinit(&world);
}

START_TEST(test_conditions_are_held_against_each_other) {
        World world = { 0 };
        Comparison comparison;

        ck_assert_int_eq(comparison_init(&comparison, COMPARISON_P50, NULL), 0);
        record_under(&comparison, 0, "6.1", 1e6);
        record_under(&comparison, 0, "6.12", 1e6);
        record_under(&comparison, 0, NULL, 0);
        record_under(&comparison, 1, "6.1", 2e6);
        ck_assert_int_eq(comparison_answer(&comparison, 0, &world.answer), 0);
        ck_assert_str_eq(world_fact_text(&world, "kernel_a"), "6.1 | ?");
        ck_assert_str_eq(world_fact_text(&world, "kernel_b"), "6.1");
        ck_assert_str_eq(world_fact_text(&world, "system_a"), "debian 12");
        ck_assert_str_eq(world_fact_text(&world, "system_b"), "debian 13");
        ck_assert_int_eq(world_fact(&world, "same_system"), 0);
        ck_assert_int_eq(world_fact(&world, "same_config"), 1);
        ck_assert_double_eq_tol(world.answer->facts[DIFF_FACT_HZ_A].real, 1.5e9, 1e3);
        ck_assert_double_eq_tol(world.answer->facts[DIFF_FACT_HZ_B].real, 3e9, 1e3);
        comparison_deinit(&comparison);
        answer_free(world.answer);
}
END_TEST

START_TEST(test_what_no_recording_says_is_no_difference) {
        World world = { 0 };
        Comparison comparison;

        ck_assert_int_eq(comparison_init(&comparison, COMPARISON_P50, NULL), 0);
        record(&comparison, 0, 10 * MS, "same");
        record(&comparison, 1, 10 * MS, "same");
        ck_assert_int_eq(comparison_answer(&comparison, 0, &world.answer), 0);
        ck_assert_int_eq(world_fact(&world, "same_system"), 1);
        ck_assert_int_eq(world_fact(&world, "same_config"), 1);
        ck_assert(!world.answer->facts[DIFF_FACT_HZ_A].is_there);
        ck_assert(!world.answer->facts[DIFF_FACT_KERNEL_B].is_there);
        comparison_deinit(&comparison);
        answer_free(world.answer);
}
END_TEST

TEST_MAIN("diff",
          test_conditions_are_held_against_each_other,
          test_what_no_recording_says_is_no_difference,
          test_ranks_have_the_exact_p_of_the_tables,
          test_many_values_use_the_normal_distribution,
          test_p_is_corrected_for_how_many_there_are,
          test_an_interval_has_the_ratio_in_it_and_needs_enough_values,
          test_a_difference_is_shown_by_enough_recordings,
          test_one_recording_on_a_side_shows_nothing,
          test_a_small_difference_is_none_however_sure_it_is,
          test_nothing_compares_with_nothing)
