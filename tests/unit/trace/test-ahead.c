/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Batches come in their order, whether they are made ahead or not, and may be left. */

#include <sched.h>

#include "test.h"
#include "trace/trace-ahead.h"

#define BATCH 100

typedef struct Numbers {
        uint32_t next, end;
} Numbers;

static size_t make_numbers(void *user_data, void *batch) {
        Numbers *numbers = user_data;
        uint32_t *ret = batch;
        size_t n = 0;

        while (n < BATCH && numbers->next < numbers->end)
                ret[n++] = numbers->next++;
        return n;
}

/* Returns how many numbers came, which are in order. */
static uint32_t take_numbers(TraceAhead *ahead, uint32_t until) {
        const uint32_t *batch;
        uint32_t n_taken = 0;
        size_t n;

        while (n_taken < until && (batch = trace_ahead_next(ahead, &n)))
                for (size_t i = 0; i < n; i++)
                        if (batch[i] != n_taken++)
                                ck_abort_msg("%u in place of %u", batch[i], n_taken - 1);
        return n_taken;
}

static void check_all_of(uint32_t n, bool wants_thread) {
        _cleanup_(trace_ahead_freep) TraceAhead *ahead = NULL;
        Numbers numbers = { .end = n };
        size_t n_more = 1;

        ck_assert_int_eq(
                trace_ahead_new(
                        &ahead, BATCH * sizeof(uint32_t), make_numbers, &numbers, wants_thread),
                0);
        ck_assert_uint_eq(take_numbers(ahead, UINT32_MAX), n);
        ck_assert_ptr_null(trace_ahead_next(ahead, &n_more));
        ck_assert_uint_eq(n_more, 0);
}

static void check_all(uint32_t n) {
        check_all_of(n, true);
        check_all_of(n, false);
}

START_TEST(test_all_come_in_their_order) {
        check_all(0);
        check_all(1);
        check_all(BATCH);
        check_all(123456);
}
END_TEST

START_TEST(test_one_cpu_is_enough) {
        cpu_set_t before, one;
        int cpu;

        ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
        for (cpu = 0; !CPU_ISSET(cpu, &before); cpu++)
                ;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
        check_all(0);
        check_all(12345);
        ck_assert_int_eq(sched_setaffinity(0, sizeof(before), &before), 0);
}
END_TEST

START_TEST(test_the_rest_may_be_left) {
        for (uint32_t n = 0; n < 20 * BATCH; n += BATCH / 2) {
                _cleanup_(trace_ahead_freep) TraceAhead *ahead = NULL;
                Numbers numbers = { .end = 1000000 };

                ck_assert_int_eq(trace_ahead_new(&ahead,
                                                 BATCH * sizeof(uint32_t),
                                                 make_numbers,
                                                 &numbers,
                                                 n % BATCH),
                                 0);
                ck_assert_uint_ge(take_numbers(ahead, n), n);
        }
}
END_TEST

TEST_MAIN("trace-ahead",
          test_all_come_in_their_order,
          test_one_cpu_is_enough,
          test_the_rest_may_be_left)
