/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdlib.h>

#include "bus/link/signal-room.h"
#include "test.h"

#define NOISY UINT32_C(1000)
#define OTHER UINT32_C(1001)
#define NOW   UINT64_C(1000000000)

static unsigned n_taken(SignalRoom *room, uid_t user, bool is_awaited, uint64_t now) {
        unsigned n = 0;

        while (n <= SIGNALS_AWAITED_PER_USER_MAX && signal_room_take(room, user, is_awaited, now))
                n++;
        return n;
}

START_TEST(test_signals_of_a_user_are_limited) {
        SignalRoom room = {};

        ck_assert_uint_eq(n_taken(&room, NOISY, false, NOW), SIGNALS_PER_USER_MAX);
}
END_TEST

START_TEST(test_what_is_awaited_is_sent_for_longer) {
        SignalRoom room = {};

        ck_assert_uint_eq(n_taken(&room, NOISY, false, NOW), SIGNALS_PER_USER_MAX);
        ck_assert_uint_eq(n_taken(&room, NOISY, true, NOW),
                          SIGNALS_AWAITED_PER_USER_MAX - SIGNALS_PER_USER_MAX);
        ck_assert(!signal_room_take(&room, NOISY, false, NOW));
}
END_TEST

START_TEST(test_others_have_room_of_their_own) {
        SignalRoom room = {};

        n_taken(&room, NOISY, true, NOW);
        ck_assert_uint_eq(n_taken(&room, OTHER, false, NOW), SIGNALS_PER_USER_MAX);
}
END_TEST

START_TEST(test_there_is_room_again_in_the_next_interval) {
        SignalRoom room = {};

        n_taken(&room, NOISY, false, NOW);
        ck_assert(!signal_room_take(&room, NOISY, false, NOW + SIGNALS_INTERVAL_NS - 1));
        ck_assert_uint_eq(n_taken(&room, NOISY, false, NOW + SIGNALS_INTERVAL_NS),
                          SIGNALS_PER_USER_MAX);
}
END_TEST

START_TEST(test_more_users_than_are_counted_are_sent_theirs) {
        SignalRoom room = {};

        for (uid_t user = 0; user < SIGNAL_USERS_MAX; user++)
                ck_assert(signal_room_take(&room, user, false, NOW));
        ck_assert_uint_gt(n_taken(&room, SIGNAL_USERS_MAX, false, NOW), SIGNALS_PER_USER_MAX);
        ck_assert_uint_eq(n_taken(&room, 0, false, NOW), SIGNALS_PER_USER_MAX - 1);
}
END_TEST

TEST_MAIN("signal-room",
          test_signals_of_a_user_are_limited,
          test_what_is_awaited_is_sent_for_longer,
          test_others_have_room_of_their_own,
          test_there_is_room_again_in_the_next_interval,
          test_more_users_than_are_counted_are_sent_theirs)
