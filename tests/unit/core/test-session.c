/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The life of a session: states, acknowledgements, deadlines, the end. */

#include "fixture.h"

static Fixture f;

START_TEST(test_session_records_from_start_to_stop) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        ck_assert_ptr_null(app->memory);
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        ck_assert(fake_instance(app, "track_event")->start_asked);

        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write(writer, "one");
        ck_assert(fake_ring(app));
        fake_write(writer, "two");
        fixture_stop_session(&f, consumer);
        ck_assert(fake_instance(app, "track_event")->stop_asked);
        ck_assert_str_eq(session_stop_reason(consumer->session), "requested");
        ck_assert_uint_eq(session_stopped_at(consumer->session), f.now);

        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "one"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "two"), 1);
        bytes_deinit(&trace);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace.n, 0);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_start_waits_for_acknowledgements) {
        FakeProducer *app;
        FakeConsumer *consumer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        app->acks_start = false;
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTING);
        producer_source_started(app->producer, fake_instance(app, "track_event")->id, f.now);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_start_goes_on_without_a_silent_producer) {
        FakeProducer *app;
        FakeConsumer *consumer;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        app->acks_start = false;
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        fixture_advance(&f, SESSION_START_TIMEOUT_NS - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTING);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        trace = fixture_read(&f, consumer);
        ck_assert(trace_has_event(&trace, 7, NULL));
        ck_assert(!trace_has_event(&trace, 1, NULL));
        bytes_deinit(&trace);

        /* Late is not never. */
        producer_source_started(app->producer, fake_instance(app, "track_event")->id, f.now);
        trace = fixture_read(&f, consumer);
        ck_assert(trace_has_event(&trace, 1, NULL));
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_source_that_fails_without_a_word_has_failed_nevertheless) {
        const char *const silences[] = { NULL, "" };
        FakeConsumer *consumer;
        InstanceInfo info;

        fixture_init(&f);
        for (size_t i = 0; i < ARRAY_SIZE(silences); i++) {
                FakeProducer *app = fixture_connect_producer(&f, 1000, "app", "track_event");

                app->acks_start = false;
                consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
                producer_source_failed(
                        app->producer, fake_instance(app, "track_event")->id, silences[i], f.now);
                session_instance(consumer->session, 0, &info);
                ck_assert_int_eq(info.state, INSTANCE_STOPPED);
                ck_assert_str_ne(info.why, "");
                fixture_free_session(consumer);
                fixture_disconnect_producer(app);
        }
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_failed_source_says_why_and_holds_nobody) {
        FakeProducer *app;
        FakeConsumer *consumer;
        InstanceInfo info;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        app->acks_start = false;
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        producer_source_failed(
                app->producer, fake_instance(app, "track_event")->id, "no such thing", f.now);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        ck_assert_uint_eq(session_n_instances(consumer->session), 1);
        session_instance(consumer->session, 0, &info);
        ck_assert_int_eq(info.state, INSTANCE_STOPPED);
        ck_assert_str_eq(info.why, "no such thing");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_deferred_session_sets_up_but_starts_when_told) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        FakeProducer *app;
        FakeConsumer *consumer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        ck_assert_int_eq(
                fixture_try_session(
                        &f, &consumer, &options, CONFIG_ONE("track_event") "deferred_start: true"),
                0);
        fixture_advance(&f, 10 * S);
        ck_assert_int_eq(session_state(consumer->session), SESSION_CONFIGURED);
        ck_assert_ptr_nonnull(fake_instance(app, "track_event"));
        ck_assert(!fake_instance(app, "track_event")->start_asked);
        ck_assert_int_eq(session_start(consumer->session, f.now), 0);
        fixture_settle(&f);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        ck_assert_int_eq(session_start(consumer->session, f.now), SESSION_E_STATE);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_session_that_never_started_can_be_stopped) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        FakeProducer *app;
        FakeConsumer *consumer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        ck_assert_int_eq(fixture_try_session(&f, &consumer, &options, CONFIG_ONE("track_event")),
                         0);
        fixture_stop_session(&f, consumer);
        ck_assert(fake_instance(app, "track_event")->stop_asked);
        ck_assert_uint_eq(app->n_flushes, 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_duration_flushes_and_stops) {
        FakeProducer *app;
        FakeConsumer *consumer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event") "duration_ms: 700");
        fixture_advance(&f, 700 * MS - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        ck_assert_str_eq(session_stop_reason(consumer->session), "duration");
        ck_assert_uint_eq(app->n_flushes, 1);
        ck_assert_uint_eq(app->flush_flags & 0xf, 2);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_duration_counts_from_the_start_of_recording) {
        FakeProducer *app;
        FakeConsumer *consumer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        app->acks_start = false;
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event") "duration_ms: 1000");
        fixture_advance(&f, 3 * S);
        producer_source_started(app->producer, fake_instance(app, "track_event")->id, f.now);
        fixture_advance(&f, 999 * MS);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 1 * MS);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_session_tells_when_it_began_and_when_it_will_end) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *consumer;
        uint64_t began;

        fixture_init(&f);
        fixture_connect_producer(&f, 1000, "app", "track_event");
        began = f.now;
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event") "duration_ms: 700");
        ck_assert_uint_eq(session_started_at(consumer->session), began);
        ck_assert_uint_eq(session_ends_at(consumer->session), began + 700 * MS);
        fixture_advance(&f, 700 * MS);
        ck_assert_uint_eq(session_stopped_at(consumer->session), began + 700 * MS);
        ck_assert_uint_eq(session_ends_at(consumer->session), UINT64_MAX);

        ck_assert_int_eq(
                fixture_try_session(
                        &f, &consumer, &options, CONFIG_ONE("track_event") "deferred_start: true"),
                0);
        ck_assert_uint_eq(session_started_at(consumer->session), 0);
        ck_assert_uint_eq(session_ends_at(consumer->session), UINT64_MAX);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_stop_gives_up_on_a_silent_producer_and_keeps_its_packets) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        InstanceInfo info;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(
                &f, 1000, CONFIG_ONE("track_event") "data_source_stop_timeout_ms: 300");
        app->acks_stop = app->acks_flush = false;
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write_unfinished(writer, "finished packet");

        session_stop(consumer->session, "requested", f.now);
        ck_assert_int_eq(session_state(consumer->session), SESSION_FLUSHING);
        fixture_advance(&f, SESSION_FLUSH_TIMEOUT_NS);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPING);
        fixture_advance(&f, 300 * MS - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPING);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        session_instance(consumer->session, 0, &info);
        ck_assert_str_ne(info.why, "");

        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "finished packet"), 1);
        ck_assert(trace_has_event(&trace, 8, NULL));
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_stopping_twice_keeps_the_first_reason) {
        FakeConsumer *consumer;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        fixture_stop_session(&f, consumer);
        session_stop(consumer->session, "again", f.now);
        ck_assert_str_eq(session_stop_reason(consumer->session), "requested");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_dead_producers_packets_survive) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        InstanceInfo info;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write(writer, "committed");
        fake_write_unfinished(writer, "never committed");
        fixture_disconnect_producer(app);
        fixture_settle(&f);

        ck_assert_uint_eq(session_n_instances(consumer->session), 1);
        session_instance(consumer->session, 0, &info);
        ck_assert_str_eq(info.producer, "app");
        ck_assert_int_eq(info.state, INSTANCE_STOPPED);
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "committed"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "never committed"), 1);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_dying_producer_does_not_hold_start_flush_or_stop) {
        static const SessionState states[] = { SESSION_STARTING,
                                               SESSION_FLUSHING,
                                               SESSION_STOPPING };

        for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
                FakeProducer *app;
                FakeConsumer *consumer;

                fixture_init(&f);
                app = fixture_connect_producer(&f, 1000, "app", "track_event");
                app->acks_start = states[i] != SESSION_STARTING;
                app->acks_flush = states[i] != SESSION_FLUSHING;
                app->acks_stop = states[i] != SESSION_STOPPING;
                consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
                if (states[i] != SESSION_STARTING) {
                        session_stop(consumer->session, "requested", f.now);
                        fixture_settle(&f);
                }
                ck_assert_int_eq(session_state(consumer->session), states[i]);
                fixture_disconnect_producer(app);
                ck_assert_uint_le(service_next_deadline(f.service), f.now);
                fixture_settle(&f);
                ck_assert_int_eq(session_state(consumer->session),
                                 i == 0 ? SESSION_STARTED : SESSION_STOPPED);
                fixture_deinit(&f);
        }
}
END_TEST

START_TEST(test_a_freed_session_stops_its_sources_and_gives_its_charges_back) {
        FakeProducer *app;
        FakeConsumer *consumer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        /* More often than a user may have sessions at a time, and more bytes together. */
        for (unsigned i = 0; i < 2 * SERVICE_SESSIONS_PER_USER_MAX; i++) {
                f.n_consumers = 0;
                consumer = fixture_start_session(&f,
                                                 1000,
                                                 "buffers { size_kb: 3145728 } data_sources { "
                                                 "config { name: \"track_event\" } }");
                fixture_free_session(consumer);
                free(consumer);
                ck_assert(fake_instance(app, "track_event")->stop_asked);
                fixture_settle(&f);
        }
        f.n_consumers = 0;
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
        fixture_advance(&f, PRODUCER_KEEP_MEMORY_NS);
        ck_assert_uint_eq(app->n_released, 1);
        ck_assert_uint_eq(service_next_deadline(f.service), UINT64_MAX);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_removed_source_leaves_its_sessions) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        InstanceInfo info;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write(writer, "before");
        ck_assert_int_eq(producer_remove_source(app->producer, "nothing", f.now),
                         PRODUCER_E_UNKNOWN);
        ck_assert_int_eq(producer_remove_source(app->producer, "track_event", f.now), 0);
        ck_assert_uint_eq(producer_n_sources(app->producer), 0);
        session_instance(consumer->session, 0, &info);
        ck_assert_int_eq(info.state, INSTANCE_STOPPED);
        fake_write(writer, "after");
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "before"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "after"), 0);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_incremental_state_is_cleared_where_it_is_wanted) {
        static const uint8_t wants[] = { 0x0a, 5, 'w', 'a', 'n', 't', 's', 0x20, 1 };
        static const uint8_t wants_not[] = { 0x0a, 4, 'n', 'o', 'n', 'e' };
        FakeProducer *app;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", NULL);
        fixture_add_source(app,
                           "wants",
                           &(SourceOptions){ .descriptor = wants, .n_descriptor = sizeof(wants) });
        fixture_add_source(
                app,
                "none",
                &(SourceOptions){ .descriptor = wants_not, .n_descriptor = sizeof(wants_not) });
        fixture_start_session(
                &f,
                1000,
                CONFIG_ONE("wants") "data_sources { config { name: \"none\" } } "
                                    "incremental_state_config { clear_period_ms: 500 }");
        fixture_advance(&f, 1600 * MS);
        ck_assert_uint_eq(fake_instance(app, "wants")->n_clears, 3);
        ck_assert_uint_eq(fake_instance(app, "none")->n_clears, 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_incremental_state_is_cleared_before_a_ring_forgets_it) {
        static const uint8_t wants[] = { 0x0a, 5, 'w', 'a', 'n', 't', 's', 0x20, 1 };
        static const char packet[1024] = "x";
        const char *config =
                "buffers { size_kb: 256 } buffers { size_kb: 256 fill_policy: DISCARD } "
                "data_sources { config { name: \"wants\" } } "
                "data_sources { config { name: \"wants\" target_buffer: 1 } }";
        FakeProducer *app;
        SmbWriter *writers[2];

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", NULL);
        fixture_add_source(app,
                           "wants",
                           &(SourceOptions){ .descriptor = wants, .n_descriptor = sizeof(wants) });
        fixture_start_session(&f, 1000, config);
        ck_assert_uint_eq(app->n_instances, 2);
        for (int i = 0; i < 2; i++)
                writers[i] = fake_writer_new(app, &app->instances[i]);

        fixture_advance(&f, 10000 * MS);
        ck_assert_uint_eq(app->instances[0].n_clears,
                          0);                      /* nothing is written, nothing forgotten */
        for (int round = 0; round < 10; round++) { /* a ring a second */
                for (int i = 0; i < 26 * 2; i++)
                        fake_write_bytes(writers[i % 2], packet, sizeof(packet));
                fake_ring(app);
                fixture_advance(&f, 100 * MS);
        }
        ck_assert_uint_ge(app->instances[0].n_clears, 1);
        ck_assert_uint_le(app->instances[0].n_clears, 3); /* not all the time */
        ck_assert_uint_eq(app->instances[1].n_clears, 0);
        for (int i = 0; i < 2; i++)
                free(writers[i]);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_consumer_hears_of_every_change) {
        FakeConsumer *consumer;
        unsigned n;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        n = consumer->n_changed;
        ck_assert_uint_ge(n, 2); /* starting, started */
        fixture_connect_producer(&f, 1000, "late", "track_event");
        ck_assert_uint_gt(consumer->n_changed, n);
        n = consumer->n_changed;
        fixture_stop_session(&f, consumer);
        ck_assert_uint_ge(consumer->n_changed, n + 3);
        ck_assert_uint_eq(consumer->n_outputs, 0);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session",
          test_session_records_from_start_to_stop,
          test_start_waits_for_acknowledgements,
          test_start_goes_on_without_a_silent_producer,
          test_source_that_fails_without_a_word_has_failed_nevertheless,
          test_failed_source_says_why_and_holds_nobody,
          test_deferred_session_sets_up_but_starts_when_told,
          test_session_that_never_started_can_be_stopped,
          test_duration_flushes_and_stops,
          test_duration_counts_from_the_start_of_recording,
          test_a_session_tells_when_it_began_and_when_it_will_end,
          test_stop_gives_up_on_a_silent_producer_and_keeps_its_packets,
          test_stopping_twice_keeps_the_first_reason,
          test_dead_producers_packets_survive,
          test_a_dying_producer_does_not_hold_start_flush_or_stop,
          test_a_freed_session_stops_its_sources_and_gives_its_charges_back,
          test_removed_source_leaves_its_sessions,
          test_incremental_state_is_cleared_where_it_is_wanted,
          test_incremental_state_is_cleared_before_a_ring_forgets_it,
          test_consumer_hears_of_every_change)
