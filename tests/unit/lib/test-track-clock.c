/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The clock of threads, with a machine whose counter and kernel are made up. */

#include <stdlib.h>

#include "lib/track-clock.h"
#include "test.h"

#define NS_PER_MS            UINT64_C(1000000)
#define TICKS_PER_US         3000 /* of true time, which nobody on the machine knows */
#define CLOSE_TICKS          150  /* 50 ns */
#define ERROR_NS             100
#define ERROR_TEN_PERCENT_NS 6000

/* The kernel's clock runs at its own rate, which somebody corrects. */
static struct {
        double true_us;
        double kernel_ns;
        double kernel_rate; /* of its nanoseconds to true ones */
        uint64_t counter;
        uint64_t read_ticks; /* that a look at both takes */
} machine;

static TrackClock thread_clock;

static void machine_run(double us) {
        machine.true_us += us;
        machine.kernel_ns += us * 1000 * machine.kernel_rate;
        machine.counter += (uint64_t)(us * TICKS_PER_US);
}

/* The kernel's part of it is not quite in the middle. */
static void machine_read(ClockPair *ret) {
        uint64_t before = machine.counter;

        machine_run((double)machine.read_ticks * 0.4 / TICKS_PER_US);
        ret->ns = (uint64_t)machine.kernel_ns;
        machine_run((double)machine.read_ticks * 0.6 / TICKS_PER_US);
        ret->n_ticks = machine.counter - before;
        ret->counter = before + ret->n_ticks / 2;
}

static uint64_t say(void) {
        return clock_compute(&thread_clock, machine.counter)
                       ?: clock_anchor(&thread_clock, machine_read);
}

/* How far what it says is off; it was the time when it was asked or when it answered. */
static double say_error(void) {
        double before_ns = machine.kernel_ns;
        double said_ns = (double)say();

        if (said_ns < before_ns - 1)
                return before_ns - said_ns;
        return said_ns > machine.kernel_ns ? said_ns - machine.kernel_ns : 0;
}

static double worst_error(unsigned n_events, double us_between) {
        uint64_t last_ns = thread_clock.last_ns;
        double worst = 0;

        for (unsigned i = 0; i < n_events; i++) {
                double error = say_error();

                worst = error > worst ? error : worst;
                ck_assert_uint_ge(thread_clock.last_ns, last_ns);
                last_ns = thread_clock.last_ns;
                machine_run(us_between);
        }
        return worst;
}

/* A thread that has emitted for a while, so that it knows the rate. */
static void machine_init(void) {
        machine.true_us = 0;
        machine.kernel_ns = 1e15; /* eleven days */
        machine.kernel_rate = 1;
        machine.counter = UINT64_C(1) << 50;
        machine.read_ticks = CLOSE_TICKS;
        thread_clock = (TrackClock){};
}

static void machine_start(void) {
        machine_init();
        ck_assert_double_le(worst_error(3000, 1), ERROR_NS);
        ck_assert_uint_gt(thread_clock.n_ticks, 0);
}

START_TEST(test_says_the_kernels_time_until_the_rate_is_known) {
        machine_init();
        for (unsigned i = 0; i < 900; i++) {
                ck_assert_double_eq(say_error(), 0);
                ck_assert_uint_eq(thread_clock.n_ticks, 0);
                machine_run(1);
        }
        machine_run(200);
        say();
        ck_assert_uint_gt(thread_clock.n_ticks, 0);
}
END_TEST

START_TEST(test_asks_the_kernel_once_for_many_events) {
        uint64_t anchor;

        machine_start();
        machine_run(1000);
        say();
        anchor = thread_clock.anchor.counter;
        for (unsigned i = 0; i < 40; i++) {
                machine_run(1);
                say();
        }
        ck_assert_uint_eq(thread_clock.anchor.counter, anchor);
        machine_run(20);
        say();
        ck_assert_uint_ne(thread_clock.anchor.counter, anchor);
}
END_TEST

START_TEST(test_is_right_while_the_time_is_corrected) {
        machine_start();
        srand(1);
        for (unsigned i = 0; i < 300; i++) {
                machine.kernel_rate = 1 + (rand() % 1000 - 500) / 1e6;
                ck_assert_double_le(worst_error((unsigned)(rand() % 2000), 0.1 * (rand() % 100)),
                                    ERROR_NS);
        }
}
END_TEST

START_TEST(test_never_goes_back_when_the_kernels_clock_gets_slow) {
        static const double rates[] = { 0.9, 1, 1.1, 1 };

        machine_start();
        for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
                machine.kernel_rate = rates[i];
                ck_assert_double_le(worst_error(4000, 1), ERROR_TEN_PERCENT_NS);
                ck_assert_double_le(worst_error(100000, 1), ERROR_NS);
        }
}
END_TEST

START_TEST(test_is_right_after_sleep) {
        static const struct {
                double seconds;
                int64_t counter_goes_on; /* ticks; or -1: begins again */
        } sleeps[] = {
                { 3600, 0 },  { 0.3, 0 },  { 3600, INT64_C(3600) * TICKS_PER_US * 1000000 },
                { 3600, -1 }, { 0.3, -1 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(sleeps); i++) {
                machine_start();
                machine.kernel_ns += sleeps[i].seconds * 1e9;
                machine.counter += (uint64_t)sleeps[i].counter_goes_on;
                if (sleeps[i].counter_goes_on < 0)
                        machine.counter = 0;
                /* The kernel needs longer than an anchor is good for. */
                machine_run((double)CLOCK_ANCHOR_NS / 1000);
                ck_assert_double_le(worst_error(10000, 1), ERROR_NS);
        }
}
END_TEST

START_TEST(test_interrupted_look_is_no_anchor) {
        machine_start();
        machine_run(100);
        machine.read_ticks = 30 * TICKS_PER_US;
        ck_assert_double_eq(say_error(), 0);
        ck_assert_uint_eq(thread_clock.n_ticks, 0);
        machine.read_ticks = CLOSE_TICKS;
        ck_assert_double_eq(say_error(), 0);
        ck_assert_uint_gt(thread_clock.n_ticks, 0);
        ck_assert_double_le(worst_error(10000, 1), ERROR_NS);
}
END_TEST

START_TEST(test_rate_is_not_measured_by_interrupted_looks) {
        machine_init();
        say();
        for (unsigned i = 0; i < 100; i++) {
                machine_run(1100);
                machine.read_ticks = i % 2 == 0 ? 30 * TICKS_PER_US : CLOSE_TICKS;
                say();
                ck_assert_uint_eq(thread_clock.n_ticks, 0);
        }
        machine_run(1100);
        machine.read_ticks = CLOSE_TICKS;
        ck_assert_double_le(worst_error(10000, 1), ERROR_NS);
        ck_assert_uint_gt(thread_clock.n_ticks, 0);
}
END_TEST

START_TEST(test_old_rate_is_forgotten) {
        machine_start();
        machine.kernel_rate = 1.1;
        machine_run(2e6);
        ck_assert_double_eq(say_error(), 0);
        ck_assert_uint_eq(thread_clock.n_ticks, 0);
        ck_assert_double_le(worst_error(10000, 1), ERROR_NS);
}
END_TEST

START_TEST(test_counter_is_left_when_looks_take_long) {
        machine_start();
        machine.read_ticks = 1000; /* a clock that is a system call */
        machine_run(100);
        for (unsigned i = 0; i < CLOCK_FAILURES_MAX; i++)
                ck_assert_double_eq(say_error(), 0);
        ck_assert_uint_ge(thread_clock.n_failures, CLOCK_FAILURES_MAX);
        ck_assert_uint_eq(thread_clock.n_ticks, 0);
}
END_TEST

/* The promise is 100 ns, but a virtual machine's host may do to its counters what it likes. */
START_TEST(test_this_machines_clock_is_right_and_never_goes_back) {
        TrackClock clock = {};
        uint64_t last_ns = 0;

        track_clock_prepare();
        for (unsigned i = 0; i < 300000; i++) {
                uint64_t before_ns = track_now_ns(), said_ns = track_clock_now(&clock);

                ck_assert_uint_ge(said_ns + 10 * ERROR_NS, before_ns);
                ck_assert_uint_le(said_ns, track_now_ns() + 10 * ERROR_NS);
                ck_assert_uint_ge(said_ns, last_ns);
                last_ns = said_ns;
        }
}
END_TEST

TEST_MAIN("track-clock",
          test_says_the_kernels_time_until_the_rate_is_known,
          test_asks_the_kernel_once_for_many_events,
          test_is_right_while_the_time_is_corrected,
          test_never_goes_back_when_the_kernels_clock_gets_slow,
          test_is_right_after_sleep,
          test_interrupted_look_is_no_anchor,
          test_rate_is_not_measured_by_interrupted_looks,
          test_old_rate_is_forgotten,
          test_counter_is_left_when_looks_take_long,
          test_this_machines_clock_is_right_and_never_goes_back)
