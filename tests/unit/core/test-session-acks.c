/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a session waits for, says of itself, and asks of its sources while it goes through its states. */

#include <pthread.h>
#include <stdio.h>

#include "core/model/session.h"
#include "fixture.h"

#define EVENT_ALL_STARTED     1
#define EVENT_TRACING_STARTED 2
#define EVENT_ALL_FLUSHED     3
#define EVENT_DISABLED        5
#define EVENT_SLOW_STARTING   7
#define EVENT_FLUSH_STARTED   9

static Fixture f;

static size_t count_events(const Bytes *trace, uint32_t event) {
        TestPacket packet;
        size_t at = 0, n = 0;

        while (trace_next(trace, &at, &packet)) {
                TestPacket body;
                WireField field;

                if (!packet_field(&packet, 69, &field))
                        continue;
                body = (TestPacket){ field.data, field.n_bytes };
                n += packet_field(&body, event, &field);
        }
        return n;
}

static size_t read_events(FakeConsumer *consumer, uint32_t event) {
        Bytes trace = fixture_read(&f, consumer);
        size_t n = count_events(&trace, event);

        bytes_deinit(&trace);
        return n;
}

START_TEST(test_stop_waits_for_each_acknowledgement) {
        FakeProducer *one, *two;
        FakeConsumer *consumer;

        fixture_init(&f);
        one = fixture_connect_producer(&f, 1000, "one", "track_event");
        two = fixture_connect_producer(&f, 1000, "two", "track_event");
        one->acks_stop = two->acks_stop = false;
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        session_stop(consumer->session, "requested", f.now);
        fixture_advance(&f, SESSION_STOP_TIMEOUT_NS - 1);
        producer_source_stopped(one->producer, fake_instance(one, "track_event")->id, f.now);
        producer_source_stopped(one->producer, fake_instance(one, "track_event")->id, f.now);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPING);
        producer_source_stopped(two->producer, fake_instance(two, "track_event")->id, f.now);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_stops_have_their_time_from_the_last_flush_on) {
        FakeProducer *app;
        FakeConsumer *consumer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        app->acks_flush = app->acks_stop = false;
        consumer = fixture_start_session(
                &f, 1000, CONFIG_ONE("track_event") "data_source_stop_timeout_ms: 7000");
        session_stop(consumer->session, "requested", f.now);
        f.now += 300 * MS;
        producer_flushed(app->producer, app->flush_id, f.now);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPING);
        ck_assert_uint_eq(consumer->session->timers[SESSION_TIMER_STOP], f.now + 7000 * MS);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_source_that_comes_while_stops_are_awaited_is_not_asked) {
        FakeProducer *app, *late;
        FakeConsumer *consumer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        app->acks_stop = false;
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        session_stop(consumer->session, "requested", f.now);
        fixture_settle(&f);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPING);
        late = fixture_connect_producer(&f, 1000, "late", "track_event");
        ck_assert_uint_eq(late->n_instances, 0);
        producer_source_stopped(app->producer, fake_instance(app, "track_event")->id, f.now);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        ck_assert_uint_eq(late->n_instances, 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_all_started_is_said_once_when_the_last_one_has) {
        FakeProducer *one, *two;
        FakeConsumer *consumer;

        fixture_init(&f);
        one = fixture_connect_producer(&f, 1000, "one", "track_event");
        two = fixture_connect_producer(&f, 1000, "two", "track_event");
        one->acks_start = two->acks_start = false;
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        producer_source_started(two->producer, fake_instance(two, "track_event")->id, f.now);
        ck_assert(!session_all_started(consumer->session));
        ck_assert_uint_eq(read_events(consumer, EVENT_ALL_STARTED), 0);
        producer_source_started(one->producer, fake_instance(one, "track_event")->id, f.now);
        ck_assert(session_all_started(consumer->session));
        ck_assert_uint_eq(read_events(consumer, EVENT_ALL_STARTED), 1);

        fixture_connect_producer(&f, 1000, "late", "track_event");
        ck_assert_uint_eq(read_events(consumer, EVENT_ALL_STARTED), 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_all_started_is_said_when_nobody_matches) {
        FakeConsumer *consumer;

        fixture_init(&f);
        fixture_connect_producer(&f, 1000, "other", "app.other");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert(session_all_started(consumer->session));
        ck_assert_uint_eq(read_events(consumer, EVENT_ALL_STARTED), 1);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_slow_starters_are_named_and_all_started_waits_for_them) {
        FakeProducer *quick, *slow;
        FakeConsumer *consumer;
        Bytes trace;

        fixture_init(&f);
        quick = fixture_connect_producer(&f, 1000, "quick", "track_event");
        slow = fixture_connect_producer(&f, 1000, "slow", "track_event");
        slow->acks_start = false;
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        fixture_advance(&f, SESSION_START_TIMEOUT_NS);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(count_events(&trace, EVENT_SLOW_STARTING), 1);
        ck_assert_uint_eq(count_events(&trace, EVENT_ALL_STARTED), 0);
        ck_assert_ptr_nonnull(memmem(trace.data, trace.n, "slow", 4));
        ck_assert_ptr_null(memmem(trace.data, trace.n, "quick", 5));
        bytes_deinit(&trace);
        producer_source_started(slow->producer, fake_instance(slow, "track_event")->id, f.now);
        ck_assert_uint_eq(read_events(consumer, EVENT_ALL_STARTED), 1);
        ck_assert_uint_eq(quick->n_instances, 1);
        fixture_deinit(&f);
}
END_TEST

/* How often the trace names the producer of n sources that have not started. */
static unsigned count_slow(unsigned n) {
        char config[8192] = "buffers { size_kb: 256 } ";
        FakeConsumer *consumer;
        unsigned n_named = 0;
        Bytes trace;

        /* Of two producers, as the fixture's have a limit. */
        for (unsigned i = 0; i < n; i++)
                strcat(config,
                       i % 2 ? "data_sources { config { name: \"odd\" } } "
                             : "data_sources { config { name: \"even\" } } ");
        fixture_init(&f);
        fixture_connect_producer(&f, 1000, "slow", "odd")->acks_start = false;
        fixture_connect_producer(&f, 1000, "slow", "even")->acks_start = false;
        consumer = fixture_start_session(&f, 1000, config);
        fixture_advance(&f, SESSION_START_TIMEOUT_NS);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(count_events(&trace, EVENT_SLOW_STARTING), 1);
        for (size_t i = 0; i + 4 <= trace.n; i++)
                n_named += memcmp(trace.data + i, "slow", 4) == 0;
        bytes_deinit(&trace);
        fixture_deinit(&f);
        return n_named;
}

START_TEST(test_the_number_of_slow_starters_that_are_named_is_limited) {
        const unsigned n = count_slow(EVENT_NAMES_MAX);

        ck_assert_uint_eq(count_slow(EVENT_NAMES_MAX - 1), n - 1);
        ck_assert_uint_eq(count_slow(EVENT_NAMES_MAX + 1), n);
        ck_assert_uint_eq(count_slow(EVENT_NAMES_MAX + 20), n);
}
END_TEST

/* Each with its own time, in the order in which they happened. */
START_TEST(test_events_of_many_flushes_wait_for_a_reader) {
        FakeConsumer *consumer;
        TestPacket packet;
        size_t at = 0;
        uint64_t last = 0;
        Bytes trace;

        fixture_init(&f);
        fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        for (unsigned i = 0; i < 10; i++) {
                ck_assert_int_eq(session_flush(consumer->session, 0, 0, NULL, NULL, f.now), 0);
                fixture_advance(&f, 10 * MS);
        }
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(count_events(&trace, EVENT_FLUSH_STARTED), 10);
        ck_assert_uint_eq(count_events(&trace, EVENT_ALL_FLUSHED), 10);
        while (trace_next(&trace, &at, &packet)) {
                WireField field;

                if (!packet_field(&packet, 69, &field))
                        continue;
                ck_assert_uint_ge(packet_uint(&packet, 8), last);
                last = packet_uint(&packet, 8);
        }
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

static void *write_there(void *writer) {
        fake_write_unfinished(writer, "of another thread");
        return NULL;
}

START_TEST(test_flush_takes_what_other_threads_have_not_finished) {
        SmbWriter *writer, *other;
        FakeConsumer *consumer;
        FakeProducer *app;
        pthread_t thread;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        other = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write_unfinished(writer, "of this thread");
        ck_assert_int_eq(pthread_create(&thread, NULL, write_there, other), 0);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        ck_assert_int_eq(session_flush(consumer->session, 0, 0, NULL, NULL, f.now), 0);
        fixture_settle(&f);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "of this thread"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "of another thread"), 1);
        bytes_deinit(&trace);
        free(writer);
        free(other);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_state_is_cleared_behind_what_shared_memory_had_no_room_for) {
        FakeInstance *instance;
        SmbWriter *writer;
        FakeProducer *app;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        instance = fake_instance(app, "track_event");
        writer = fake_writer_new(app, instance);
        fake_write(writer, "there was room");
        ck_assert(fake_ring(app));
        fixture_advance(&f, SESSION_CLEAR_GAP_NS);
        ck_assert_uint_eq(instance->n_clears, 0);

        smb_writer_drop(writer);
        fake_write(writer, "behind a gap");
        fake_ring(app);
        fixture_advance(&f, 1 * MS);
        ck_assert_uint_eq(instance->n_clears, 1);

        /* Again, but not at once. */
        for (unsigned i = 0; i < 100; i++) {
                smb_writer_drop(writer);
                fake_write(writer, "behind many gaps");
                fake_ring(app);
                fixture_advance(&f, 20 * MS);
        }
        ck_assert_uint_ge(instance->n_clears, 4);
        ck_assert_uint_le(instance->n_clears, 1 + 2000 * MS / SESSION_CLEAR_GAP_NS);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session-acks",
          test_stop_waits_for_each_acknowledgement,
          test_stops_have_their_time_from_the_last_flush_on,
          test_source_that_comes_while_stops_are_awaited_is_not_asked,
          test_all_started_is_said_once_when_the_last_one_has,
          test_all_started_is_said_when_nobody_matches,
          test_slow_starters_are_named_and_all_started_waits_for_them,
          test_the_number_of_slow_starters_that_are_named_is_limited,
          test_events_of_many_flushes_wait_for_a_reader,
          test_flush_takes_what_other_threads_have_not_finished,
          test_state_is_cleared_behind_what_shared_memory_had_no_room_for)
