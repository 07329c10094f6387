/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <systemd/sd-id128.h>

#include "bus/link/turns.h"
#include "gate/gate.h"
#include "shared/macro.h"
#include "test.h"

#define FLOODER UINT32_C(1000)
#define OTHER   UINT32_C(1001)
#define THIRD   UINT32_C(1002)
#define NOW     UINT64_C(1000000000)

static struct {
        sd_bus *server, *client;
        Turns turns;
} world;

static void connection_new(sd_bus **ret, int fd, bool is_server) {
        sd_id128_t id;

        ck_assert_int_ge(sd_bus_new(ret), 0);
        ck_assert_int_ge(sd_bus_set_fd(*ret, fd, fd), 0);
        ck_assert_int_ge(sd_id128_randomize(&id), 0);
        if (is_server)
                ck_assert_int_ge(sd_bus_set_server(*ret, true, id), 0);
        ck_assert_int_ge(sd_bus_start(*ret), 0);
}

/* Messages are those of a connection. */
static void make_world(void) {
        int fds[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
                         0);
        connection_new(&world.server, fds[0], true);
        connection_new(&world.client, fds[1], false);
        turns_init(&world.turns);
}

static void end_world(void) {
        turns_deinit(&world.turns);
        sd_bus_close_unref(world.client);
        sd_bus_close_unref(world.server);
}

/* As it would come: sealed, with an array of bytes as its argument. */
static sd_bus_message *call_of(const char *member, size_t n_bytes) {
        sd_bus_message *call;
        void *data;

        ck_assert_int_ge(sd_bus_message_new_method_call(
                                 world.client, &call, NULL, "/test", "org.test", member),
                         0);
        ck_assert_int_ge(sd_bus_message_append_array_space(call, 'y', n_bytes, &data), 0);
        memset(data, 1, n_bytes);
        ck_assert_int_ge(sd_bus_message_append(call, "a{sv}", 1, "name", "s", "of the call"), 0);
        ck_assert_int_ge(sd_bus_message_seal(call, 1, 0), 0);
        return call;
}

static int take_at(uid_t user, sd_bus_message *call, uint64_t now_ns, uint64_t share_ns) {
        static TurnsRound rounds[3];
        sd_bus_message *refused;
        int r;

        r = turns_take(&world.turns,
                       user,
                       &rounds[user == FLOODER ? 0
                               : user == OTHER ? 1
                                               : 2],
                       call,
                       now_ns,
                       share_ns,
                       &refused);
        ck_assert_ptr_null(refused);
        return r;
}

static int take_long(uid_t user, const char *member, size_t n_bytes) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = call_of(member, n_bytes);

        return take_at(user, call, NOW, TURNS_SHARE_NS);
}

/* Of one of the flooder's connections. What gave way is counted. */
static unsigned n_refused;
static int take_of(TurnsRound *round, const char *member) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = call_of(member, 0), *refused = NULL;
        int r;

        r = turns_take(&world.turns, FLOODER, round, call, NOW, TURNS_SHARE_NS, &refused);
        if (refused)
                n_refused++;
        return r;
}

static int take(uid_t user, const char *member) {
        return take_long(user, member, 0);
}

/* It takes all of the user's share. */
static void spend(uid_t user) {
        ck_assert_int_eq(take(user, "First"), TURNS_NOW);
        turns_begin(&world.turns, user, NOW);
        turns_end(&world.turns, false, NOW + TURNS_SHARE_NS);
}

static void ck_assert_next(const char *member) {
        bool was_held;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;

        call = turns_next(&world.turns, NOW, &was_held);
        ck_assert_ptr_nonnull(call);
        ck_assert(!was_held);
        ck_assert_str_eq(sd_bus_message_get_member(call), member);
        /* Weighing has read it. */
        ck_assert_int_eq(sd_bus_message_at_end(call, false), 0);
        ck_assert_int_ge(sd_bus_message_skip(call, "aya{sv}"), 0);
}

START_TEST(test_calls_are_dispatched_as_they_come_within_the_share) {
        make_world();
        for (unsigned i = 0; i < 100; i++) {
                ck_assert_int_eq(take(FLOODER, "Call"), TURNS_NOW);
                turns_begin(&world.turns, FLOODER, NOW);
                turns_end(&world.turns, false, NOW + TURNS_SHARE_NS / 101);
        }
        ck_assert(turns_are_over(&world.turns));
        end_world();
}
END_TEST

START_TEST(test_a_user_that_has_used_its_share_waits_and_others_do_not) {
        bool was_held;

        make_world();
        spend(FLOODER);
        ck_assert_int_eq(take(FLOODER, "Second"), TURNS_LATER);
        ck_assert_int_eq(take(OTHER, "Other"), TURNS_NOW);
        ck_assert(!turns_are_over(&world.turns));
        ck_assert_next("Second");
        ck_assert(turns_are_over(&world.turns));
        ck_assert_ptr_null(turns_next(&world.turns, NOW, &was_held));
        end_world();
}
END_TEST

START_TEST(test_the_share_is_new_in_the_next_period) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;

        make_world();
        spend(FLOODER);
        call = call_of("Second", 0);
        ck_assert_int_eq(take_at(FLOODER, call, NOW + TURNS_PERIOD_NS, TURNS_SHARE_NS), TURNS_NOW);
        end_world();
}
END_TEST

START_TEST(test_what_was_taken_beyond_the_share_counts_later) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;

        make_world();
        call = call_of("Second", 0);
        ck_assert_int_eq(take(FLOODER, "First"), TURNS_NOW);
        turns_begin(&world.turns, FLOODER, NOW);
        turns_end(&world.turns, false, NOW + 3 * TURNS_SHARE_NS);
        ck_assert_int_eq(take_at(FLOODER, call, NOW + 2 * TURNS_PERIOD_NS, TURNS_SHARE_NS),
                         TURNS_LATER);
        ck_assert_next("Second");
        ck_assert_int_eq(take_at(FLOODER, call, NOW + 3 * TURNS_PERIOD_NS, TURNS_SHARE_NS),
                         TURNS_NOW);
        end_world();
}
END_TEST

START_TEST(test_a_debt_is_forgotten_some_day) {
        const uint64_t end = NOW + 100 * TURNS_DEBT_NS_MAX;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;

        make_world();
        call = call_of("Second", 0);
        ck_assert_int_eq(take(FLOODER, "First"), TURNS_NOW);
        turns_begin(&world.turns, FLOODER, NOW);
        turns_end(&world.turns, false, end);
        ck_assert_int_eq(take_at(FLOODER,
                                 call,
                                 end + TURNS_DEBT_NS_MAX / TURNS_SHARE_NS * TURNS_PERIOD_NS,
                                 TURNS_SHARE_NS),
                         TURNS_NOW);
        end_world();
}
END_TEST

/* Whose call made the bus fall behind has no calls until it is not any longer, and is charged for that time. Others,
 * whose calls are dispatched meanwhile, are charged for their own. */
START_TEST(test_the_user_that_made_the_bus_fall_behind_is_charged) {
        const uint64_t later = NOW + 10 * TURNS_SHARE_NS;

        make_world();
        ck_assert_int_eq(take(FLOODER, "First"), TURNS_NOW);
        turns_begin(&world.turns, FLOODER, NOW);
        turns_end(&world.turns, true, NOW + 1);
        ck_assert_int_eq(take(FLOODER, "Second"), TURNS_LATER);
        ck_assert_int_eq(take(OTHER, "Other"), TURNS_NOW);
        turns_begin(&world.turns, OTHER, NOW + 1);
        turns_end(&world.turns, true, NOW + 2);
        turns_end(&world.turns, false, later);
        ck_assert_int_eq(take(OTHER, "Again"), TURNS_NOW);
        ck_assert_next("Second");
        ck_assert_int_eq(take(FLOODER, "Third"), TURNS_LATER);
        ck_assert_next("Third");
        end_world();
}
END_TEST

START_TEST(test_share_may_be_smaller) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;

        make_world();
        ck_assert_int_eq(take(FLOODER, "First"), TURNS_NOW);
        turns_begin(&world.turns, FLOODER, NOW);
        turns_end(&world.turns, false, NOW + TURNS_SMALL_SHARE_NS);
        call = call_of("Second", 0);
        ck_assert_int_eq(take_at(FLOODER, call, NOW, TURNS_SMALL_SHARE_NS), TURNS_LATER);
        end_world();
}
END_TEST

/* Otherwise a short call would overtake what its sender has said before. */
START_TEST(test_a_users_calls_keep_their_order) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;

        make_world();
        spend(FLOODER);
        ck_assert_int_eq(take(FLOODER, "Second"), TURNS_LATER);
        call = call_of("Third", 0);
        ck_assert_int_eq(take_at(FLOODER, call, NOW + 2 * TURNS_PERIOD_NS, TURNS_SHARE_NS),
                         TURNS_LATER);
        ck_assert_next("Second");
        ck_assert_next("Third");
        end_world();
}
END_TEST

START_TEST(test_users_have_turns) {
        make_world();
        spend(FLOODER);
        spend(OTHER);
        spend(THIRD);
        for (unsigned i = 0; i < 3; i++)
                ck_assert_int_eq(take(FLOODER, "Flood"), TURNS_LATER);
        ck_assert_int_eq(take(OTHER, "Other"), TURNS_LATER);
        ck_assert_int_eq(take(THIRD, "Third"), TURNS_LATER);
        ck_assert_next("Flood");
        ck_assert_next("Other");
        ck_assert_next("Third");
        ck_assert_next("Flood");
        ck_assert_next("Flood");
        end_world();
}
END_TEST

START_TEST(test_a_flood_is_many_calls_that_wait) {
        make_world();
        spend(FLOODER);
        for (unsigned i = 0; i < TURNS_CALLS_OF_A_FLOOD; i++) {
                ck_assert(!turns_is_flooding(&world.turns, FLOODER));
                ck_assert_int_eq(take(FLOODER, "Flood"), TURNS_LATER);
        }
        ck_assert(turns_is_flooding(&world.turns, FLOODER));
        ck_assert(!turns_is_flooding(&world.turns, OTHER));
        ck_assert_next("Flood");
        ck_assert(!turns_is_flooding(&world.turns, FLOODER));
        end_world();
}
END_TEST

static int hold(uid_t user, const char *member, uint64_t due_ns) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = call_of(member, 0);

        return turns_hold(&world.turns, user, call, due_ns);
}

/* NULL: none. */
static void ck_assert_next_at(const char *member, uint64_t now_ns, bool is_held) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        bool was_held;

        call = turns_next(&world.turns, now_ns, &was_held);
        ck_assert_int_eq(was_held, is_held);
        ck_assert_int_eq(call != NULL, member != NULL);
        if (call)
                ck_assert_str_eq(sd_bus_message_get_member(call), member);
}

START_TEST(test_a_call_that_is_held_is_the_next_one_once_it_is_due) {
        make_world();
        ck_assert_uint_eq(turns_held_until(&world.turns), UINT64_MAX);
        ck_assert_int_eq(hold(FLOODER, "Later", NOW + 20), 0);
        ck_assert_int_eq(hold(OTHER, "Sooner", NOW + 10), 0);
        ck_assert(!turns_are_over(&world.turns));
        ck_assert(!turns_are_due(&world.turns, NOW + 9));
        ck_assert_uint_eq(turns_held_until(&world.turns), NOW + 10);
        ck_assert_next_at(NULL, NOW + 9, false);
        ck_assert(turns_are_due(&world.turns, NOW + 20));
        ck_assert_next_at("Sooner", NOW + 20, true);
        ck_assert_next_at("Later", NOW + 20, true);
        ck_assert(turns_are_over(&world.turns));
        end_world();
}
END_TEST

/* Others of the user do not wait for it. */
START_TEST(test_calls_overtake_one_that_is_held) {
        make_world();
        ck_assert_int_eq(hold(FLOODER, "Held", NOW + 10), 0);
        ck_assert_int_eq(take(FLOODER, "Short"), TURNS_LATER);
        ck_assert(turns_are_due(&world.turns, NOW));
        ck_assert_next_at("Short", NOW, false);
        ck_assert_next_at(NULL, NOW, false);
        ck_assert_next_at("Held", NOW + 10, true);
        end_world();
}
END_TEST

START_TEST(test_few_calls_of_a_user_are_held_and_count_as_waiting) {
        make_world();
        for (unsigned i = 0; i < TURNS_HELD_PER_USER_MAX; i++)
                ck_assert_int_eq(hold(FLOODER, "Held", NOW), 0);
        ck_assert_int_eq(hold(FLOODER, "Held", NOW), TURNS_FULL);
        ck_assert_int_eq(hold(OTHER, "Held", NOW), 0);
        for (unsigned i = TURNS_HELD_PER_USER_MAX; i < TURNS_CALLS_OF_A_FLOOD; i++) {
                ck_assert(!turns_is_flooding(&world.turns, FLOODER));
                ck_assert_int_eq(take(FLOODER, "Call"), TURNS_LATER);
        }
        ck_assert(turns_is_flooding(&world.turns, FLOODER));
        end_world();
}
END_TEST

START_TEST(test_too_many_calls_are_refused) {
        make_world();
        spend(FLOODER);
        for (unsigned i = 0; i < TURNS_CALLS_PER_USER_MAX; i++)
                ck_assert_int_eq(take(FLOODER, "Flood"), TURNS_LATER);
        ck_assert_int_eq(take(FLOODER, "Flood"), TURNS_FULL);
        spend(OTHER);
        ck_assert_int_eq(take(OTHER, "Other"), TURNS_LATER);
        ck_assert_next("Flood");
        ck_assert_int_eq(take(FLOODER, "Flood"), TURNS_LATER);
        end_world();
}
END_TEST

START_TEST(test_connections_of_a_user_have_turns) {
        TurnsRound flood = 0, other = 0;

        make_world();
        spend(FLOODER);
        for (unsigned i = 0; i < 3; i++)
                ck_assert_int_eq(take_of(&flood, "Flood"), TURNS_LATER);
        ck_assert_int_eq(take_of(&other, "First"), TURNS_LATER);
        ck_assert_int_eq(take_of(&other, "Second"), TURNS_LATER);
        ck_assert_next("Flood");
        ck_assert_next("First");
        ck_assert_int_eq(take_of(&flood, "Last"), TURNS_LATER);
        ck_assert_next("Flood");
        ck_assert_next("Second");
        ck_assert_next("Flood");
        ck_assert_next("Last");
        end_world();
}
END_TEST

START_TEST(test_a_flood_gives_way_to_the_users_other_connections) {
        TurnsRound flood = 0, other = 0;

        make_world();
        spend(FLOODER);
        for (unsigned i = 0; i < TURNS_CALLS_PER_USER_MAX; i++)
                ck_assert_int_eq(take_of(&flood, "Flood"), TURNS_LATER);
        ck_assert_int_eq(take_of(&flood, "Flood"), TURNS_FULL);
        ck_assert_uint_eq(n_refused, 0);
        ck_assert_int_eq(take_of(&other, "Other"), TURNS_LATER);
        ck_assert_uint_eq(n_refused, 1);
        ck_assert_next("Flood");
        ck_assert_next("Other");
        end_world();
}
END_TEST

/* Its round is from before the user was forgotten, and larger than all. */
START_TEST(test_an_old_round_is_no_disadvantage) {
        TurnsRound flood = 0, old = 1000;

        make_world();
        spend(FLOODER);
        ck_assert_int_eq(take_of(&flood, "Flood"), TURNS_LATER);
        ck_assert_int_eq(take_of(&flood, "Flood"), TURNS_LATER);
        ck_assert_int_eq(take_of(&old, "Old"), TURNS_LATER);
        ck_assert_next("Flood");
        ck_assert_next("Old");
        ck_assert_next("Flood");
        end_world();
}
END_TEST

/* Of more than 64 KiB is not known how long it is. */
START_TEST(test_long_calls_count_for_what_they_may_be) {
        unsigned n = 0;

        make_world();
        spend(FLOODER);
        while (n < 100 && take_long(FLOODER, "Long", 100000) == TURNS_LATER)
                n++;
        ck_assert_uint_eq(n, TURNS_BYTES_PER_USER_MAX / (GATE_MESSAGE_BYTES_MAX + 1024));
        while (n < 1000 && take_long(FLOODER, "Short", 10000) == TURNS_LATER)
                n++;
        ck_assert_uint_gt(n, 20);
        ck_assert_uint_lt(n, 1000);
        end_world();
}
END_TEST

/* Nobody is remembered for having called, and those with calls are not forgotten. */
START_TEST(test_users_are_forgotten_who_have_no_calls) {
        make_world();
        spend(FLOODER);
        spend(OTHER);
        ck_assert_int_eq(take(OTHER, "Other"), TURNS_LATER);
        turns_forget(&world.turns, NOW);
        ck_assert_int_eq(take(FLOODER, "Flood"), TURNS_LATER);
        ck_assert_next("Other");
        ck_assert_next("Flood");
        turns_forget(&world.turns, NOW + TURNS_PERIOD_NS);
        ck_assert(list_is_empty(&world.turns.users));
        end_world();
}
END_TEST

TEST_MAIN("turns",
          test_calls_are_dispatched_as_they_come_within_the_share,
          test_a_user_that_has_used_its_share_waits_and_others_do_not,
          test_the_share_is_new_in_the_next_period,
          test_what_was_taken_beyond_the_share_counts_later,
          test_a_debt_is_forgotten_some_day,
          test_the_user_that_made_the_bus_fall_behind_is_charged,
          test_share_may_be_smaller,
          test_a_users_calls_keep_their_order,
          test_users_have_turns,
          test_a_flood_is_many_calls_that_wait,
          test_a_call_that_is_held_is_the_next_one_once_it_is_due,
          test_calls_overtake_one_that_is_held,
          test_few_calls_of_a_user_are_held_and_count_as_waiting,
          test_too_many_calls_are_refused,
          test_connections_of_a_user_have_turns,
          test_a_flood_gives_way_to_the_users_other_connections,
          test_an_old_round_is_no_disadvantage,
          test_long_calls_count_for_what_they_may_be,
          test_users_are_forgotten_who_have_no_calls)
