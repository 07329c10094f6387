/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What a service may say that is wrong or new: the library refuses it with the reason, or skips it, and goes on.
 */

#include <errno.h>
#include <stdio.h>

#include "desktrace/source.h"
#include "fake-service.h"
#include "shared/fd.h"
#include "shared/names.h"

#define WAIT_USEC UINT64_C(10000000)

static Fake fake;
static dt_source *source;
static unsigned n_started;

static const char *
on_setup(dt_instance *instance, const void *config, size_t n_config, void *userdata) {
        return NULL;
}

static void on_start(dt_instance *instance, dt_reply *reply, void *userdata) {
        n_started++;
        dt_reply_done(reply, NULL);
}

static const dt_source_ops ops = { .setup = on_setup, .start = on_start };

static void world_init(void) {
        n_started = 0;
        fake_init(&fake);
        fake_listen(&fake);
        ck_assert_int_eq(dt_source_register(&source, "test.source", NULL, &ops, NULL), 0);
        fake_accept(&fake);
        fake_setup_memory(&fake, FAKE_PAGES_BYTES, 4096);
}

/* What came before does not matter. */
static void world_deinit(void) {
        ck_assert_int_eq(fake_setup_buffer(&fake, 77, "test.source", 1), 0);
        ck_assert_int_eq(fake_start(&fake, 77), 0);
        ck_assert_int_eq(fake_stop(&fake, 77), 0);
        dt_source_unregister(source);
        fake_deinit(&fake);
}

static sd_bus_message *new_call(const char *interface, const char *member) {
        sd_bus_message *call;

        ck_assert_int_ge(sd_bus_message_new_method_call(
                                 fake.bus, &call, NULL, TRACING_PRODUCER_OBJECT, interface, member),
                         0);
        return call;
}

/* Takes the call over. Returns 0 or a negative errno. */
static int make_call(sd_bus_message *call) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *made = call;
        int r = sd_bus_call(fake.bus, made, WAIT_USEC, NULL, NULL);

        return r < 0 ? r : 0;
}

static sd_bus_message *new_setup(uint64_t id) {
        sd_bus_message *call = new_call(TRACING_PRODUCER_INTERFACE, "SetupDataSource");

        ck_assert_int_ge(sd_bus_message_append(call, "ts", id, "test.source"), 0);
        ck_assert_int_ge(sd_bus_message_append_array(call, 'y', "\x10\x01", 2), 0);
        return call;
}

START_TEST(test_options_of_a_setup_that_are_unknown_are_passed_over) {
        sd_bus_message *call;

        world_init();
        call = new_setup(1);
        ck_assert_int_ge(sd_bus_message_append(call,
                                               "a{sv}",
                                               3,
                                               "new",
                                               "as",
                                               1,
                                               "text",
                                               "start",
                                               "b",
                                               1,
                                               "newer",
                                               "t",
                                               7ull),
                         0);
        ck_assert_int_eq(make_call(call), 0);
        ck_assert_uint_eq(n_started, 1);
        call = new_setup(2);
        ck_assert_int_ge(sd_bus_message_append(call, "a{sv}", 1, "start", "b", 0), 0);
        ck_assert_int_eq(make_call(call), 0);
        ck_assert_uint_eq(n_started, 1);
        world_deinit();
}
END_TEST

START_TEST(test_options_of_a_setup_that_have_the_wrong_type_are_refused) {
        sd_bus_message *call;

        world_init();
        call = new_setup(1);
        ck_assert_int_ge(sd_bus_message_append(call, "a{sv}", 1, "start", "s", "yes"), 0);
        ck_assert_int_lt(make_call(call), 0);
        ck_assert_uint_eq(n_started, 0);
        ck_assert_int_eq(fake_setup_buffer(&fake, 1, "test.source", 1), 0); /* it is not there */
        world_deinit();
}
END_TEST

START_TEST(test_options_of_shared_memory_that_have_the_wrong_type_are_refused) {
        static const char *const names[] = { "bell", "task-link" };
        _cleanup_(fd_closep) int fd = -1;

        world_init();
        ck_assert_int_eq(fd_new_sealed_memfd(&fd, "test", fake.n_memory), 0);
        ck_assert_int_eq(pwrite(fd, fake.memory, fake.n_memory, 0), (ssize_t)fake.n_memory);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                sd_bus_message *call = new_call(TRACING_PRODUCER_INTERFACE, "SetupTracing");

                ck_assert_int_ge(
                        sd_bus_message_append(
                                call, "hha{sv}", fd, fake.doorbell_fd, 1, names[i], "s", "none"),
                        0);
                ck_assert_int_lt(make_call(call), 0);
        }
        world_deinit(); /* with the memory from before */
}
END_TEST

START_TEST(test_calls_with_other_arguments_are_refused) {
        static const char *const members[] = { "SetupTracing",    "SetupDataSource",
                                               "StartDataSource", "StopDataSource",
                                               "Flush",           "ClearIncrementalState" };

        world_init();
        for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
                sd_bus_message *call = new_call(TRACING_PRODUCER_INTERFACE, members[i]);

                ck_assert_int_ge(sd_bus_message_append(call, "s", "text"), 0);
                ck_assert_int_lt(make_call(call), 0);
        }
        ck_assert_int_lt(make_call(new_call(TRACING_PRODUCER_INTERFACE, "NoSuchMethod")), 0);
        world_deinit();
}
END_TEST

START_TEST(test_a_call_that_wants_no_reply_is_carried_out) {
        sd_bus_message *call;

        world_init();
        call = new_setup(1);
        ck_assert_int_ge(sd_bus_message_append(call, "a{sv}", 1, "start", "b", 1), 0);
        ck_assert_int_ge(sd_bus_message_set_expect_reply(call, false), 0);
        ck_assert_int_ge(sd_bus_send(fake.bus, call, NULL), 0);
        sd_bus_message_unref(call);
        ck_assert_int_eq(fake_flush(&fake, 1), 0); /* calls keep their order */
        ck_assert_uint_eq(n_started, 1);
        world_deinit();
}
END_TEST

/* For example by a service that has too many producers. A program that offers another source meanwhile asks at once. */
START_TEST(test_a_registration_that_is_refused_is_tried_again) {
        dt_source *other;

        n_started = 0;
        fake_init(&fake);
        fake_listen(&fake);
        fake.n_refusals = 3;
        ck_assert_int_eq(dt_source_register(&source, "test.source", NULL, &ops, NULL), 0);
        fake_accept(&fake);
        ck_assert_uint_eq(fake.n_refusals, 2);
        fake_await(&fake);
        ck_assert_uint_eq(fake.n_refusals, 1);
        fake.n_sources = 0;
        ck_assert_int_eq(dt_source_register(&other, "other", NULL, &ops, NULL), 0);
        while (!fake_source(&fake, "other"))
                fake_await(&fake);
        while (fake.n_refusals > 0)
                fake_await(&fake);
        fake_await(&fake);
        ck_assert_ptr_nonnull(fake_source(&fake, "test.source"));
        fake_setup_memory(&fake, FAKE_PAGES_BYTES, 4096);
        dt_source_unregister(other);
        fake_run(&fake, 0, 1);
        world_deinit();
}
END_TEST

START_TEST(test_the_object_shows_what_it_has) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;
        static const char *const members[] = { "SetupTracing",    "SetupDataSource",
                                               "StartDataSource", "StopDataSource",
                                               "Flush",           "ClearIncrementalState" };
        const char *text;

        world_init();
        call = new_call("org.freedesktop.DBus.Introspectable", "Introspect");
        ck_assert_int_ge(sd_bus_call(fake.bus, call, WAIT_USEC, NULL, &reply), 0);
        ck_assert_int_gt(sd_bus_message_read(reply, "s", &text), 0);
        for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
                char line[64];

                snprintf(line, sizeof(line), "<method name=\"%s\">", members[i]);
                ck_assert_msg(strstr(text, line), "%s", text);
        }
        ck_assert_ptr_null(strstr(text, "Deprecated"));
        world_deinit();
}
END_TEST

TEST_MAIN("lib-wrong-calls",
          test_options_of_a_setup_that_are_unknown_are_passed_over,
          test_options_of_a_setup_that_have_the_wrong_type_are_refused,
          test_options_of_shared_memory_that_have_the_wrong_type_are_refused,
          test_calls_with_other_arguments_are_refused,
          test_a_call_that_wants_no_reply_is_carried_out,
          test_a_registration_that_is_refused_is_tried_again,
          test_the_object_shows_what_it_has)
