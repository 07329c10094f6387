/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whatever order events come in, they are given back in the order of their times. */

#include "test.h"
#include "trace/trace-queue.h"

static void put(TraceQueue *queue, size_t lane, uint64_t at_ns, uint32_t a) {
        const TraceEntry entry = { .at_ns = at_ns, .a = a };

        if (trace_queue_add(queue, lane, &entry)) /* an assertion takes too long for each of them */
                ck_abort_msg("out of memory");
}

/* All that is left, as numbers; at most n. */
static size_t take_all(TraceQueue *queue, uint32_t *ret, uint64_t *ret_times, size_t n) {
        TraceTaken taken[7];
        size_t n_new, n_taken = 0;

        ck_assert_int_eq(trace_queue_sort(queue), 0);
        while ((n_new = trace_queue_take(queue, taken, ARRAY_SIZE(taken))))
                for (size_t i = 0; i < n_new; i++) {
                        if (n_taken == n)
                                ck_abort_msg("too many");
                        ret[n_taken] = taken[i].entry.a;
                        ret_times[n_taken++] = taken[i].entry.at_ns;
                }
        return n_taken;
}

START_TEST(test_lanes_are_merged_by_time) {
        _cleanup_(trace_queue_deinit) TraceQueue queue = { 0 };
        uint32_t numbers[8];
        uint64_t times[8];
        size_t x, y;

        x = trace_queue_add_lane(&queue, 1);
        y = trace_queue_add_lane(&queue, 2);
        put(&queue, x, 10, 0);
        put(&queue, x, 30, 2);
        put(&queue, y, 20, 1);
        put(&queue, y, 40, 3);
        ck_assert_uint_eq(take_all(&queue, numbers, times, 8), 4);
        for (uint32_t i = 0; i < 4; i++)
                ck_assert_uint_eq(numbers[i], i);
}
END_TEST

/* At 10, the lane of the lower rank comes first; it goes on at 20, as it gave the event before. */
START_TEST(test_a_lane_goes_on_where_times_are_equal) {
        _cleanup_(trace_queue_deinit) TraceQueue queue = { 0 };
        uint32_t numbers[8];
        uint64_t times[8];
        size_t x, y;

        y = trace_queue_add_lane(&queue, 2);
        x = trace_queue_add_lane(&queue, 1);
        put(&queue, y, 10, 2);
        put(&queue, y, 20, 3);
        put(&queue, x, 10, 0);
        put(&queue, x, 10, 1);
        ck_assert_uint_eq(take_all(&queue, numbers, times, 8), 4);
        for (uint32_t i = 0; i < 4; i++)
                ck_assert_uint_eq(numbers[i], i);
}
END_TEST

START_TEST(test_what_came_first_is_first_of_equals) {
        _cleanup_(trace_queue_deinit) TraceQueue queue = { 0 };
        uint32_t numbers[4];
        uint64_t times[4];
        size_t lane = trace_queue_add_lane(&queue, 0);

        put(&queue, lane, 20, 2);
        put(&queue, lane, 10, 0);
        put(&queue, lane, 20, 3);
        put(&queue, lane, 10, 1);
        ck_assert_uint_eq(take_all(&queue, numbers, times, 4), 4);
        for (uint32_t i = 0; i < 4; i++)
                ck_assert_uint_eq(numbers[i], i);
}
END_TEST

#define N_LANES 37
#define N       50000

START_TEST(test_any_order_is_put_right_and_nothing_is_lost) {
        _cleanup_(trace_queue_deinit) TraceQueue queue = { 0 };
        uint32_t *numbers = calloc(N, sizeof(*numbers));
        uint64_t *times = calloc(N, sizeof(*times)), random = 1;
        uint8_t *seen = calloc(N, 1);
        size_t n_wrong = 0;

        for (size_t i = 0; i < N_LANES; i++)
                ck_assert_uint_eq(trace_queue_add_lane(&queue, i), i);
        for (uint32_t i = 0; i < N; i++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                put(&queue, (random >> 33) % N_LANES, (random >> 40) % 5000, i);
        }
        ck_assert_uint_eq(take_all(&queue, numbers, times, N), N);
        for (uint32_t i = 0; i < N; i++) {
                n_wrong += i > 0 && times[i - 1] > times[i];
                n_wrong += seen[numbers[i]]++ != 0;
        }
        ck_assert_uint_eq(n_wrong, 0);
        free(numbers);
        free(times);
        free(seen);
}
END_TEST

/* No event is later, and lanes that are at their end are not taken for it. */
START_TEST(test_the_end_of_time_is_a_time) {
        _cleanup_(trace_queue_deinit) TraceQueue queue = { 0 };
        uint32_t numbers[8];
        uint64_t times[8];
        size_t x = trace_queue_add_lane(&queue, 1), y = trace_queue_add_lane(&queue, 2),
               z = trace_queue_add_lane(&queue, 3);

        put(&queue, x, 5, 0);
        put(&queue, y, UINT64_MAX, 2);
        put(&queue, y, UINT64_MAX, 3);
        put(&queue, z, 7, 1);
        put(&queue, z, UINT64_MAX, 4);
        ck_assert_uint_eq(take_all(&queue, numbers, times, 8), 5);
        ck_assert_uint_eq(numbers[0], 0);
        ck_assert_uint_eq(numbers[1], 1);
        for (uint32_t i = 2; i < 5; i++)
                ck_assert_uint_eq(times[i], UINT64_MAX);
}
END_TEST

/* Between lanes, as between the neighbours in a tree: which gave the last event, then the rank. */
START_TEST(test_ties_between_many_lanes_are_decided_by_rank) {
        _cleanup_(trace_queue_deinit) TraceQueue queue = { 0 };
        uint32_t numbers[64];
        uint64_t times[64];

        for (uint32_t i = 0; i < 11; i++) {
                size_t lane = trace_queue_add_lane(&queue, 20 - i);

                put(&queue, lane, 1, 10 - i);
                put(&queue, lane, 2, 11 + i);
        }
        ck_assert_uint_eq(take_all(&queue, numbers, times, 64), 22);
        for (uint32_t i = 0; i < 11; i++)
                ck_assert_uint_eq(numbers[i], i);
        ck_assert_uint_eq(numbers[11], 11); /* of the lane that gave the last one at 1 */
        for (uint32_t i = 12; i < 22; i++)
                ck_assert_uint_eq(numbers[i], 33 - i);
}
END_TEST

START_TEST(test_an_empty_queue_ends_at_once) {
        _cleanup_(trace_queue_deinit) TraceQueue queue = { 0 };
        TraceTaken taken;

        ck_assert_int_eq(trace_queue_sort(&queue), 0);
        ck_assert_uint_eq(trace_queue_take(&queue, &taken, 1), 0);
        trace_queue_add_lane(&queue, 0);
        ck_assert_int_eq(trace_queue_sort(&queue), 0);
        ck_assert_uint_eq(trace_queue_take(&queue, &taken, 1), 0);
        ck_assert_uint_eq(trace_queue_take(&queue, &taken, 1), 0);
}
END_TEST

#define N_MODEL 2000

typedef struct Model {
        uint64_t times[N_LANES][N_MODEL];
        uint32_t numbers[N_LANES][N_MODEL];
        size_t n[N_LANES], at[N_LANES];
} Model;

/* The lane of the next event, found by looking at each; -1 at the end. */
static int model_next(const Model *model, int last) {
        int best = -1;

        for (int i = 0; i < N_LANES; i++)
                if (model->at[i] < model->n[i] &&
                    (best < 0 ||
                     model->times[i][model->at[i]] < model->times[best][model->at[best]] ||
                     (i == last &&
                      model->times[i][model->at[i]] == model->times[best][model->at[best]])))
                        best = i;
        return best;
}

static void check_order(unsigned shift) {
        _cleanup_(trace_queue_deinit) TraceQueue queue = { 0 };
        Model *model = calloc(1, sizeof(*model));
        uint32_t numbers[N_MODEL];
        uint64_t times[N_MODEL], random = 3, now[N_LANES] = { 0 };
        int lane = -1;

        for (size_t i = 0; i < N_LANES; i++)
                trace_queue_add_lane(&queue, i);
        for (uint32_t i = 0; i < N_MODEL; i++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                lane = (int)((random >> 33) % N_LANES);
                now[lane] += (random >> 60) % 4 << shift;
                put(&queue, (size_t)lane, now[lane], i);
                model->times[lane][model->n[lane]] = now[lane];
                model->numbers[lane][model->n[lane]++] = i;
        }
        ck_assert_uint_eq(take_all(&queue, numbers, times, N_MODEL), N_MODEL);
        lane = -1;
        for (uint32_t i = 0; (lane = model_next(model, lane)) >= 0; i++)
                ck_assert_uint_eq(numbers[i], model->numbers[lane][model->at[lane]++]);
        free(model);
}

/* Times are often equal, and otherwise near to each other, or years apart. */
START_TEST(test_the_order_is_that_of_a_plain_search) {
        check_order(0);
        check_order(30);
        check_order(55);
}
END_TEST

/* Packed here: a byte for each event, which is its time. */
static size_t unpack(void *user_data,
                     uint64_t rank,
                     const void *bytes,
                     size_t n_bytes,
                     bool is_first,
                     TraceEntry *ret,
                     size_t n_max) {
        size_t *at = user_data, n = 0;

        if (is_first)
                at[rank] = 0;
        for (; n < n_max && at[rank] < n_bytes; n++)
                ret[n] = (TraceEntry){ .at_ns = ((const uint8_t *)bytes)[at[rank]++],
                                       .a = (uint32_t)rank };
        return n;
}

static void put_packed(TraceQueue *queue, size_t lane, uint8_t from, uint8_t to) {
        uint8_t bytes[UINT8_MAX];
        size_t n = 0;

        for (unsigned at_ns = from; at_ns <= to; at_ns += 2)
                bytes[n++] = (uint8_t)at_ns;
        ck_assert_int_eq(trace_queue_add_packed(queue, lane, bytes, n, from, to), 0);
}

/* More than are unpacked at a time, in two lanes that take turns; one has events of the other kind as well. */
START_TEST(test_packed_events_are_merged_like_others) {
        _cleanup_(trace_queue_deinit) TraceQueue queue = { .unpack = unpack };
        size_t x, y, n, at[2];
        uint32_t numbers[300];
        uint64_t times[300];

        queue.user_data = at;
        x = trace_queue_add_lane(&queue, 0);
        y = trace_queue_add_lane(&queue, 1);
        ck_assert_int_eq(trace_queue_add_packed(&queue, x, "", 0, 0, 0), 0);
        put_packed(&queue, x, 2, 200);
        put(&queue, x, 201, 0);
        put_packed(&queue, x, 202, 220);
        put_packed(&queue, y, 1, 221);
        n = take_all(&queue, numbers, times, 300);
        ck_assert_uint_eq(n, 222);
        for (size_t i = 1; i < n; i++)
                ck_assert_uint_ge(times[i], times[i - 1]);
        ck_assert_uint_eq(numbers[0], 1);
        ck_assert_uint_eq(numbers[1], 0);
}
END_TEST

START_TEST(test_a_lane_with_packed_events_is_sorted_if_it_has_to_be) {
        _cleanup_(trace_queue_deinit) TraceQueue queue = { .unpack = unpack };
        uint32_t numbers[300];
        uint64_t times[300];
        size_t lane, n, at[2];

        queue.user_data = at;
        lane = trace_queue_add_lane(&queue, 0);
        put(&queue, lane, 150, 7);
        put_packed(&queue, lane, 2, 200);
        put(&queue, lane, 99, 8);
        n = take_all(&queue, numbers, times, 300);
        ck_assert_uint_eq(n, 102);
        for (size_t i = 1; i < n; i++)
                ck_assert_uint_ge(times[i], times[i - 1]);
        ck_assert_uint_eq(times[49], 99);
        ck_assert_uint_eq(numbers[49], 8);
        ck_assert_uint_eq(numbers[75], 7);
}
END_TEST

START_TEST(test_packed_lanes_without_an_event_give_nothing) {
        _cleanup_(trace_queue_deinit) TraceQueue queue = { .unpack = unpack };
        uint32_t numbers[4];
        uint64_t times[4];
        size_t x, y, at[2];

        queue.user_data = at;
        x = trace_queue_add_lane(&queue, 0);
        y = trace_queue_add_lane(&queue, 1);
        ck_assert_int_eq(trace_queue_add_packed(&queue, x, "", 0, 5, 9), 0);
        ck_assert_int_eq(trace_queue_add_packed(&queue, x, "", 0, 5, 9), 0);
        ck_assert_int_eq(trace_queue_add_packed(&queue, y, "", 0, 0, 0), 0);
        ck_assert_uint_eq(take_all(&queue, numbers, times, 4), 0);
}
END_TEST

TEST_MAIN("trace-queue",
          test_lanes_are_merged_by_time,
          test_a_lane_goes_on_where_times_are_equal,
          test_what_came_first_is_first_of_equals,
          test_any_order_is_put_right_and_nothing_is_lost,
          test_the_end_of_time_is_a_time,
          test_ties_between_many_lanes_are_decided_by_rank,
          test_an_empty_queue_ends_at_once,
          test_the_order_is_that_of_a_plain_search,
          test_packed_events_are_merged_like_others,
          test_a_lane_with_packed_events_is_sorted_if_it_has_to_be,
          test_packed_lanes_without_an_event_give_nothing)
