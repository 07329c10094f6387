/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whatever else is heard of threads, and in which order: their stable ids are the same. */

#include "test.h"
#include "trace/trace-threads.h"

#define LAST_DIGITS INT64_C(10000000000)

typedef struct World {
        TraceStore *store;
        TraceThreads threads;
} World;

static void world_init(World *world) {
        *world = (World){ 0 };
        ck_assert_int_eq(trace_store_new(&world->store, 1 << 26), 0);
        ck_assert_int_eq(trace_threads_init(&world->threads, world->store), 0);
}

static void world_deinit(World *world) {
        trace_threads_deinit(&world->threads);
        trace_store_free(world->store);
}

static int64_t id_of(World *world, int32_t tid) {
        uint32_t utid = trace_threads_get(&world->threads, tid);

        return trace_table_i64(&world->store->tables[TRACE_TABLE_THREAD], THREAD_STABLE_ID, utid);
}

static int64_t process_id_of(World *world, int32_t pid) {
        uint32_t upid = trace_threads_process(&world->threads, pid);

        return trace_table_i64(&world->store->tables[TRACE_TABLE_PROCESS], PROCESS_STABLE_ID, upid);
}

START_TEST(test_it_is_the_number_as_long_as_nothing_changes) {
        World world;

        world_init(&world);
        ck_assert_int_eq(id_of(&world, 0), 0);
        ck_assert_int_eq(id_of(&world, 30), 30);
        ck_assert_int_eq(id_of(&world, -1), UINT32_MAX);
        ck_assert_int_eq(process_id_of(&world, 0), 0);
        ck_assert_int_eq(process_id_of(&world, 30), 30);
        world_deinit(&world);
}
END_TEST

/* One world hears of each thread all the time, the other only of beginnings and ends. */
START_TEST(test_what_is_heard_between_changes_does_not_matter) {
        World all, few;

        world_init(&all);
        world_init(&few);
        ck_assert_int_eq(id_of(&all, 20), 20);
        ck_assert_int_eq(id_of(&all, 21), 21);
        for (int i = 0; i < 3; i++) {
                ck_assert_uint_ne(trace_threads_start_process(&all.threads, 20, 5, 0), TRACE_NONE);
                ck_assert_uint_ne(trace_threads_start_process(&few.threads, 20, 5, 0), TRACE_NONE);
                ck_assert_int_eq(id_of(&all, 20), id_of(&few, 20));
                ck_assert_int_eq(process_id_of(&all, 20), process_id_of(&few, 20));
                ck_assert_int_eq(id_of(&all, 20) % LAST_DIGITS, 20);
                trace_threads_start(&all.threads, 21, 6);
                trace_threads_start(&few.threads, 21, 6);
                id_of(&all, 21);
                trace_threads_end(&all.threads, 21, 7);
                trace_threads_end(&few.threads, 21, 7);
                id_of(&all, 21); /* a last word of it, behind its end */
                trace_threads_end(&all.threads, 20, 8);
                trace_threads_end(&few.threads, 20, 8);
        }
        ck_assert_int_eq(id_of(&all, 21), id_of(&few, 21));
        ck_assert_int_eq(process_id_of(&all, 20), process_id_of(&few, 20));
        world_deinit(&all);
        world_deinit(&few);
}
END_TEST

/* Also of those that only the process tells apart, and past all numbers that there are. */
START_TEST(test_no_two_threads_have_the_same) {
        const TraceTable *table;
        TraceMap seen = { 0 };
        size_t n_nothing = 0;
        World world;

        world_init(&world);
        for (int32_t i = 0; i < 1500; i++)
                trace_threads_of(&world.threads, 40, 1000 + i); /* of another process each time */
        for (int32_t i = 0; i < 10; i++)
                trace_threads_start(&world.threads, 40, i);
        table = &world.store->tables[TRACE_TABLE_THREAD];
        for (uint32_t row = 0; row < table->n; row++) {
                int64_t id = trace_table_i64(table, THREAD_STABLE_ID, row);

                n_nothing += id == TRACE_NO_TIME;
                if (id == TRACE_NO_TIME)
                        continue;
                ck_assert_uint_eq(trace_map_find(&seen, (uint64_t)id), TRACE_MAP_NONE);
                ck_assert_int_eq(trace_map_set(&seen, (uint64_t)id, row), 0);
        }
        ck_assert_uint_gt(n_nothing, 0);
        ck_assert_uint_le(n_nothing, 510);
        trace_map_deinit(&seen);
        world_deinit(&world);
}
END_TEST

static const char *name_of(World *world, uint32_t utid) {
        const TraceTable *table = &world->store->tables[TRACE_TABLE_THREAD];

        return trace_pool_text(&world->store->pool, trace_table_get(table, THREAD_NAME, utid));
}

static const int32_t numbers[] = { INT32_MAX, 1023, 1024, -1, INT32_MIN, INT32_MIN + 1 };

START_TEST(test_the_last_name_stays_whatever_the_number) {
        World world;
        uint32_t x, y;

        world_init(&world);
        x = trace_pool_add_text(&world.store->pool, "x");
        y = trace_pool_add_text(&world.store->pool, "y");
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                uint32_t utid = trace_threads_run(&world.threads, numbers[i], x);

                trace_threads_rename(&world.threads, utid, y);
                ck_assert_str_eq(name_of(&world, utid), "y");
                ck_assert_uint_eq(trace_threads_run(&world.threads, numbers[i], x), utid);
                ck_assert_str_eq(name_of(&world, utid), "x");
        }
        world_deinit(&world);
}
END_TEST

/* A process begins that has the number of another, whose threads are therefore gone. */
START_TEST(test_a_thread_ends_with_its_process_whatever_the_number) {
        World world;
        uint32_t x;

        world_init(&world);
        x = trace_pool_add_text(&world.store->pool, "x");
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                uint32_t utid = trace_threads_of(&world.threads, numbers[i], 50);

                ck_assert_uint_eq(trace_threads_run(&world.threads, numbers[i], x), utid);
                trace_threads_start_process(&world.threads, 50, 5, x);
                ck_assert_uint_ne(trace_threads_run(&world.threads, numbers[i], x), utid);
        }
        world_deinit(&world);
}
END_TEST

TEST_MAIN("trace-threads",
          test_it_is_the_number_as_long_as_nothing_changes,
          test_what_is_heard_between_changes_does_not_matter,
          test_no_two_threads_have_the_same,
          test_the_last_name_stays_whatever_the_number,
          test_a_thread_ends_with_its_process_whatever_the_number)
