/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What becomes of a config: it gets to data sources and into the trace as it was sent, its buffers are found by number
 * and by name, and what comes and goes is measured by it. */

#include <stdio.h>

#include "fixture.h"

static Fixture f;

#define PACKET_TRACE_CONFIG 33

#define TRACING_SESSION_ID 4 /* of DataSourceConfig */

#define UNKNOWN_NUMBER 5000
#define UNKNOWN_BYTES  5001

/* A field that no version of us knows, of every wire type, and one number that is written longer than it must be. */
static void put_unknown(WireWriter *writer, const char *text) {
        wire_put_uint(writer, UNKNOWN_NUMBER, 7);
        wire_put_string(writer, UNKNOWN_BYTES, text);
        wire_put_fixed64(writer, UNKNOWN_NUMBER, 8);
        wire_put_raw(writer, "\xc5\xb8\x02\x01\x02\x03\x04", 7); /* 5000 as fixed32 */
        wire_put_raw(writer, "\xc0\xb8\x02\x87\x80\x80\x00", 7); /* 5000: 7 */
}

static size_t encode_strange_source(uint8_t *bytes, size_t n) {
        WireWriter writer;
        size_t inner;

        wire_writer_init(&writer, bytes, n);
        put_unknown(&writer, "source");
        inner = wire_begin(&writer, 113);
        put_unknown(&writer, "track events");
        wire_put_string(&writer, 2, "render");
        wire_end(&writer, inner);
        wire_put_string(&writer, 1000, "legacy_config, which is for producers alone");
        wire_put_string(&writer, 1, "track_event");
        ck_assert(!wire_writer_failed(&writer));
        return wire_writer_size(&writer);
}

/* Unknown fields at every level, and known ones behind them, in no good order. */
static size_t encode_strange_config(uint8_t *bytes, size_t n, const void *source, size_t n_source) {
        WireWriter writer;
        size_t entry;

        wire_writer_init(&writer, bytes, n);
        put_unknown(&writer, "session");
        entry = wire_begin(&writer, 2);
        put_unknown(&writer, "entry");
        wire_put_bytes(&writer, 1, source, n_source);
        wire_put_string(&writer, 2, "app");
        wire_end(&writer, entry);
        wire_put_uint(&writer, 3, 1000);
        entry = wire_begin(&writer, 1);
        put_unknown(&writer, "buffer");
        wire_put_uint(&writer, 1, 256);
        wire_end(&writer, entry);
        entry = wire_begin(&writer, 20);
        put_unknown(&writer, "builtin");
        wire_end(&writer, entry);
        wire_put_uint(&writer, 3, 2000); /* the last one counts */
        ck_assert(!wire_writer_failed(&writer));
        return wire_writer_size(&writer);
}

static FakeConsumer *start_bytes(const void *bytes, size_t n) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *consumer;
        ConfigError error;
        Config *config;

        ck_assert_int_eq(config_new_from_bytes(&config, bytes, n, &error), 0);
        ck_assert_int_eq(fixture_try_config(&f, &consumer, &options, config), 0);
        ck_assert_int_eq(session_start(consumer->session, f.now), 0);
        fixture_settle(&f);
        return consumer;
}

START_TEST(test_what_is_not_known_survives_at_every_level) {
        uint8_t source[512], bytes[1024];
        size_t n_source = encode_strange_source(source, sizeof(source));
        size_t n = encode_strange_config(bytes, sizeof(bytes), source, n_source);
        FakeConsumer *consumer;
        FakeInstance *instance;
        FakeProducer *app;
        TestPacket packet;
        WireField field;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = start_bytes(bytes, n);
        instance = fake_instance(app, "track_event");
        ck_assert_uint_gt(instance->n_config, n_source);
        ck_assert_mem_eq(instance->config, source, n_source);
        ck_assert_uint_eq(session_config(consumer->session)->pb->duration_ms, 2000);

        trace = fixture_read(&f, consumer);
        packet = trace_packet(&trace, PACKET_TRACE_CONFIG, 0);
        ck_assert(packet_field(&packet, PACKET_TRACE_CONFIG, &field));
        ck_assert_uint_eq(field.n_bytes, n);
        ck_assert_mem_eq(field.data, bytes, n);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_change_of_a_config_with_unknown_fields_keeps_them) {
        uint8_t source[512], bytes[1024];
        size_t n_source = encode_strange_source(source, sizeof(source));
        size_t n = encode_strange_config(bytes, sizeof(bytes), source, n_source);
        FakeConsumer *consumer;
        SessionError error;
        ConfigError why;
        Config *config;

        fixture_init(&f);
        consumer = start_bytes(bytes, n);
        ck_assert_int_eq(config_new_from_bytes(&config, bytes, n, &why), 0);
        ck_assert_int_eq(session_change_config(consumer->session, config, &error, f.now), 0);

        /* Another text in the unknown field of the entry. */
        ((char *)memmem(bytes, n, "entry", 5))[0] = 'E';
        ck_assert_int_eq(config_new_from_bytes(&config, bytes, n, &why), 0);
        ck_assert_int_eq(session_change_config(consumer->session, config, &error, f.now),
                         SESSION_E_CONFIG);
        ck_assert_ptr_nonnull(strstr(error.message, "data_sources[0].5001 cannot"));
        config_free(config);
        fixture_deinit(&f);
}
END_TEST

static uint64_t source_field(FakeProducer *producer, const char *source, uint32_t number) {
        const FakeInstance *instance = fake_instance(producer, source);
        const TestPacket config = { instance->config, instance->n_config };

        return packet_uint(&config, number);
}

START_TEST(test_sessions_have_numbers_that_their_sources_know) {
        FakeConsumer *first, *second;
        FakeProducer *app;
        uint64_t id;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "one");
        fixture_add_source(app, "two", &(SourceOptions){});
        first = fixture_start_session(
                &f, 1000, CONFIG_ONE("one") "data_sources { config { name: \"two\" } }");
        id = session_id(first->session);
        ck_assert_uint_eq(source_field(app, "one", TRACING_SESSION_ID), id);
        ck_assert_uint_eq(source_field(app, "two", TRACING_SESSION_ID), id);
        second = fixture_start_session(&f, 1000, CONFIG_ONE("one"));
        ck_assert_uint_ne(session_id(second->session), id);
        ck_assert_uint_eq(source_field(app, "one", TRACING_SESSION_ID),
                          session_id(second->session));
        fixture_deinit(&f);
}
END_TEST

/* Which of the session's buffers a source writes to: the one that got its chunk. */
static void assert_target(const char *target, size_t expected) {
        char config[512];
        FakeConsumer *consumer;
        FakeProducer *app;
        SmbWriter *writer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        snprintf(config,
                 sizeof(config),
                 "buffers { size_kb: 256 } buffers { size_kb: 256 name: \"named\" } "
                 "buffers { size_kb: 256 name: \"last\" } "
                 "data_sources { config { name: \"track_event\" %s } }",
                 target);
        consumer = fixture_start_session(&f, 1000, config);
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write(writer, "here");
        fixture_stop_session(&f, consumer);
        for (size_t i = 0; i < 3; i++)
                ck_assert_msg(session_buffer_stats(consumer->session, i)->chunks_written ==
                                      (i == expected),
                              "%s: buffer %zu",
                              target,
                              i);
        free(writer);
        fixture_deinit(&f);
}

START_TEST(test_buffers_are_found_by_number_and_by_name) {
        assert_target("", 0);
        assert_target("target_buffer: 0", 0);
        assert_target("target_buffer: 2", 2);
        assert_target("target_buffer_name: \"named\"", 1);
        assert_target("target_buffer_name: \"last\"", 2);
        assert_target("target_buffer: 1 target_buffer_name: \"named\"", 1);
        assert_target("target_buffer: 2 target_buffer_name: \"last\"", 2);
        assert_target("target_buffer: 2 target_buffer_name: \"\"", 2);
}
END_TEST

START_TEST(test_a_machine_filter_takes_this_machine_or_nobody) {
        static const struct {
                const char *filter;
                bool takes;
        } cases[] = {
                { "", true },
                { "machine_name_filter: \"host\"", true },
                { "machine_name_filter: \"phone\" machine_name_filter: \"host\"", true },
                { "machine_name_filter: \"phone\"", false },
                { "machine_name_filter: \"phone\" producer_name_filter: \"app\"", false },
                { "machine_name_filter: \"host\" producer_name_filter: \"other\"", false },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char config[256];
                FakeConsumer *consumer;
                FakeProducer *app;
                InstanceInfo info;

                fixture_init(&f);
                app = fixture_connect_producer(&f, 1000, "app", "track_event");
                snprintf(config,
                         sizeof(config),
                         "buffers { size_kb: 256 } "
                         "data_sources { config { name: \"track_event\" } %s }",
                         cases[i].filter);
                consumer = fixture_start_session(&f, 1000, config);
                ck_assert_msg(app->n_instances == cases[i].takes, "%s", cases[i].filter);
                session_instance(consumer->session, 0, &info);
                ck_assert_int_eq(info.state, cases[i].takes ? INSTANCE_STARTED : INSTANCE_MISSING);
                fixture_deinit(&f);
        }
}
END_TEST

START_TEST(test_nobody_is_started_for_another_machine) {
        FakeConsumer *consumer;
        InstanceInfo info;

        fixture_init(&f);
        ck_assert_int_eq(service_add_activatable(
                                 f.service, "extra", (const char *[]){ "extra.started", NULL }),
                         0);
        consumer = fixture_start_session(
                &f,
                1000,
                "buffers { size_kb: 256 } data_sources { config { name: \"extra.started\" } "
                "machine_name_filter: \"phone\" }");
        ck_assert_uint_eq(f.n_activations[0], 0);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        session_instance(consumer->session, 0, &info);
        ck_assert_int_eq(info.state, INSTANCE_MISSING);
        ck_assert_ptr_nonnull(strstr(info.why, "machine_name_filter"));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_producer_that_comes_back_is_set_up_again) {
        FakeConsumer *consumer;
        FakeProducer *app, *again;
        SmbWriter *writer;
        InstanceInfo info;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write(writer, "before");
        free(writer);
        fixture_disconnect_producer(app);
        fixture_settle(&f);

        again = fixture_connect_producer(&f, 1000, "app", "track_event");
        fixture_settle(&f);
        ck_assert_uint_eq(again->n_instances, 1);
        ck_assert(again->instances[0].start_asked);
        writer = fake_writer_new(again, fake_instance(again, "track_event"));
        fake_write(writer, "after");
        ck_assert_uint_eq(session_n_instances(consumer->session), 2);
        session_instance(consumer->session, 1, &info);
        ck_assert_int_eq(info.state, INSTANCE_STARTED);
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "before"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "after"), 1);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

/* In every state that waits for the producer; its answers come for nobody then. */
START_TEST(test_a_consumer_may_go_at_any_moment_of_the_end) {
        static const SessionState states[] = {
                SESSION_STARTED,
                SESSION_FLUSHING,
                SESSION_STOPPING,
                SESSION_STOPPED,
        };

        for (unsigned moment = 0; moment < ARRAY_SIZE(states); moment++) {
                FakeConsumer *consumer;
                FakeProducer *app;

                fixture_init(&f);
                app = fixture_connect_producer(&f, 1000, "app", "track_event");
                consumer = fixture_start_session(
                        &f, 1000, CONFIG_ONE("track_event") "duration_ms: 1000");
                app->acks_flush = moment > 1;
                app->acks_stop = moment > 2;
                fixture_advance(&f, 1 * S - 1);
                if (moment > 0)
                        fixture_advance(&f, 1);
                ck_assert_int_eq(session_state(consumer->session), states[moment]);
                fixture_free_session(consumer);
                ck_assert(app->instances[0].stop_asked);
                producer_flushed(app->producer, app->flush_id, f.now);
                producer_source_stopped(app->producer, app->instances[0].id, f.now);
                fixture_advance(&f, 10 * S);
                ck_assert_uint_eq(service_n_sessions(f.service), 0);
                ck_assert_uint_eq(service_next_deadline(f.service), UINT64_MAX);
                fixture_deinit(&f);
        }
}
END_TEST

START_TEST(test_a_producer_may_leave_and_enter_its_sources_again) {
        FakeConsumer *consumer;
        FakeProducer *app;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "one");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("one"));
        ck_assert_int_eq(producer_remove_source(app->producer, "one", f.now), 0);
        ck_assert_int_eq(producer_remove_source(app->producer, "one", f.now), PRODUCER_E_UNKNOWN);
        ck_assert_uint_eq(producer_n_sources(app->producer), 0);
        fixture_add_source(app, "one", &(SourceOptions){});
        fixture_settle(&f);
        ck_assert_uint_eq(app->n_instances, 2);
        ck_assert(app->instances[1].start_asked);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session-config",
          test_what_is_not_known_survives_at_every_level,
          test_a_change_of_a_config_with_unknown_fields_keeps_them,
          test_sessions_have_numbers_that_their_sources_know,
          test_buffers_are_found_by_number_and_by_name,
          test_a_machine_filter_takes_this_machine_or_nobody,
          test_nobody_is_started_for_another_machine,
          test_a_producer_that_comes_back_is_set_up_again,
          test_a_consumer_may_go_at_any_moment_of_the_end,
          test_a_producer_may_leave_and_enter_its_sources_again)
