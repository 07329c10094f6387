/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Of those that connect: who is served when, and who is refused. */

#include "accept/accept-queue.h"
#include "test.h"

#define ALICE 1000
#define BOB   1001
#define S     (UINT64_C(1000000000))

static AcceptQueue queue;
static uint64_t now;

static void setup(void) {
        now = 1000 * S;
        accept_queue_init(&queue);
}

static void teardown(void) {
        Accepted accepted;

        while (accept_queue_take_any(&queue, &accepted))
                ;
        accept_queue_deinit(&queue);
}

/* The descriptor that was refused, or -1. */
static int put_uid(uid_t uid, uid_t user, int fd) {
        const Accepted accepted = { .fd = fd, .user = user };
        Accepted refused = { .fd = -1 };

        ck_assert_int_eq(accept_queue_put(&queue, &accepted, uid, now, &refused), refused.fd < 0);
        return refused.fd;
}

static int put(uid_t user, int fd) {
        return put_uid(user, user, fd);
}

static int take(void) {
        Accepted accepted = { .fd = -1 };

        ck_assert_int_eq(accept_queue_take(&queue, &accepted, now), accepted.fd >= 0);
        return accepted.fd;
}

START_TEST(test_users_are_served_in_turn) {
        setup();
        for (int i = 0; i < 100; i++)
                ck_assert_int_eq(put(ALICE, i), -1);
        ck_assert_int_eq(put(BOB, 200), -1);
        ck_assert_int_eq(put(BOB, 201), -1);
        ck_assert_int_eq(take(), 0);
        ck_assert_int_eq(take(), 200);
        ck_assert_int_eq(take(), 1);
        ck_assert_int_eq(take(), 201);
        ck_assert_int_eq(take(), 2);
        teardown();
}
END_TEST

START_TEST(test_a_users_waiting_connections_are_limited_whatever_its_uids) {
        setup();
        for (int i = 0; i < ACCEPT_WAITING_PER_USER_MAX; i++) {
                ck_assert(!accept_queue_refuses(&queue, 100000 + (uid_t)(i % 8), now));
                ck_assert_int_eq(put_uid(100000 + (uid_t)(i % 8), ALICE, i), -1);
        }
        for (uid_t uid = 100000; uid < 100008; uid++)
                ck_assert(accept_queue_refuses(&queue, uid, now));
        ck_assert(!accept_queue_refuses(&queue, BOB, now));
        ck_assert_int_eq(put_uid(100009, ALICE, 5000), 5000);
        ck_assert(accept_queue_refuses(&queue, 100009, now));
        ck_assert_int_eq(put(BOB, 1), -1);
        take();
        ck_assert_int_eq(put(ALICE, 5001), -1);
        teardown();
}
END_TEST

START_TEST(test_with_no_room_the_largest_queue_loses_its_newest) {
        int fd = 0;

        setup();
        for (uid_t user = 1; user <= ACCEPT_WAITING_MAX / ACCEPT_WAITING_PER_USER_MAX; user++)
                for (size_t i = 0; i < ACCEPT_WAITING_PER_USER_MAX; i++)
                        ck_assert_int_eq(put(user, fd++), -1);
        ck_assert_int_eq(put(ALICE, 100000), ACCEPT_WAITING_PER_USER_MAX - 1);
        ck_assert_uint_eq(queue.n, ACCEPT_WAITING_MAX);
        ck_assert_int_eq(put(0, 100001), 2 * ACCEPT_WAITING_PER_USER_MAX - 1);
        teardown();
}
END_TEST

START_TEST(test_root_may_have_all_of_it) {
        setup();
        for (int i = 0; i < ACCEPT_WAITING_MAX; i++)
                ck_assert_int_eq(put(0, i), -1);
        for (int i = 0; i < ACCEPT_WAITING_MAX; i++)
                ck_assert_int_eq(take(), i);
        teardown();
}
END_TEST

START_TEST(test_a_user_is_served_a_burst_and_then_at_a_rate) {
        size_t n = 0;
        int fd = 0;

        setup();
        for (unsigned second = 0; second < 3; second++) {
                do
                        n += put(ALICE, fd++) < 0;
                while (take() >= 0);
                n--; /* it waits */
        }
        ck_assert_uint_eq(n + 2, ACCEPT_SERVED_MAX + 2);
        ck_assert_uint_gt(accept_queue_next_at(&queue), now);
        ck_assert_int_eq(put(BOB, 7), -1);
        ck_assert_uint_le(accept_queue_next_at(&queue), now);
        ck_assert_int_eq(take(), 7);
        for (size_t i = 0; i < 2 * ACCEPT_SERVED_RATE; i++)
                put(ALICE, fd++);
        now += S;
        for (n = 0; take() >= 0; n++)
                ;
        ck_assert_uint_eq(n, ACCEPT_SERVED_RATE);
        teardown();
}
END_TEST

START_TEST(test_a_user_that_was_refused_is_refused_for_a_while_and_nobody_else) {
        Accepted accepted;

        setup();
        ck_assert_uint_eq(accept_queue_next_at(&queue), UINT64_MAX);
        for (int i = 0; i < 3; i++)
                ck_assert_int_eq(put(ALICE, i), -1);
        ck_assert_int_eq(put(BOB, 10), -1);
        ck_assert_int_eq(take(), 0);
        accept_queue_refuse(&queue, ALICE, now);
        ck_assert(accept_queue_refuses(&queue, ALICE, now));
        ck_assert_int_eq(put(ALICE, 3), 3);
        ck_assert_int_eq(take(), 10);
        ck_assert_int_eq(take(), -1);
        ck_assert(accept_queue_take_refused(&queue, &accepted, now));
        ck_assert_int_eq(accepted.fd, 1);
        now += ACCEPT_REFUSE_NS;
        ck_assert(!accept_queue_take_refused(&queue, &accepted, now));
        ck_assert(!accept_queue_refuses(&queue, ALICE, now));
        ck_assert_int_eq(put(ALICE, 4), -1);
        ck_assert_int_eq(take(), 2);
        ck_assert_int_eq(take(), 4);
        teardown();
}
END_TEST

START_TEST(test_users_are_forgotten) {
        setup();
        for (uid_t user = 1; user < 1000; user++) {
                ck_assert_int_eq(put(user, 1), -1);
                ck_assert_int_eq(take(), 1);
                now += S;
        }
        ck_assert_ptr_eq(queue.users.next->next, &queue.users); /* one is left */
        teardown();
}
END_TEST

TEST_MAIN("accept-queue",
          test_users_are_served_in_turn,
          test_a_users_waiting_connections_are_limited_whatever_its_uids,
          test_with_no_room_the_largest_queue_loses_its_newest,
          test_root_may_have_all_of_it,
          test_a_user_is_served_a_burst_and_then_at_a_rate,
          test_a_user_that_was_refused_is_refused_for_a_while_and_nobody_else,
          test_users_are_forgotten)
