/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Switches and wakings become who ran where, and what each thread did meanwhile. */

#include "test.h"
#include "trace/trace-sched.h"

typedef struct World {
        TraceStore *store;
        TraceThreads threads;
        TraceSched sched;
} World;

static void world_init(World *world) {
        *world = (World){ 0 };
        ck_assert_int_eq(trace_store_new(&world->store, 1 << 26), 0);
        ck_assert_int_eq(trace_threads_init(&world->threads, world->store), 0);
        ck_assert_int_eq(trace_sched_init(&world->sched, world->store, &world->threads), 0);
        trace_sched_set_kernel(&world->sched, "6.1.0");
        world->sched.wants_sched = world->sched.wants_states = true;
}

static void world_deinit(World *world) {
        trace_sched_deinit(&world->sched);
        trace_threads_deinit(&world->threads);
        trace_store_free(world->store);
}

static void
switches(World *world, uint64_t at_ns, uint32_t cpu, int32_t next, uint16_t prev_state) {
        const TraceSwitch event = { .at_ns = at_ns,
                                    .cpu = cpu,
                                    .is_compact = true,
                                    .next_tid = next,
                                    .prev_state = prev_state };

        trace_sched_switch(&world->sched, &event);
}

static void wakes(World *world, uint64_t at_ns, uint32_t cpu, int32_t tid, uint8_t flags) {
        const TraceWaking event = {
                .at_ns = at_ns, .cpu = cpu, .is_compact = true, .tid = tid, .flags = flags
        };

        trace_sched_waking(&world->sched, &event);
}

static const TraceTable *table(const World *world, TraceTableId id) {
        return &world->store->tables[id];
}

static const char *state_at(const World *world, uint32_t row) {
        const TraceStore *store = world->store;

        return trace_pool_text(
                &store->pool,
                store->states[trace_table_get(table(world, TRACE_TABLE_STATE), STATE_STATE, row)]);
}

static const char *end_state_at(const World *world, uint32_t row) {
        const TraceStore *store = world->store;
        uint32_t state = trace_table_get(table(world, TRACE_TABLE_SCHED), SCHED_END_STATE, row);

        return trace_pool_text(&store->pool, store->states[state]);
}

START_TEST(test_the_first_compact_switch_only_tells_who_runs) {
        _cleanup_(world_deinit) World world;
        const TraceTable *sched;

        world_init(&world);
        wakes(&world, 5, 0, 11, 0); /* nobody is known to run there */
        switches(&world, 10, 0, 11, 0);
        ck_assert_uint_eq(table(&world, TRACE_TABLE_SCHED)->n, 0);
        switches(&world, 20, 0, 12, 1);
        switches(&world, 50, 0, 0, 2);
        sched = table(&world, TRACE_TABLE_SCHED);
        ck_assert_uint_eq(sched->n, 2);
        ck_assert_int_eq(trace_table_i64(sched, SCHED_TS, 0), 20);
        ck_assert_int_eq(trace_table_i64(sched, SCHED_DUR, 0), 30);
        ck_assert_str_eq(end_state_at(&world, 0), "D");
        ck_assert_int_eq(trace_table_i64(sched, SCHED_DUR, 1), -1);
        ck_assert_uint_eq(world.sched.n_switches_skipped, 1);
        ck_assert_uint_eq(world.sched.n_wakings_skipped, 1);
}
END_TEST

START_TEST(test_a_thread_sleeps_is_woken_and_runs) {
        static const char *const wanted[] = { "S", "Running", "R", "S", "Running" };
        _cleanup_(world_deinit) World world;
        const TraceTable *states;
        uint32_t woken = TRACE_NONE;

        world_init(&world);
        switches(&world, 10, 0, 11, 0);
        switches(&world, 20, 0, 12, 1); /* 11 sleeps */
        wakes(&world, 30, 0, 11, 0);    /* by 12 */
        switches(&world, 40, 0, 11, 1);
        states = table(&world, TRACE_TABLE_STATE);
        ck_assert_uint_eq(states->n, ARRAY_SIZE(wanted));
        for (uint32_t row = 0; row < states->n; row++) {
                ck_assert_str_eq(state_at(&world, row), wanted[row]);
                if (streq(wanted[row], "R"))
                        woken = row;
        }
        ck_assert_int_eq(trace_table_i64(states, STATE_TS, woken), 30);
        ck_assert_int_eq(trace_table_i64(states, STATE_DUR, woken), 10);
        ck_assert_uint_eq(trace_table_get(states, STATE_WAKER_UTID, woken),
                          trace_threads_find(&world.threads, 12));
        ck_assert_uint_eq(trace_table_get(states, STATE_WAKER_ID, woken), 1);
}
END_TEST

START_TEST(test_a_thread_that_is_awake_is_not_woken) {
        _cleanup_(world_deinit) World world;

        world_init(&world);
        switches(&world, 10, 0, 11, 0);
        switches(&world, 20, 0, 12, 1);
        wakes(&world, 30, 0, 12, 0);
        wakes(&world, 31, 0, 11, 0);
        wakes(&world, 32, 0, 11, 0);
        ck_assert_uint_eq(table(&world, TRACE_TABLE_WAKEUP)->n, 2);
}
END_TEST

START_TEST(test_what_contradicts_stays_open) {
        const TraceSwitch first = { .at_ns = 10, .prev_tid = 0, .next_tid = 11 };
        const TraceSwitch other = { .at_ns = 20, .prev_tid = 99, .next_tid = 12 };
        _cleanup_(world_deinit) World world;

        world_init(&world);
        trace_sched_switch(&world.sched, &first);
        trace_sched_switch(&world.sched, &other);
        ck_assert_uint_eq(world.sched.n_mismatched, 1);
        ck_assert_int_eq(trace_table_i64(table(&world, TRACE_TABLE_SCHED), SCHED_DUR, 0), -1);
}
END_TEST

START_TEST(test_a_state_nobody_knows_is_none) {
        _cleanup_(world_deinit) World world;

        world_init(&world);
        switches(&world, 10, 0, 11, 0);
        switches(&world, 20, 0, 12, 0);
        switches(&world, 30, 0, 13, 0x4000);
        ck_assert_ptr_null(end_state_at(&world, 0));
        ck_assert_uint_eq(world.sched.n_states_invalid, 1);
}
END_TEST

START_TEST(test_what_is_not_wanted_is_not_filled) {
        _cleanup_(world_deinit) World world;

        world_init(&world);
        world.sched.wants_states = false;
        switches(&world, 10, 0, 11, 0);
        switches(&world, 20, 0, 12, 1);
        ck_assert_uint_eq(table(&world, TRACE_TABLE_SCHED)->n, 1);
        ck_assert_uint_eq(table(&world, TRACE_TABLE_STATE)->n, 0);
}
END_TEST

TEST_MAIN("trace-sched",
          test_the_first_compact_switch_only_tells_who_runs,
          test_a_thread_sleeps_is_woken_and_runs,
          test_a_thread_that_is_awake_is_not_woken,
          test_what_contradicts_stays_open,
          test_a_state_nobody_knows_is_none,
          test_what_is_not_wanted_is_not_filled)
