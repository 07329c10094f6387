/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs that lie close together say the same as the table that they are a copy of. */

#include "answers/answer-runs.h"
#include "world.h"

#include "test.h"

#define N_THREADS 9
#define N_RUNS    3000
#define N_WAITS   500

static uint64_t random_below(uint64_t n) {
        static uint64_t state = 7;

        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % n;
}

/* Runs of three CPUs, with gaps, some that are long, and some whose end is not known; the last CPU has one only. */
static void fill(World *world, const uint32_t *threads) {
        int64_t at[2] = { 1000, 50 };

        world_run(world, 3, threads[1], 10, 1000000);
        for (size_t i = 0; i < N_RUNS; i++) {
                uint32_t cpu = (uint32_t)i % 2;
                int64_t dur =
                        (int64_t)(random_below(50) == 0 ? UINT64_C(9000000000) + random_below(1000)
                                                        : 1 + random_below(100000));

                world_run(world,
                          cpu,
                          random_below(4) ? threads[random_below(N_THREADS)] : 0,
                          at[cpu],
                          random_below(100) ? dur : -1);
                at[cpu] += dur + (int64_t)(random_below(10) ? 0 : random_below(1000000));
        }
}

static void expect_same(AnswerRuns *runs, const AnswerTally *tally) {
        const AnswerTallyItem *most = answer_tally_most(tally);
        int64_t ns;

        ck_assert_uint_eq(answer_runs_take_most(runs, &ns),
                          most ? (uint32_t)most->key : TRACE_NONE);
        ck_assert_int_eq(ns, most ? most->total_ns : 0);
}

START_TEST(test_the_most_is_as_the_table_has_it) {
        uint32_t threads[N_THREADS];
        AnswerCores cores;
        AnswerRuns runs;
        World world;

        world_init(&world);
        for (size_t i = 0; i < N_THREADS; i++)
                threads[i] = world_thread(&world, 10 + (int32_t)i, "thread", TRACE_NONE);
        fill(&world, threads);
        ck_assert_int_eq(answer_cores_init(&cores, world.store), 0);
        ck_assert_int_eq(answer_runs_init(&runs, &cores, world.store), 0);
        for (size_t i = 0; i < N_WAITS; i++) {
                _cleanup_(answer_tally_deinit) AnswerTally tally = { 0 };

                for (size_t n = 1 + random_below(4); n > 0; n--) {
                        uint32_t cpu =
                                (uint32_t)random_below(6); /* two have no run, one is not there */
                        int64_t from = (int64_t)random_below(UINT64_C(300000000000)),
                                to = from +
                                     (int64_t)random_below(random_below(2) ? 10000000000 : 300000);

                        ck_assert_int_eq(answer_cores_tally(&cores, cpu, from, to, 0, &tally), 0);
                        answer_runs_add(&runs, cpu, from, to);
                }
                expect_same(&runs, &tally);
        }
        answer_runs_deinit(&runs);
        answer_cores_deinit(&cores);
        world_deinit(&world);
}
END_TEST

START_TEST(test_times_at_both_ends_of_what_a_number_holds) {
        uint32_t threads[2];
        AnswerCores cores;
        AnswerRuns runs;
        World world;
        int64_t ns;

        world_init(&world);
        threads[0] = world_thread(&world, 10, "a", TRACE_NONE);
        threads[1] = world_thread(&world, 11, "b", TRACE_NONE);
        world_run(&world, 0, threads[0], INT64_MIN, INT64_MAX);
        world_run(&world, 0, threads[1], INT64_MAX - 1, INT64_MAX);
        ck_assert_int_eq(answer_cores_init(&cores, world.store), 0);
        ck_assert_int_eq(answer_runs_init(&runs, &cores, world.store), 0);
        for (size_t i = 0; i < 3; i++)
                answer_runs_add(&runs, 0, INT64_MIN, INT64_MAX);
        ck_assert_uint_eq(answer_runs_take_most(&runs, &ns), threads[0]);
        ck_assert_int_eq(ns, INT64_MAX);
        ck_assert_uint_eq(answer_runs_take_most(&runs, &ns), TRACE_NONE);
        answer_runs_deinit(&runs);
        answer_cores_deinit(&cores);
        world_deinit(&world);
}
END_TEST

TEST_MAIN("answer-runs",
          test_the_most_is_as_the_table_has_it,
          test_times_at_both_ends_of_what_a_number_holds)
