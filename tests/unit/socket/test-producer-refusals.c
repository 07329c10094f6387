/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a producer of Perfetto's protocol asks for and does not get: it is answered so, and each is logged. */

#include <stdio.h>

#include "log-capture.h"
#include "producer-world.h"
#include "socket/producer/producer-port-private.h"

static void assert_fails(ProducerClient *client, uint64_t request) {
        const ClientReply *reply = world_reply(client, request);

        ck_assert(!reply->success && !reply->has_more);
}

/* A descriptor: RegisterDataSource succeeds, and its reply has the error. */
static void assert_is_told(ProducerClient *client, uint64_t request) {
        const ClientReply *reply = world_reply(client, request);

        ck_assert(reply->success);
        ck_assert_uint_gt(reply->n_data, 2);
        ck_assert_uint_eq(reply->data[0], 0x0a); /* RegisterDataSourceResponse.error */
}

PORT_WORLD_TEST(test_each_descriptor_that_is_refused_is_told_and_logged) {
        _cleanup_(freep) char *log = NULL;
        ProducerClient app;
        char name[32], line[64];

        world_connect_app(&app, "app", "track_event");
        log_capture_begin();
        for (unsigned i = 0; i < 12; i++) {
                snprintf(name, sizeof(name), "\xc3\x84%u", i); /* not ASCII */
                assert_is_told(&app, client_register_source(&app, name, 0));
        }
        assert_is_told(&app, client_register_source(&app, "forged\n<3>line", 0));
        log = log_capture_end();
        for (unsigned i = 0; i < 12; i++) {
                snprintf(line, sizeof(line), "it cannot offer \"\xc3\x84%u\": its name", i);
                ck_assert_logs(log, line);
        }
        ck_assert_logs(log, "it cannot offer \"forged\\x0a<3>line\": ");
        ck_assert_uint_eq(text_count(log, "\n"), 13);
        client_deinit(&app);
}

PORT_WORLD_TEST(test_a_name_that_is_too_long_is_refused) {
        _cleanup_(freep) char *log = NULL;
        char name[SOURCE_NAME_MAX + 2];
        ProducerClient app;

        memset(name, 'x', sizeof(name));
        name[SOURCE_NAME_MAX] = 0;
        world_connect_app(&app, "app", "track_event");
        world_reply(&app, client_register_source(&app, name, 0));
        ck_assert_uint_eq(producer_n_sources(service_next_producer(f.service, NULL)), 2);
        name[SOURCE_NAME_MAX] = 'x';
        name[SOURCE_NAME_MAX + 1] = 0;
        log_capture_begin();
        assert_is_told(&app, client_register_source(&app, name, 0));
        log = log_capture_end();
        ck_assert_logs(log, "it cannot offer \"\": its name");
        ck_assert_uint_eq(producer_n_sources(service_next_producer(f.service, NULL)), 2);
        client_deinit(&app);
}

PORT_WORLD_TEST(test_an_update_of_what_is_not_registered_fails) {
        _cleanup_(freep) char *log = NULL;
        ProducerClient app;

        world_connect_app(&app, "app", "track_event");
        world_reply(&app, client_register_source(&app, "numbered", 77));
        log_capture_begin();
        assert_fails(&app,
                     client_describe_source(&app, CLIENT_UPDATE_SOURCE, "numbered", 78, "other"));
        assert_fails(&app,
                     client_describe_source(&app, CLIENT_UPDATE_SOURCE, "unknown", 77, "other"));
        log = log_capture_end();
        ck_assert_logs(
                log,
                "UpdateDataSource is refused: it has not registered \"numbered\" as number 78");
        ck_assert_logs(log, "UpdateDataSource is refused: it has not registered \"unknown\"");
        client_deinit(&app);
}

/* As many categories as fit into a frame, which count twice: as the descriptor's bytes, and as they are listed. */
PORT_WORLD_TEST(test_an_update_that_is_too_large_fails_and_changes_nothing) {
        static uint8_t memory[IPC_FRAME_BYTES_MAX];
        size_t descriptor, track_event, category, n_descriptor;
        _cleanup_(freep) char *log = NULL;
        WireWriter message;
        ProducerClient app;
        char name[32];

        world_connect_app(&app, "app", "track_event");
        wire_writer_init(&message, memory, sizeof(memory));
        descriptor = wire_begin(&message, 1);
        wire_put_string(&message, 1, "track_event");
        wire_put_uint(&message, 7, 77);
        track_event = wire_begin(&message, 6);
        for (unsigned i = 0; i < 4000; i++) {
                category = wire_begin(&message, 1);
                snprintf(name, sizeof(name), "category-%018u", i);
                wire_put_string(&message, 1, name);
                wire_end(&message, category);
        }
        wire_end(&message, track_event);
        wire_end(&message, descriptor);
        ck_assert(!wire_writer_failed(&message));
        log_capture_begin();
        assert_fails(
                &app,
                client_call(&app, CLIENT_UPDATE_SOURCE, true, memory, wire_writer_size(&message)));
        log = log_capture_end();
        ck_assert_logs(log, "\"track_event\" stays as it was: it is one too many, or too large");
        producer_source_descriptor(service_next_producer(f.service, NULL), 0, &n_descriptor);
        ck_assert_uint_lt(n_descriptor, 1000);
        client_deinit(&app);
}

PORT_WORLD_TEST(test_what_is_not_offered_cannot_be_taken_back) {
        static const uint8_t unknown[] = { 0x0a, 3, 'x', 'y', 'z' };
        _cleanup_(freep) char *log = NULL;
        ProducerClient app;

        world_connect_app(&app, "app", "track_event");
        log_capture_begin();
        assert_fails(&app,
                     client_call(&app, CLIENT_UNREGISTER_SOURCE, true, unknown, sizeof(unknown)));
        log = log_capture_end();
        ck_assert_logs(log, "UnregisterDataSource is refused: it does not offer \"xyz\"");
        client_deinit(&app);
}

PORT_WORLD_TEST(test_triggers_that_are_not_heard_fail_and_the_others_are_sent) {
        static const uint8_t triggers[] = { 0x0a, 0, 0x0a, 4, 'j', 'a', 'n', 'k' };
        _cleanup_(freep) char *log = NULL;
        FakeConsumer *consumer;
        ProducerClient app;

        world_connect_app(&app, "app", "track_event");
        consumer = fixture_start_session(
                &f,
                getuid(),
                "buffers { size_kb: 64 } data_sources { config { name: \"track_event\" } } "
                "trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 60000 "
                "triggers { name: \"jank\" } }");
        world_run_one(&app);
        log_capture_begin();
        assert_fails(&app, client_call(&app, CLIENT_TRIGGERS, true, triggers, sizeof(triggers)));
        log = log_capture_end();
        ck_assert_logs(log, "ActivateTriggers is refused: some of the names");
        fixture_advance(&f, 1 * S);
        world_run_one(&app);
        ck_assert_uint_ge(session_state(consumer->session), SESSION_FLUSHING);
        client_deinit(&app);
}

/* For a producer that never asks for its commands. Returns how many sessions came before it was disconnected. */
static unsigned sessions_until_it_is_disconnected(const char *config) {
        static const uint8_t initialize[] = { 0x08, 0x80, 0x20, 0x1a, 3, 'a', 'p', 'p' };
        ProducerClient app;
        unsigned n = 0;

        world_connect(&app);
        client_bind(&app);
        world_run_one(&app);
        client_call(&app, CLIENT_INITIALIZE, true, initialize, sizeof(initialize));
        client_register_source(&app, "track_event", 77);
        world_run_one(&app);
        while (!app.is_closed) {
                FakeConsumer *consumer = fixture_start_session(&f, getuid(), config);

                fixture_free_session(consumer);
                free(consumer);
                f.n_consumers--;
                n++;
                world_run_one(&app);
        }
        client_deinit(&app);
        return n;
}

PORT_WORLD_TEST(test_commands_that_nobody_asks_for_are_limited) {
        _cleanup_(freep) char *log = NULL;
        unsigned n;

        log_capture_begin();
        n = sessions_until_it_is_disconnected(CONFIG_ONE("track_event"));
        log = log_capture_end();
        ck_assert_logs(log, "it does not ask for its commands");
        /* Each costs one at least, to set the source up, and few more. */
        ck_assert_uint_le(n, PRODUCER_HELD_COMMANDS_MAX);
        ck_assert_uint_gt(n, PRODUCER_HELD_COMMANDS_MAX / 8);
}

PORT_WORLD_TEST(test_commands_that_wait_are_limited_in_bytes_as_well) {
        static char config[(64 << 10) + 256];
        size_t n_head;
        unsigned n;

        strcpy(config,
               "buffers { size_kb: 4 } data_sources { config { name: 'track_event' "
               "track_event_config { enabled_tags: '");
        n_head = strlen(config);
        memset(config + n_head, 'x', 64 << 10);
        strcpy(config + n_head + (64 << 10), "' } } }");
        n = sessions_until_it_is_disconnected(config);
        ck_assert_uint_le(n, PRODUCER_HELD_BYTES_MAX / (64 << 10));
        ck_assert_uint_gt(n, PRODUCER_HELD_BYTES_MAX / (64 << 10) / 4);
}

TEST_MAIN("producer-refusals",
          test_commands_that_nobody_asks_for_are_limited,
          test_commands_that_wait_are_limited_in_bytes_as_well,
          test_each_descriptor_that_is_refused_is_told_and_logged,
          test_a_name_that_is_too_long_is_refused,
          test_an_update_of_what_is_not_registered_fails,
          test_an_update_that_is_too_large_fails_and_changes_nothing,
          test_what_is_not_offered_cannot_be_taken_back,
          test_triggers_that_are_not_heard_fail_and_the_others_are_sent)
