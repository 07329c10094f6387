/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How often triggers were hit and sent, and that nobody can make it remember too much. */

#include <stdio.h>

#include "core/model/trigger-history.h"
#include "test.h"

#define S (UINT64_C(1000000000))
#define H (3600 * S)

static TriggerHistory history;

static void hit(uid_t uid, const char *trigger, uint64_t now) {
        trigger_history_begin(&history);
        trigger_history_add(&history, uid, uid, trigger, now);
}

static uint64_t count(uid_t uid, const char *trigger, uint64_t now) {
        trigger_history_begin(&history);
        return trigger_history_count(&history, uid, trigger, now);
}

START_TEST(test_hits_count_for_a_day) {
        trigger_history_init(&history);
        hit(1, "a", 1 * H);
        hit(1, "a", 2 * H);
        ck_assert_uint_eq(count(1, "a", 25 * H - 1), 2);
        ck_assert_uint_eq(count(1, "a", 25 * H), 1);
        ck_assert_uint_eq(count(1, "a", 26 * H), 0);
        trigger_history_deinit(&history);
}
END_TEST

/* The oldest go first, one after the other. */
START_TEST(test_each_hit_has_a_day_of_its_own) {
        trigger_history_init(&history);
        hit(1, "a", 1 * H);
        hit(1, "a", 10 * H);
        hit(1, "a", 20 * H);
        ck_assert_uint_eq(count(1, "a", 24 * H), 3);
        ck_assert_uint_eq(count(1, "a", 26 * H), 2);
        ck_assert_uint_eq(count(1, "a", 35 * H), 1);
        hit(1, "a", 36 * H);
        ck_assert_uint_eq(count(1, "a", 43 * H), 2);
        ck_assert_uint_eq(count(1, "a", 45 * H), 1);
        ck_assert_uint_eq(count(1, "a", 60 * H), 0);
        trigger_history_deinit(&history);
}
END_TEST

START_TEST(test_hits_of_others_do_not_count) {
        trigger_history_init(&history);
        hit(1, "a", 1 * H);
        ck_assert_uint_eq(count(2, "a", 1 * H), 0);
        ck_assert_uint_eq(count(1, "b", 1 * H), 0);
        ck_assert_uint_eq(count(1, "a", 1 * H), 1);
        trigger_history_deinit(&history);
}
END_TEST

START_TEST(test_one_activation_counts_once_and_not_for_itself) {
        trigger_history_init(&history);
        hit(1, "a", 1 * H);
        trigger_history_begin(&history);
        ck_assert_uint_eq(trigger_history_count(&history, 1, "a", 2 * H), 1);
        trigger_history_add(&history, 1, 1, "a", 2 * H);
        ck_assert_uint_eq(trigger_history_count(&history, 1, "a", 2 * H), 1);
        trigger_history_add(&history, 1, 1, "a", 2 * H);
        ck_assert_uint_eq(count(1, "a", 2 * H), 2);

        trigger_history_begin(&history);
        trigger_history_add(&history, 1, 1, "new", 2 * H);
        ck_assert_uint_eq(trigger_history_count(&history, 1, "new", 2 * H), 0);
        ck_assert_uint_eq(count(1, "new", 2 * H), 1);
        trigger_history_deinit(&history);
}
END_TEST

START_TEST(test_hits_of_one_trigger_are_bounded) {
        trigger_history_init(&history);
        for (unsigned i = 0; i < TRIGGER_HISTORY_HITS_MAX + 10; i++)
                hit(1, "a", 1 * H + i);
        ck_assert_uint_eq(count(1, "a", 2 * H), TRIGGER_HISTORY_HITS_MAX);
        trigger_history_deinit(&history);
}
END_TEST

START_TEST(test_names_of_one_user_are_bounded_and_cost_no_other) {
        char name[16];

        trigger_history_init(&history);
        hit(2, "kept", 1 * H);
        for (unsigned i = 0; i < TRIGGER_HISTORY_NAMES_MAX + 1; i++) {
                snprintf(name, sizeof(name), "t%u", i);
                hit(1, name, 1 * H + i);
        }
        ck_assert_uint_eq(count(1, "t0", 2 * H), 0); /* forgotten */
        ck_assert_uint_eq(count(1, "t1", 2 * H), 1);
        ck_assert_uint_eq(count(1, name, 2 * H), 1);
        ck_assert_uint_eq(count(2, "kept", 2 * H), 1);
        trigger_history_deinit(&history);
}
END_TEST

START_TEST(test_names_are_bounded_for_all_uids_of_one_user_together) {
        trigger_history_init(&history);
        for (unsigned i = 0; i < TRIGGER_HISTORY_NAMES_MAX + 2; i++) {
                trigger_history_begin(&history);
                trigger_history_add(&history, 1, 100000 + i, "a", 1 * H + i);
        }
        ck_assert_uint_eq(count(100000, "a", 2 * H), 0); /* forgotten */
        ck_assert_uint_eq(count(100001, "a", 2 * H), 0);
        ck_assert_uint_eq(count(100002, "a", 2 * H), 1);
        trigger_history_deinit(&history);
}
END_TEST

START_TEST(test_what_is_over_is_forgotten) {
        trigger_history_init(&history);
        hit(1, "a", 1 * H);
        hit(2, "b", 2 * H);
        hit(3, "c", 25 * H);
        ck_assert_ptr_eq(history.hits.next->next->next, &history.hits); /* two are left */
        trigger_history_deinit(&history);
}
END_TEST

START_TEST(test_a_user_that_sends_too_fast_is_refused_and_nobody_else) {
        unsigned n = 0;

        trigger_history_init(&history);
        while (trigger_history_may_send(&history, TRIGGER_REACH_OWN, 1, 1 * S))
                ck_assert_uint_lt(n++, 1000);
        ck_assert_uint_eq(n, TRIGGER_SENDS_MAX);
        ck_assert(trigger_history_may_send(&history, TRIGGER_REACH_OWN, 2, 1 * S));
        for (n = 0; trigger_history_may_send(&history, TRIGGER_REACH_OWN, 1, 2 * S); n++)
                ck_assert_uint_lt(n, 1000);
        ck_assert_uint_eq(n, TRIGGER_SENDS_RATE);
        for (n = 0; trigger_history_may_send(&history, TRIGGER_REACH_OWN, 1, 100 * S); n++)
                ck_assert_uint_lt(n, 1000);
        ck_assert_uint_eq(n, TRIGGER_SENDS_MAX);
        ck_assert_ptr_eq(history.senders[0].next->next,
                         &history.senders[0]); /* the other is forgotten */
        trigger_history_deinit(&history);
}
END_TEST

TEST_MAIN("trigger-history",
          test_each_hit_has_a_day_of_its_own,
          test_hits_count_for_a_day,
          test_hits_of_others_do_not_count,
          test_one_activation_counts_once_and_not_for_itself,
          test_hits_of_one_trigger_are_bounded,
          test_names_of_one_user_are_bounded_and_cost_no_other,
          test_names_are_bounded_for_all_uids_of_one_user_together,
          test_what_is_over_is_forgotten,
          test_a_user_that_sends_too_fast_is_refused_and_nobody_else)
