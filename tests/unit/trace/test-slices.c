/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Begins and ends become nested slices, and ends that fit nothing do no harm. */

#include "test.h"
#include "trace/trace-slices.h"

typedef struct World {
        TraceStore *store;
        TraceArgSets sets;
        TraceSlices slices;
} World;

static void world_init(World *world) {
        *world = (World){ 0 };
        ck_assert_int_eq(trace_store_new(&world->store, 1 << 26), 0);
        world->slices.store = world->store;
        world->slices.sets = &world->sets;
}

static void world_deinit(World *world) {
        trace_slices_deinit(&world->slices);
        trace_arg_sets_deinit(&world->sets);
        trace_store_free(world->store);
}

static uint32_t name(World *world, const char *text) {
        return text ? trace_pool_add_text(&world->store->pool, text) : 0;
}

static uint32_t begin(World *world, int64_t at_ns, int64_t dur, const char *text) {
        return trace_slices_begin(&world->slices, 0, at_ns, dur, 0, name(world, text), TRACE_NONE);
}

static uint32_t end(World *world, int64_t at_ns, const char *text) {
        return trace_slices_end(&world->slices, 0, at_ns, 0, name(world, text), TRACE_NONE);
}

static int64_t dur(const World *world, uint32_t row) {
        return trace_table_i64(&world->store->tables[TRACE_TABLE_SLICE], SLICE_DUR, row);
}

static uint32_t parent(const World *world, uint32_t row) {
        return trace_table_get(&world->store->tables[TRACE_TABLE_SLICE], SLICE_PARENT, row);
}

START_TEST(test_slices_are_inside_of_each_other) {
        _cleanup_(world_deinit) World world;
        uint32_t outer, inner;

        world_init(&world);
        outer = begin(&world, 10, -1, "outer");
        inner = begin(&world, 20, -1, "inner");
        ck_assert_uint_eq(end(&world, 30, NULL), inner);
        ck_assert_uint_eq(end(&world, 40, NULL), outer);
        ck_assert_int_eq(dur(&world, inner), 10);
        ck_assert_int_eq(dur(&world, outer), 30);
        ck_assert_uint_eq(parent(&world, inner), outer);
        ck_assert_uint_eq(parent(&world, outer), TRACE_NONE);
}
END_TEST

START_TEST(test_an_end_with_a_name_is_of_that_slice) {
        _cleanup_(world_deinit) World world;
        uint32_t outer, inner, next;

        world_init(&world);
        outer = begin(&world, 10, -1, "outer");
        inner = begin(&world, 20, -1, "inner");
        ck_assert_uint_eq(end(&world, 40, "outer"), outer);
        ck_assert_int_eq(dur(&world, inner), -1);
        next = begin(&world, 50, -1, "next");
        /* What was open inside ended with it. */
        ck_assert_int_eq(dur(&world, inner), 20);
        ck_assert_uint_eq(parent(&world, next), TRACE_NONE);
        ck_assert_uint_eq(world.slices.n_misplaced, 1);
}
END_TEST

START_TEST(test_an_end_without_a_begin_is_counted) {
        _cleanup_(world_deinit) World world;

        world_init(&world);
        ck_assert_uint_eq(end(&world, 10, NULL), TRACE_NONE);
        begin(&world, 20, -1, "x");
        ck_assert_uint_eq(end(&world, 30, "y"), TRACE_NONE);
        ck_assert_uint_eq(world.slices.n_unmatched, 2);
}
END_TEST

START_TEST(test_what_is_open_at_the_end_stays_so) {
        _cleanup_(world_deinit) World world;

        world_init(&world);
        ck_assert_int_eq(dur(&world, begin(&world, 10, -1, "x")), -1);
}
END_TEST

START_TEST(test_slices_are_only_so_deep) {
        _cleanup_(world_deinit) World world;

        world_init(&world);
        for (int64_t i = 0; i < TRACE_SLICE_DEPTH_MAX; i++)
                ck_assert_uint_ne(begin(&world, i, -1, "deep"), TRACE_NONE);
        ck_assert_uint_eq(begin(&world, TRACE_SLICE_DEPTH_MAX, -1, "deep"), TRACE_NONE);
        ck_assert_uint_eq(world.slices.n_too_deep, 1);
}
END_TEST

START_TEST(test_one_that_would_end_after_its_parent_is_left_out) {
        _cleanup_(world_deinit) World world;

        world_init(&world);
        ck_assert_uint_ne(begin(&world, 10, 100, "outer"), TRACE_NONE);
        ck_assert_uint_eq(begin(&world, 50, 100, "inner"), TRACE_NONE);
        ck_assert_uint_ne(begin(&world, 50, 60, "inner"), TRACE_NONE);
        ck_assert_uint_eq(world.slices.n_overlapping, 1);
}
END_TEST

TEST_MAIN("trace-slices",
          test_slices_are_inside_of_each_other,
          test_an_end_with_a_name_is_of_that_slice,
          test_an_end_without_a_begin_is_counted,
          test_what_is_open_at_the_end_stays_so,
          test_slices_are_only_so_deep,
          test_one_that_would_end_after_its_parent_is_left_out)
