/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "../test.h"
#include "bus/link/bus.h"
#include "bus/link/call-places.h"

#define ALICE UINT32_C(1000)
#define BOB   UINT32_C(1001)
#define N     1000

static CallPlaces places;
static Called programs[N];

static void start(size_t n_max, bool is_shared) {
        call_places_init(&places);
        places.n_max = n_max;
        places.is_shared = is_shared;
        memset(programs, 0, sizeof(programs));
}

static void add(size_t program, uid_t user, size_t n) {
        while (n-- > 0)
                ck_assert_int_eq(called_add(&programs[program], &places, user), 0);
}

/* The number of the program that is called, which does not answer; -1: nobody may be called. */
static int call(void) {
        Called *next = call_places_next(&places);

        if (!next)
                return -1;
        called_send(next);
        return (int)(next - programs);
}

static unsigned call_all(void) {
        unsigned n = 0;

        while (call() >= 0)
                n++;
        return n;
}

static void end(void) {
        for (size_t i = 0; i < N; i++) {
                while (programs[i].n_unsent > 0)
                        called_drop(&programs[i]);
                while (programs[i].n_out > 0)
                        called_returned(&programs[i]);
                ck_assert_ptr_null(programs[i].user);
        }
        call_places_deinit(&places);
}

START_TEST(test_programs_take_turns) {
        start(96, false);
        add(0, ALICE, 2);
        add(1, ALICE, 2);
        add(2, ALICE, 1);
        ck_assert_int_eq(call(), 0);
        ck_assert_int_eq(call(), 1);
        ck_assert_int_eq(call(), 2);
        ck_assert_int_eq(call(), 0);
        ck_assert_int_eq(call(), 1);
        ck_assert_int_eq(call(), -1);
        end();
}
END_TEST

START_TEST(test_users_take_turns) {
        start(96, true);
        for (size_t i = 0; i < 10; i++)
                add(i, BOB, 4);
        add(10, ALICE, 2);
        ck_assert_int_eq(call(), 0);
        ck_assert_int_eq(call(), 10);
        ck_assert_int_eq(call(), 1);
        ck_assert_int_eq(call(), 10);
        ck_assert_int_eq(call(), 2);
        ck_assert_int_eq(call(), 3);
        end();
}
END_TEST

START_TEST(test_one_program_has_few_calls_out) {
        start(96, false);
        add(0, ALICE, 10);
        ck_assert_uint_eq(call_all(), BUS_CALLS_PER_PRODUCER_MAX);
        called_returned(&programs[0]);
        ck_assert_int_eq(call(), 0);
        ck_assert_int_eq(call(), -1);
        end();
}
END_TEST

START_TEST(test_calls_wait_for_a_place) {
        start(8, false);
        for (size_t i = 0; i < N; i++)
                add(i, ALICE, 1);
        ck_assert_uint_eq(call_all(), 8);
        called_returned(&programs[3]);
        ck_assert_int_eq(call(), 8);
        ck_assert_int_eq(call(), -1);
        end();
}
END_TEST

START_TEST(test_silent_programs_leave_places_for_other_users) {
        start(96, true);
        for (size_t i = 0; i < N / 2; i++)
                add(i, BOB, 4);
        ck_assert_uint_eq(call_all(), 48);
        add(N / 2, ALICE, 4);
        ck_assert_uint_eq(call_all(), 4);
        for (size_t i = N / 2; i < N; i++)
                add(i, ALICE, 4);
        ck_assert_uint_eq(call_all(), 24 - 4);
        ck_assert_uint_lt(places.n_out, places.n_max);
        end();
}
END_TEST

START_TEST(test_calls_that_are_forgotten_give_their_place_up) {
        start(96, true);
        add(0, BOB, 3);
        add(1, BOB, 1);
        called_drop(&programs[0]);
        called_drop(&programs[0]);
        called_drop(&programs[0]);
        ck_assert_ptr_null(programs[0].user);
        ck_assert_int_eq(call(), 1);
        ck_assert_int_eq(call(), -1);
        end();
}
END_TEST

TEST_MAIN("call-places",
          test_programs_take_turns,
          test_users_take_turns,
          test_one_program_has_few_calls_out,
          test_calls_wait_for_a_place,
          test_silent_programs_leave_places_for_other_users,
          test_calls_that_are_forgotten_give_their_place_up)
