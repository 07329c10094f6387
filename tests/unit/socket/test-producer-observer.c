/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the other transport is told of producers of Perfetto's protocol, and what these are answered. */

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "log-capture.h"
#include "producer-world.h"

#define LONG_BYTES (140u << 10) /* no message of the protocol holds so much */

static ProducerClient app;
static char told[512];
static unsigned n_changed;
static bool is_wanted;

static void tell(const char *what, const char *name) {
        const size_t n = strlen(told);

        snprintf(told + n, sizeof(told) - n, "%s%s ", what, name);
}

static void *on_producer_came(void *userdata, Producer *producer) {
        if (!is_wanted)
                return NULL;
        tell("", producer_name(producer));
        return producer;
}

static void on_source_came(void *object, const char *source) {
        tell("+", source);
}

static void on_source_went(void *object, const char *source) {
        tell("-", source);
}

static void on_sources_changed(void *object) {
        n_changed++;
}

static void on_producer_goes(void *object) {
        tell("~", producer_name(object)); /* it is still there */
}

static const PortsObserver observer = {
        .producer_came = on_producer_came,
        .source_came = on_source_came,
        .source_went = on_source_went,
        .sources_changed = on_sources_changed,
        .producer_goes = on_producer_goes,
};

static void begin_observed(bool wanted) {
        told[0] = '\0';
        n_changed = 0;
        is_wanted = wanted;
        world_init_observed(&observer);
        world_connect_app(&app, "app", NULL);
}

/* As often as something of it changes, and all changes of a turn together. */
static void change_sources(void) {
        client_register_source(&app, "a", 1);
        client_register_source(&app, "b", 2);
        world_run_one(&app);
        client_describe_source(&app, CLIENT_UPDATE_SOURCE, "a", 1, "category");
        world_run_one(&app);
        client_call(&app,
                    CLIENT_UNREGISTER_SOURCE,
                    false,
                    "\x0a\x01"
                    "b",
                    3);
        world_run_one(&app);
        world_serve();
}

START_TEST(test_a_producer_is_shown_with_its_sources) {
        begin_observed(true);
        ck_assert_str_eq(told, "app ");
        change_sources();
        ck_assert_str_eq(told, "app +a +b +a -b ");
        ck_assert_uint_eq(n_changed, 3);
        client_deinit(&app);
        world_serve();
        ck_assert_str_eq(told, "app +a +b +a -b ~app ");
        world_deinit();
}
END_TEST

START_TEST(test_a_producer_that_is_not_to_be_shown_is_not_spoken_of) {
        begin_observed(false);
        change_sources();
        client_deinit(&app);
        world_serve();
        ck_assert_str_eq(told, "");
        ck_assert_uint_eq(n_changed, 0);
        world_deinit();
}
END_TEST

/*
 * Replies
 */

static void assert_done(ClientMethod method, const void *data, size_t n) {
        const ClientReply *reply = world_reply(&app, client_call(&app, method, true, data, n));

        ck_assert_msg(reply->success && !reply->has_more && reply->n_data == 0,
                      "call %u is not answered as it should",
                      (unsigned)method);
}

PORT_WORLD_TEST(test_each_call_is_answered_once_it_is_done) {
        static const uint8_t writer[] = { 0x08, 1, 0x10, 1 }, number[] = { 0x08, 1 };
        static const uint8_t source[] = { 0x0a, 11,  't', 'r', 'a', 'c', 'k',
                                          '_',  'e', 'v', 'e', 'n', 't' };
        static const uint8_t trigger[] = { 0x0a, 4, 'j', 'a', 'n', 'k' };

        world_connect_app(&app, "app", "track_event");
        assert_done(CLIENT_REGISTER_WRITER, writer, sizeof(writer));
        assert_done(CLIENT_UNREGISTER_WRITER, number, sizeof(number));
        assert_done(CLIENT_SOURCE_STARTED, number, sizeof(number));
        assert_done(CLIENT_SOURCE_STOPPED, number, sizeof(number));
        assert_done(CLIENT_TRIGGERS, trigger, sizeof(trigger));
        assert_done(CLIENT_SYNC, NULL, 0);
        assert_done(CLIENT_UNREGISTER_SOURCE, source, sizeof(source));
        client_deinit(&app);
}

static void assert_refused(ClientMethod method, const char *bytes, const char *line) {
        const uint64_t request = client_call(&app, method, true, bytes, strlen(bytes));
        _cleanup_(freep) char *log = NULL;

        log_capture_begin();
        world_run_one(&app);
        log = log_capture_end();
        ck_assert_ptr_nonnull(client_reply(&app, request));
        ck_assert(!client_reply(&app, request)->success);
        ck_assert_logs(log, line);
}

PORT_WORLD_TEST(test_what_cannot_be_decoded_is_refused_and_logged) {
        world_connect(&app);
        client_bind(&app);
        world_run_one(&app);
        assert_refused(
                CLIENT_INITIALIZE, "\x80", "InitializeConnection is refused: it cannot be decoded");
        client_deinit(&app);
        world_connect_app(&app, "app", "track_event");
        for (unsigned method = CLIENT_REGISTER_WRITER; method <= CLIENT_TRIGGERS; method++)
                assert_refused(method, "\x80", "is refused: it cannot be decoded");
        client_deinit(&app);
}

/* What is valid of it is sent. */
PORT_WORLD_TEST(test_triggers_whose_names_are_none_fail) {
        static const uint8_t cut[] = { 0x0a, 1, 'a', 0x0a, 5, 'b' };
        static const uint8_t zero[] = { 0x0a, 2, 'a', 0 }, one[] = { 0x0a, 2, 'a', 1 };
        uint64_t request;

        world_connect_app(&app, "app", "track_event");
        request = client_call(&app, CLIENT_TRIGGERS, true, cut, sizeof(cut));
        ck_assert(!world_reply(&app, request)->success);
        request = client_call(&app, CLIENT_TRIGGERS, true, zero, sizeof(zero));
        ck_assert(!world_reply(&app, request)->success);
        assert_done(CLIENT_TRIGGERS, one, sizeof(one));
        client_deinit(&app);
}

PORT_WORLD_TEST(test_the_longest_name_of_a_source_is_one) {
        char name[SOURCE_NAME_MAX + 2];

        memset(name, 'n', sizeof(name) - 1);
        name[SOURCE_NAME_MAX + 1] = '\0';
        world_connect_app(&app, "app", NULL);
        world_reply(&app, client_register_source(&app, name, 1));
        ck_assert_uint_eq(producer_n_sources(service_next_producer(f.service, NULL)), 0);
        name[SOURCE_NAME_MAX] = '\0';
        world_reply(&app, client_register_source(&app, name, 2));
        ck_assert_uint_eq(producer_n_sources(service_next_producer(f.service, NULL)), 1);
        client_deinit(&app);
}

PORT_WORLD_TEST(test_one_producer_too_many_of_a_user_is_refused_and_logged) {
        static const uint8_t name[] = { 0x1a, 3, 'a', 'p', 'p' };
        static ProducerClient clients[SERVICE_PRODUCERS_PER_USER_MAX + 1];
        _cleanup_(freep) char *log = NULL;
        const ClientReply *reply;
        size_t n;

        for (n = 0; n < ARRAY_SIZE(clients); n++) {
                world_connect(&clients[n]);
                client_bind(&clients[n]);
                world_run_one(&clients[n]);
                if (!clients[n].is_bound)
                        break;
                log_capture_begin();
                reply = world_reply(
                        &clients[n],
                        client_call(&clients[n], CLIENT_INITIALIZE, true, name, sizeof(name)));
                log = (freep(&log), log_capture_end());
                ck_assert(reply->success == (n < SERVICE_PRODUCERS_PER_USER_MAX));
        }
        ck_assert_uint_eq(n, ARRAY_SIZE(clients));
        ck_assert_logs(log, "SERVICE_PRODUCERS_PER_USER_MAX");
        ck_assert_uint_eq(service_n_producers(f.service), SERVICE_PRODUCERS_PER_USER_MAX);
        for (size_t i = 0; i < n; i++)
                client_deinit(&clients[i]);
}

/* Such a config cannot be told, so the source does not start, and the session is told why. */
PORT_WORLD_TEST(test_a_source_whose_config_no_message_holds_is_not_started) {
        const SessionOptions options = {
                .owner = { .uid = getuid(), .pid = 1 },
                .scope = SESSION_SCOPE_OWN,
        };
        static uint8_t bulk[LONG_BYTES], memory[LONG_BYTES + 256];
        InstanceCursor cursor = {};
        FakeConsumer *consumer;
        size_t source, inner;
        WireWriter message;
        ConfigError error;
        InstanceInfo info;
        Config *config;

        world_connect_app(&app, "app", "track_event");
        wire_writer_init(&message, memory, sizeof(memory));
        wire_put_raw(&message, "\x0a\x02\x08\x40", 4); /* buffers { size_kb: 64 } */
        source = wire_begin(&message, 2);
        inner = wire_begin(&message, 1);
        wire_put_string(&message, 1, "track_event");
        wire_put_bytes(&message, 900, bulk, sizeof(bulk));
        wire_end(&message, inner);
        wire_end(&message, source);
        ck_assert(!wire_writer_failed(&message));
        ck_assert_int_eq(config_new_from_bytes(&config, memory, wire_writer_size(&message), &error),
                         0);
        ck_assert_int_eq(fixture_try_config(&f, &consumer, &options, config), 0);
        ck_assert_int_eq(session_start(consumer->session, f.now), 0);
        world_run_one(&app);
        ck_assert_ptr_null(client_instance(&app, "track_event"));
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        ck_assert(session_next_instance(consumer->session, &cursor, &info));
        ck_assert_int_eq(info.state, INSTANCE_STOPPED);
        ck_assert_ptr_nonnull(strstr(info.why, "128 KiB"));
        client_deinit(&app);
}

TEST_MAIN("producer-observer",
          test_a_producer_is_shown_with_its_sources,
          test_a_producer_that_is_not_to_be_shown_is_not_spoken_of,
          test_each_call_is_answered_once_it_is_done,
          test_what_cannot_be_decoded_is_refused_and_logged,
          test_triggers_whose_names_are_none_fail,
          test_the_longest_name_of_a_source_is_one,
          test_one_producer_too_many_of_a_user_is_refused_and_logged,
          test_a_source_whose_config_no_message_holds_is_not_started)
