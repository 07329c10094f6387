/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <unistd.h>

#include "../test.h"
#include "bus/link/doorbells.h"
#include "shared/macro.h"

#define N 100 /* more than a turn takes */

static sd_event *event;
static Doorbells doorbells;
static Doorbell bells[N];
static unsigned n_rung[N];
static size_t to_close = N; /* by the next one to ring */

static void on_rang(Doorbell *doorbell) {
        n_rung[doorbell - bells]++;
        if (to_close < N)
                doorbell_close(&bells[to_close]);
}

static void ring(Doorbell *doorbell) {
        const uint64_t one = 1;

        ck_assert_int_eq(write(doorbell->fd, &one, sizeof(one)), sizeof(one));
}

static void run(void) {
        while (sd_event_run(event, 0) > 0)
                ;
}

static uint64_t now_ns(void) {
        uint64_t usec;

        ck_assert_int_ge(sd_event_now(event, CLOCK_BOOTTIME, &usec), 0);
        return usec * 1000;
}

static void start(void) {
        memset(n_rung, 0, sizeof(n_rung));
        to_close = N;
        ck_assert_int_ge(sd_event_new(&event), 0);
        ck_assert_int_ge(doorbells_init(&doorbells, event), 0);
        for (size_t i = 0; i < N; i++)
                ck_assert_int_ge(doorbell_open(&bells[i], &doorbells, on_rang), 0);
        run();
}

static void end(void) {
        for (size_t i = 0; i < N; i++)
                doorbell_close(&bells[i]);
        doorbells_deinit(&doorbells);
        event = sd_event_unref(event);
}

START_TEST(test_each_ring_is_heard) {
        start();
        for (size_t i = 0; i < N; i++)
                ck_assert_uint_eq(n_rung[i], 0);
        for (size_t i = 0; i < N; i++)
                ring(&bells[i]);
        run();
        for (size_t i = 0; i < N; i++)
                ck_assert_uint_eq(n_rung[i], 1);
        ck_assert_uint_eq(doorbells_deadline(&doorbells), UINT64_MAX);
        end();
}
END_TEST

START_TEST(test_a_producer_that_rings_too_often_is_heard_later_and_disturbs_nobody) {
        start();
        for (unsigned i = 0; doorbells_deadline(&doorbells) == UINT64_MAX; i++) {
                ck_assert_uint_lt(i, 100000); /* an interval is over now and then */
                ring(&bells[0]);
                run();
        }
        ck_assert_uint_ge(n_rung[0], DOORBELL_BURST);
        n_rung[0] = 0;
        ring(&bells[0]);
        ring(&bells[1]);
        run();
        ck_assert_uint_eq(n_rung[0], 0);
        ck_assert_uint_eq(n_rung[1], 1);

        /* The doorbell is not handled before its time; then the data is looked at once. */
        doorbells_tick(&doorbells, bells[0].interval_began_ns + DOORBELL_INTERVAL_NS - 1);
        run();
        ck_assert_uint_eq(n_rung[0], 0);
        while (now_ns() < doorbells_deadline(&doorbells)) {
                usleep(1000);
                ring(&bells[2]);
                run();
        }
        doorbells_tick(&doorbells, now_ns());
        run();
        ck_assert_uint_eq(n_rung[0], 1);
        ck_assert_uint_eq(doorbells_deadline(&doorbells), UINT64_MAX);
        end();
}
END_TEST

START_TEST(test_doorbell_that_is_closed_by_another_one_does_not_ring) {
        start();
        for (size_t i = 0; i < 10; i++)
                ring(&bells[i]);
        to_close = 9;
        run();
        ck_assert_uint_eq(n_rung[0], 1);
        ck_assert_uint_eq(n_rung[8], 1);
        ck_assert_uint_eq(n_rung[9], 0);
        end();
}
END_TEST

START_TEST(test_muted_doorbell_may_be_closed) {
        start();
        for (unsigned i = 0; doorbells_deadline(&doorbells) == UINT64_MAX; i++) {
                ck_assert_uint_lt(i, 100000);
                ring(&bells[0]);
                run();
        }
        doorbell_close(&bells[0]);
        doorbell_close(&bells[0]);
        ck_assert_uint_eq(doorbells_deadline(&doorbells), UINT64_MAX);
        end();
}
END_TEST

TEST_MAIN("doorbells",
          test_each_ring_is_heard,
          test_a_producer_that_rings_too_often_is_heard_later_and_disturbs_nobody,
          test_doorbell_that_is_closed_by_another_one_does_not_ring,
          test_muted_doorbell_may_be_closed)
