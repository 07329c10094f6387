/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A polkit at the other end of a pair of sockets, which keeps what it is asked and answers when the test says so. */

#include <string.h>
#include <sys/socket.h>

#include "polkit/polkit-check.h"
#include "test.h"

typedef struct World {
        sd_bus *client, *polkit;
        sd_bus_message *asked, *cancelled;
        PolkitCheck *check;
        unsigned n_answers;
        PolkitVerdict verdict;
} World;

static World w;

static int on_call(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        World *world = userdata;

        if (sd_bus_message_is_method_call(message, NULL, "CheckAuthorization"))
                world->asked = sd_bus_message_ref(message);
        else if (sd_bus_message_is_method_call(message, NULL, "CancelCheckAuthorization"))
                world->cancelled = sd_bus_message_ref(message);
        return 1;
}

static void on_done(void *userdata, PolkitVerdict verdict) {
        World *world = userdata;

        world->check = NULL;
        world->verdict = verdict;
        world->n_answers++;
}

/* Until both have nothing to do. */
static void turn(World *world) {
        bool goes_on = true;

        while (goes_on) {
                goes_on = sd_bus_process(world->client, NULL) > 0;
                goes_on |= sd_bus_process(world->polkit, NULL) > 0;
        }
}

static void world_init(World *world) {
        sd_id128_t id =
                SD_ID128_MAKE(01, 23, 45, 67, 89, ab, cd, ef, 01, 23, 45, 67, 89, ab, cd, ef);
        int fds[2];

        *world = (World){};
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        ck_assert_int_ge(sd_bus_new(&world->client), 0);
        ck_assert_int_ge(sd_bus_set_fd(world->client, fds[0], fds[0]), 0);
        ck_assert_int_ge(sd_bus_new(&world->polkit), 0);
        ck_assert_int_ge(sd_bus_set_fd(world->polkit, fds[1], fds[1]), 0);
        ck_assert_int_ge(sd_bus_set_server(world->polkit, true, id), 0);
        ck_assert_int_ge(sd_bus_set_anonymous(world->polkit, true), 0);
        ck_assert_int_ge(sd_bus_set_anonymous(world->client, true), 0);
        ck_assert_int_ge(sd_bus_start(world->polkit), 0);
        ck_assert_int_ge(sd_bus_start(world->client), 0);
        ck_assert_int_ge(sd_bus_add_filter(world->polkit, NULL, on_call, world), 0);
        turn(world);
}

static void world_deinit(World *world) {
        polkit_check_free(world->check);
        sd_bus_message_unref(world->asked);
        sd_bus_message_unref(world->cancelled);
        sd_bus_close_unref(world->client);
        sd_bus_close_unref(world->polkit);
}

static void ask(World *world, PolkitSubject subject, bool is_interactive) {
        const PolkitDetail details[] = { { "sources", "linux.ftrace" }, { "session", "s" } };
        const PolkitCheckOptions options = {
                .subject = subject,
                .action = "org.example.act",
                .details = details,
                .n_details = 2,
                .is_interactive = is_interactive,
                .done = on_done,
                .userdata = world,
        };

        ck_assert_int_eq(polkit_check_new(&world->check, world->client, &options), 0);
        turn(world);
        ck_assert_ptr_nonnull(world->asked);
        ck_assert_uint_eq(world->n_answers, 0);
}

static const PolkitSubject connection = { .uid = 1000, .name = ":1.7" };

static void reply(World *world, bool is_authorized, bool is_challenge) {
        sd_bus_message *answer;

        ck_assert_int_ge(sd_bus_message_new_method_return(world->asked, &answer), 0);
        ck_assert_int_ge(sd_bus_message_append(answer, "(bba{ss})", is_authorized, is_challenge, 0),
                         0);
        ck_assert_int_ge(sd_bus_send(NULL, answer, NULL), 0);
        sd_bus_message_unref(answer);
        turn(world);
        ck_assert_uint_eq(world->n_answers, 1);
        ck_assert_ptr_null(world->check);
}

START_TEST(test_a_connection_is_asked_about_by_its_name) {
        const char *kind, *key, *name, *action, *id;
        uint32_t flags;

        world_init(&w);
        ask(&w, connection, false);
        ck_assert_int_ge(sd_bus_message_read(w.asked, "(sa{sv})", &kind, 1, &key, "s", &name), 0);
        ck_assert_str_eq(kind, "system-bus-name");
        ck_assert_str_eq(key, "name");
        ck_assert_str_eq(name, ":1.7");
        ck_assert_int_ge(sd_bus_message_read(w.asked, "s", &action), 0);
        ck_assert_str_eq(action, "org.example.act");
        ck_assert_int_ge(sd_bus_message_skip(w.asked, "a{ss}"), 0);
        ck_assert_int_ge(sd_bus_message_read(w.asked, "us", &flags, &id), 0);
        ck_assert_uint_eq(flags, 0);
        world_deinit(&w);
}
END_TEST

START_TEST(test_a_process_is_asked_about_by_its_number_and_start_time) {
        const PolkitSubject process = { .uid = 1000, .pid = 77, .start_time = 123456 };
        const char *kind, *keys[3];
        uint64_t start_time;
        uint32_t pid, flags;
        int32_t uid;

        world_init(&w);
        ask(&w, process, true);
        ck_assert_int_ge(sd_bus_message_read(w.asked,
                                             "(sa{sv})",
                                             &kind,
                                             3,
                                             &keys[0],
                                             "u",
                                             &pid,
                                             &keys[1],
                                             "t",
                                             &start_time,
                                             &keys[2],
                                             "i",
                                             &uid),
                         0);
        ck_assert_str_eq(kind, "unix-process");
        ck_assert_str_eq(keys[0], "pid");
        ck_assert_str_eq(keys[1], "start-time");
        ck_assert_str_eq(keys[2], "uid");
        ck_assert_uint_eq(pid, 77);
        ck_assert_uint_eq(start_time, 123456);
        ck_assert_int_eq(uid, 1000);
        ck_assert_int_ge(sd_bus_message_skip(w.asked, "sa{ss}"), 0);
        ck_assert_int_ge(sd_bus_message_read(w.asked, "u", &flags), 0);
        ck_assert_uint_eq(flags, 1);
        world_deinit(&w);
}
END_TEST

START_TEST(test_details_are_passed_in_their_order) {
        const char *keys[2], *values[2];

        world_init(&w);
        ask(&w, connection, false);
        ck_assert_int_ge(sd_bus_message_skip(w.asked, "(sa{sv})s"), 0);
        ck_assert_int_ge(sd_bus_message_read(
                                 w.asked, "a{ss}", 2, &keys[0], &values[0], &keys[1], &values[1]),
                         0);
        ck_assert_str_eq(keys[0], "sources");
        ck_assert_str_eq(values[0], "linux.ftrace");
        ck_assert_str_eq(keys[1], "session");
        ck_assert_str_eq(values[1], "s");
        world_deinit(&w);
}
END_TEST

static const struct {
        bool is_interactive, is_authorized, is_challenge;
        PolkitVerdict verdict;
} replies[] = {
        { false, true, false, POLKIT_VERDICT_GRANTED },
        { false, false, false, POLKIT_VERDICT_DENIED },
        { false, false, true, POLKIT_VERDICT_NEEDS_INTERACTION },
        /* A person could have been asked, and there was nobody who could do it. */
        { true, false, true, POLKIT_VERDICT_DENIED },
        { true, true, false, POLKIT_VERDICT_GRANTED },
};

START_TEST(test_each_reply_is_one_verdict) {
        for (size_t i = 0; i < ARRAY_SIZE(replies); i++) {
                world_init(&w);
                ask(&w, connection, replies[i].is_interactive);
                reply(&w, replies[i].is_authorized, replies[i].is_challenge);
                ck_assert_int_eq(w.verdict, replies[i].verdict);
                world_deinit(&w);
        }
}
END_TEST

START_TEST(test_an_error_or_another_reply_means_that_there_is_no_polkit) {
        world_init(&w);
        ask(&w, connection, false);
        ck_assert_int_ge(
                sd_bus_reply_method_errorf(w.asked, "org.example.Failed", "there is no room"), 0);
        turn(&w);
        ck_assert_uint_eq(w.n_answers, 1);
        ck_assert_int_eq(w.verdict, POLKIT_VERDICT_UNAVAILABLE);
        world_deinit(&w);

        world_init(&w);
        ask(&w, connection, false);
        ck_assert_int_ge(sd_bus_reply_method_return(w.asked, "s", "yes"), 0);
        turn(&w);
        ck_assert_uint_eq(w.n_answers, 1);
        ck_assert_int_eq(w.verdict, POLKIT_VERDICT_UNAVAILABLE);
        world_deinit(&w);
}
END_TEST

START_TEST(test_a_question_is_taken_back_by_its_own_number) {
        const char *asked_id, *cancelled_id;

        world_init(&w);
        ask(&w, connection, true);
        w.check = polkit_check_free(w.check);
        turn(&w);
        ck_assert_ptr_nonnull(w.cancelled);
        ck_assert_int_ge(sd_bus_message_skip(w.asked, "(sa{sv})sa{ss}u"), 0);
        ck_assert_int_ge(sd_bus_message_read(w.asked, "s", &asked_id), 0);
        ck_assert_int_ge(sd_bus_message_read(w.cancelled, "s", &cancelled_id), 0);
        ck_assert_str_eq(cancelled_id, asked_id);
        ck_assert_uint_eq(w.n_answers, 0);
        world_deinit(&w);
}
END_TEST

/* With a loop there is time for polkit to give up by itself. */
static sd_event *begin_with_loop(World *world) {
        sd_event *event;

        world_init(world);
        ck_assert_int_ge(sd_event_new(&event), 0);
        ck_assert_int_ge(sd_bus_attach_event(world->client, event, 0), 0);
        return event;
}

/* Whether something comes within a time that is longer than a question is left. */
static bool is_taken_back(World *world, sd_event *event) {
        for (unsigned i = 0; i < 100 && !world->cancelled; i++) {
                sd_event_run(event, POLKIT_LEFT_USEC / 20);
                turn(world);
        }
        return world->cancelled;
}

START_TEST(test_a_question_of_a_program_that_has_left_is_given_up_by_polkit) {
        sd_event *event = begin_with_loop(&w);

        ask(&w, connection, true);
        w.check = polkit_check_free(w.check);
        turn(&w);
        ck_assert_ptr_null(w.cancelled);
        ck_assert_int_ge(sd_bus_reply_method_errorf(
                                 w.asked, "org.freedesktop.PolicyKit1.Error.Failed", "gone"),
                         0);
        turn(&w); /* before the timer, however long this took */
        ck_assert(!is_taken_back(&w, event));
        ck_assert_uint_eq(w.n_answers, 0);
        world_deinit(&w);
        sd_event_unref(event);
}
END_TEST

START_TEST(test_a_question_that_polkit_keeps_is_taken_back) {
        sd_event *event = begin_with_loop(&w);

        ask(&w, connection, true);
        w.check = polkit_check_free(w.check);
        ck_assert(is_taken_back(&w, event));
        ck_assert_uint_eq(w.n_answers, 0);
        world_deinit(&w);
        sd_event_unref(event);
}
END_TEST

START_TEST(test_no_more_questions_are_left_to_polkit_than_its_limit) {
        sd_event *event = begin_with_loop(&w);

        for (unsigned i = 0; i <= POLKIT_LEFT_MAX; i++) {
                ck_assert_ptr_null(w.cancelled);
                w.asked = sd_bus_message_unref(w.asked);
                ask(&w, connection, true);
                w.check = polkit_check_free(w.check);
                turn(&w);
        }
        ck_assert_ptr_nonnull(w.cancelled);
        world_deinit(&w); /* with what is left */
        sd_event_unref(event);
}
END_TEST

START_TEST(test_what_was_answered_is_not_taken_back) {
        world_init(&w);
        ask(&w, connection, true);
        reply(&w, true, false);
        ck_assert_ptr_null(w.cancelled);
        world_deinit(&w);
}
END_TEST

TEST_MAIN("polkit-check",
          test_a_connection_is_asked_about_by_its_name,
          test_a_process_is_asked_about_by_its_number_and_start_time,
          test_details_are_passed_in_their_order,
          test_each_reply_is_one_verdict,
          test_an_error_or_another_reply_means_that_there_is_no_polkit,
          test_a_question_is_taken_back_by_its_own_number,
          test_a_question_of_a_program_that_has_left_is_given_up_by_polkit,
          test_a_question_that_polkit_keeps_is_taken_back,
          test_no_more_questions_are_left_to_polkit_than_its_limit,
          test_what_was_answered_is_not_taken_back)
