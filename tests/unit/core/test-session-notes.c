/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What producers say that they do not record. */

#include <stdio.h>

#include "core/events/service-packets.h"
#include "core/model/service.h"
#include "core/model/session.h"
#include "fixture.h"

#define PLAIN CONFIG_ONE("track_event")

static Fixture f;

static void add_note(FakeProducer *producer, const char *text) {
        producer_source_note(
                producer->producer, fake_instance(producer, "track_event")->id, text, f.now);
}

static NoteInfo nth_note(const Session *session, size_t nth) {
        const List *at = NULL;
        NoteInfo info;

        do
                ck_assert(session_next_note(session, &at, &info));
        while (nth-- > 0);
        return info;
}

START_TEST(test_a_note_is_told_with_who_said_it_and_when_he_is_gone) {
        FakeConsumer *consumer;
        FakeProducer *app;
        uint64_t n_changes;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, PLAIN);
        n_changes = session_n_changes(consumer->session);
        add_note(app, "no\nleft\x1b[2J channel\xff");
        ck_assert_uint_gt(session_n_changes(consumer->session), n_changes);
        fixture_disconnect_producer(app);
        ck_assert_uint_eq(session_n_notes(consumer->session), 1);
        ck_assert_str_eq(nth_note(consumer->session, 0).text, "no left [2J channel?");
        ck_assert_str_eq(nth_note(consumer->session, 0).source, "track_event");
        ck_assert_str_eq(nth_note(consumer->session, 0).producer, "app");
        ck_assert_uint_eq(nth_note(consumer->session, 0).identity.uid, 1000);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_note_is_in_the_trace_once_as_an_event_that_readers_show) {
        FakeConsumer *consumer;
        TestPacket packet;
        FakeProducer *app;
        WireField event;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, PLAIN);
        add_note(app, "no left channel");
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACK_DESCRIPTOR), 1);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACK_EVENT), 1);
        packet = trace_packet(&trace, PACKET_TRACK_EVENT, 0);
        ck_assert_uint_eq(packet_uint(&packet, PACKET_SEQUENCE_ID), 1);
        ck_assert_uint_eq(packet_uint(&packet, PACKET_TIMESTAMP), f.now);
        ck_assert(packet_field(&packet, PACKET_TRACK_EVENT, &event));
        ck_assert_ptr_nonnull(memmem(event.data, event.n_bytes, "no left channel", 15));
        bytes_deinit(&trace);

        add_note(app, "nor a right one");
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACK_DESCRIPTOR), 0);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACK_EVENT), 1);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_clone_has_the_notes_of_its_original) {
        FakeConsumer *consumer, *clone;
        FakeProducer *app;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, PLAIN);
        add_note(app, "no left channel");
        clone = fixture_clone(&f, consumer);
        ck_assert_str_eq(nth_note(clone->session, 0).text, "no left channel");
        fixture_free_session(consumer);
        trace = fixture_read(&f, clone);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACK_EVENT), 1);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_notes_of_all_programs_together_are_limited) {
        FakeConsumer *consumer;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, PLAIN);
        for (size_t i = 0; i <= SESSION_NOTES_MAX / INSTANCE_NOTES_MAX; i++) {
                FakeProducer *app = fixture_connect_producer(&f, 1000, "app", "track_event");

                for (size_t k = 0; k < INSTANCE_NOTES_MAX; k++)
                        add_note(app, "no left channel");
        }
        ck_assert_uint_eq(session_n_notes(consumer->session), SESSION_NOTES_MAX);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_notes_are_limited_in_number_and_length_and_charged) {
        char text[2 * INSTANCE_NOTE_BYTES_MAX];
        FakeConsumer *consumer;
        FakeProducer *app;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, PLAIN);
        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        for (size_t i = 0; i <= INSTANCE_NOTES_MAX; i++)
                add_note(app, text);
        ck_assert_uint_eq(session_n_notes(consumer->session), INSTANCE_NOTES_MAX);
        ck_assert_uint_eq(strlen(nth_note(consumer->session, 0).text), INSTANCE_NOTE_BYTES_MAX);
        ck_assert(!quota_has_room(&f.service->quota,
                                  1000,
                                  QUOTA_DESCRIPTOR_BYTES,
                                  quota_user_max(&f.service->quota, QUOTA_DESCRIPTOR_BYTES) -
                                          INSTANCE_NOTES_MAX * INSTANCE_NOTE_BYTES_MAX));
        fixture_free_session(consumer);
        fixture_disconnect_producer(app);
        ck_assert(quota_has_room(&f.service->quota,
                                 1000,
                                 QUOTA_DESCRIPTOR_BYTES,
                                 quota_user_max(&f.service->quota, QUOTA_DESCRIPTOR_BYTES)));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_notes_of_no_instance_and_without_words_are_ignored) {
        FakeConsumer *consumer;
        FakeProducer *app;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, PLAIN);
        producer_source_note(app->producer, 12345, "nobody's", f.now);
        add_note(app, "");
        ck_assert_uint_eq(session_n_notes(consumer->session), 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_period_that_is_too_short_is_told) {
        const SessionOptions options = { .owner = { .uid = 1000 }, .has_output = true };
        static const char *const fields[] = {
                "flush_period_ms", "file_write_period_ms", "clear_period_ms", "snapshot_interval_ms"
        };
        FakeConsumer *consumer;
        FakeProducer *app;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session_with(
                &f,
                &options,
                PLAIN "flush_period_ms: 99 write_into_file: true file_write_period_ms: 1 "
                      "incremental_state_config { clear_period_ms: 10 } "
                      "builtin_data_sources { snapshot_interval_ms: 50 }");
        ck_assert_uint_eq(session_n_notes(consumer->session), ARRAY_SIZE(fields));
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
                const NoteInfo note = nth_note(consumer->session, i);

                ck_assert_str_eq(note.source, fields[i]);
                ck_assert_str_eq(note.producer, "desktraced");
                ck_assert_msg(strstr(note.text, "100 ms is used"), "%s", note.text);
        }
        fixture_advance(&f, 1 * S);
        ck_assert_uint_eq(app->instances[0].n_clears, 1 * S / SESSION_PERIOD_MIN_NS);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_period_that_is_long_enough_is_not) {
        FakeConsumer *consumer;

        fixture_init(&f);
        fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(
                &f,
                1000,
                PLAIN "flush_period_ms: 100 incremental_state_config { clear_period_ms: 100 }");
        ck_assert_uint_eq(session_n_notes(consumer->session), 0);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session-notes",
          test_a_note_is_told_with_who_said_it_and_when_he_is_gone,
          test_a_note_is_in_the_trace_once_as_an_event_that_readers_show,
          test_a_clone_has_the_notes_of_its_original,
          test_notes_of_all_programs_together_are_limited,
          test_notes_are_limited_in_number_and_length_and_charged,
          test_notes_of_no_instance_and_without_words_are_ignored,
          test_a_period_that_is_too_short_is_told,
          test_a_period_that_is_long_enough_is_not)
