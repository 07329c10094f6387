/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Triggers: who may send them to whom, what they do in each mode, how often, and how they get into the trace. */

#include "core/events/service-packets.h"
#include "core/model/session-triggers.h"
#include "core/model/trigger-history.h"
#include "trigger-world.h"

/*
 * START_TRACING
 */

START_TEST(test_start_trigger_starts_what_was_set_up_and_ends_it_after_the_delay) {
        FakeConsumer *consumer = start(START("triggers { name: \"go\" stop_delay_ms: 700 }"));

        ck_assert_int_eq(session_state(consumer->session), SESSION_CONFIGURED);
        ck_assert_ptr_nonnull(fake_instance(app, "track_event"));
        fixture_advance(&f, 5 * S);
        ck_assert(!fake_instance(app, "track_event")->start_asked);
        ck_assert_uint_eq(fake_trigger(app, "go"), 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 700 * MS - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        ck_assert_str_eq(session_stop_reason(consumer->session), "trigger");
        ck_assert_uint_eq(app->n_flushes, 1);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_start_trigger_and_deferred_start_go_together) {
        FakeConsumer *consumer =
                start(START("triggers { name: \"go\" stop_delay_ms: 1 }") "deferred_start: true");

        ck_assert_int_eq(session_state(consumer->session), SESSION_CONFIGURED);
        ck_assert_uint_eq(fake_trigger(app, "go"), 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 1 * MS);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        ck_assert_uint_gt(bytes_of(consumer), 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_session_that_no_trigger_starts_ends_with_nothing_to_read) {
        FakeConsumer *consumer = start(START("triggers { name: \"go\" stop_delay_ms: 1 }"));

        ck_assert_uint_eq(bytes_of(consumer), 0);
        fixture_advance(&f, 10 * S - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_CONFIGURED);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        ck_assert_str_eq(session_stop_reason(consumer->session), "trigger-timeout");
        ck_assert_uint_eq(bytes_of(consumer), 0);
        ck_assert_uint_eq(fake_trigger(app, "go"), 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_trigger_of_another_producer_than_the_config_names_is_nothing) {
        FakeConsumer *consumer =
                start(START("triggers { name: \"go\" producer_name_regex: \"ap\" }"));

        ck_assert_uint_eq(fake_trigger(app, "go"), 0);
        ck_assert_int_eq(session_state(consumer->session), SESSION_CONFIGURED);
        ck_assert_uint_eq(consumer->n_triggered, 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_trigger_of_the_producer_that_the_config_names_counts) {
        FakeConsumer *consumer =
                start(START("triggers { name: \"go\" producer_name_regex: \"[a-p]+\" }"));

        ck_assert_uint_eq(fake_trigger(app, "go"), 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_deinit(&f);
}
END_TEST

/* A name that a client gives itself is for people; a filter is about producers. */
START_TEST(test_sender_that_is_no_producer_passes_no_filter) {
        const TriggerSender client = { .identity = { .uid = 1000 }, .name = "app" };
        const char *const names[] = { "filtered", "open" };
        FakeConsumer *consumer = start(START("triggers { name: \"open\" } "
                                             "triggers { name: \"filtered\" "
                                             "           producer_name_regex: \".*\" }"));
        size_t n;

        ck_assert_int_eq(service_activate_triggers(f.service, &client, names, 1, &n, f.now), 0);
        ck_assert_uint_eq(n, 0);
        ck_assert_int_eq(service_activate_triggers(f.service, &client, names, 2, &n, f.now), 0);
        ck_assert_uint_eq(n, 1);
        ck_assert_str_eq(consumer->triggered_by, "open app 1000");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_trigger_of_another_name_is_nothing) {
        FakeConsumer *consumer = start(START("triggers { name: \"go\" }"));

        ck_assert_uint_eq(fake_trigger(app, "gone"), 0);
        ck_assert_uint_eq(fake_trigger(app, ""), 0);
        ck_assert_int_eq(session_state(consumer->session), SESSION_CONFIGURED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_one_of_several_triggers_is_enough) {
        const TriggerSender sender = { .identity = { .uid = 1000 } };
        const char *const names[] = { "other", "second" };
        FakeConsumer *consumer = start(START("triggers { name: \"first\" stop_delay_ms: 1 } "
                                             "triggers { name: \"second\" stop_delay_ms: 500 }"));
        size_t n;

        ck_assert_int_eq(service_activate_triggers(f.service, &sender, names, 2, &n, f.now), 0);
        ck_assert_uint_eq(n, 1);
        fixture_advance(&f, 499 * MS);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 1 * MS);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_one_trigger_starts_all_sessions_that_listen_to_it) {
        FakeConsumer *first, *second, *third;

        first = start(START("triggers { name: \"go\" stop_delay_ms: 100 }"));
        second = fixture_start_session(
                &f, 1000, START("triggers { name: \"go\" stop_delay_ms: 300 }"));
        third = fixture_start_session(&f, 1000, START("triggers { name: \"no\" }"));
        ck_assert_uint_eq(fake_trigger(app, "go"), 2);
        fixture_advance(&f, 100 * MS);
        ck_assert_int_eq(session_state(first->session), SESSION_STOPPED);
        ck_assert_int_eq(session_state(second->session), SESSION_STARTED);
        fixture_advance(&f, 200 * MS);
        ck_assert_int_eq(session_state(second->session), SESSION_STOPPED);
        ck_assert_int_eq(session_state(third->session), SESSION_CONFIGURED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_session_that_takes_several_triggers_of_a_call_is_one_session) {
        FakeConsumer *consumer = start(CLONE("triggers { name: \"a\" } triggers { name: \"b\" }"));
        const TriggerSender sender = { .identity = { .uid = 1000 } };
        const char *const names[] = { "a", "b", "c" };
        size_t n;

        ck_assert_int_eq(
                service_activate_triggers(f.service, &sender, names, ARRAY_SIZE(names), &n, f.now),
                0);
        ck_assert_uint_eq(n, 1);
        fixture_settle(&f);
        ck_assert_uint_eq(consumer->n_snapshots, 2);
        ck_assert_int_eq(service_activate_triggers(f.service, &sender, names, 1, &n, f.now), 0);
        ck_assert_uint_eq(n, 1);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_session_with_triggers_tells_when_it_will_end) {
        FakeConsumer *consumer = start(STOP("triggers { name: \"a\" stop_delay_ms: 2000 }"));

        ck_assert_uint_eq(session_ends_at(consumer->session), f.now + 10 * S);
        fixture_advance(&f, 1 * S);
        ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        ck_assert_uint_eq(session_ends_at(consumer->session), f.now + 2 * S);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_start_without_a_delay_ends_with_the_timeout) {
        FakeConsumer *consumer = start(START("triggers { name: \"go\" }"));

        ck_assert_uint_eq(fake_trigger(app, "go"), 1);
        fixture_advance(&f, 10 * S - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_delay_of_a_slow_start_counts_from_the_recording) {
        FakeConsumer *consumer = start(START("triggers { name: \"go\" stop_delay_ms: 500 }"));

        app->acks_start = false;
        ck_assert_uint_eq(fake_trigger(app, "go"), 1);
        fixture_advance(&f, 2 * S);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTING);
        producer_source_started(app->producer, fake_instance(app, "track_event")->id, f.now);
        fixture_advance(&f, 499 * MS);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 1 * MS);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        fixture_deinit(&f);
}
END_TEST

/*
 * STOP_TRACING
 */

START_TEST(test_stop_trigger_keeps_what_was_before_and_after_it) {
        FakeConsumer *consumer = start(STOP("triggers { name: \"stop\" stop_delay_ms: 500 }"));
        SmbWriter *writer = writer_new();

        fake_write(writer, "before");
        fixture_advance(&f, 9 * S);
        ck_assert_uint_eq(fake_trigger(app, "stop"), 1);
        fake_write(writer, "after");
        fixture_advance(&f, 500 * MS - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        ck_assert_str_eq(session_stop_reason(consumer->session), "trigger");
        ck_assert_uint_eq(app->flush_flags & 0xf, 2);
        ck_assert_uint_eq(count_text_of(consumer, "before"), 1);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_session_that_no_trigger_stops_ends_with_nothing_to_read) {
        FakeConsumer *consumer = start(STOP("triggers { name: \"stop\" }"));
        SmbWriter *writer = writer_new();

        fake_write(writer, "unasked");
        fixture_advance(&f, 10 * S - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        ck_assert_str_eq(session_stop_reason(consumer->session), "trigger-timeout");
        ck_assert_uint_eq(bytes_of(consumer), 0);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

/* But those who want it nevertheless can have it. */
START_TEST(test_clone_of_a_session_that_waits_for_its_trigger_has_the_data) {
        FakeConsumer *consumer = start(STOP("triggers { name: \"stop\" }"));
        SmbWriter *writer = writer_new();

        fake_write(writer, "asked for");
        ck_assert_uint_eq(count_text_of(fixture_clone(&f, consumer), "asked for"), 1);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_only_the_first_of_several_triggers_stops) {
        FakeConsumer *consumer = start(STOP("triggers { name: \"slow\" stop_delay_ms: 900 } "
                                            "triggers { name: \"fast\" stop_delay_ms: 10 }"));
        Bytes trace;

        ck_assert_uint_eq(fake_trigger(app, "slow"), 1);
        ck_assert_uint_eq(fake_trigger(app, "fast"), 1);
        fixture_advance(&f, 899 * MS);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 1 * MS);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRIGGER), 2);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_timeout_ends_it_whatever_the_delay) {
        FakeConsumer *consumer = start(STOP("triggers { name: \"stop\" stop_delay_ms: 60000 }"));

        fixture_advance(&f, 9 * S);
        ck_assert_uint_eq(fake_trigger(app, "stop"), 1);
        fixture_advance(&f, 1 * S);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        ck_assert_uint_gt(bytes_of(consumer), 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_trigger_without_delay_stops_at_once) {
        FakeConsumer *consumer = start(STOP("triggers { name: \"stop\" }"));

        ck_assert_uint_eq(fake_trigger(app, "stop"), 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        fixture_deinit(&f);
}
END_TEST

/*
 * In the trace
 */

START_TEST(test_trigger_is_in_the_trace_with_its_sender_and_time) {
        const char *const configs[] = {
                START("triggers { name: \"go\" stop_delay_ms: 30000 }"),
                STOP("triggers { name: \"go\" stop_delay_ms: 30000 }"),
        };

        for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
                FakeConsumer *consumer = start(configs[i]);
                uint64_t hit_at;
                TestPacket packet;
                Bytes trace;

                fixture_advance(&f, 1 * S);
                hit_at = f.now;
                fake_trigger(app, "go");
                fixture_advance(&f, 1 * S);
                trace = fixture_read(&f, consumer);
                ck_assert_uint_eq(trace_count(&trace, PACKET_TRIGGER), 1);
                ck_assert_str_eq(trigger_text(&trace, PACKET_TRIGGER, 0), "go app 1000 30000");
                packet = trace_packet(&trace, PACKET_TRIGGER, 0);
                ck_assert_uint_eq(packet_uint(&packet, PACKET_TIMESTAMP), hit_at);
                ck_assert_uint_eq(packet_uint(&packet, PACKET_SEQUENCE_ID), 1);
                bytes_deinit(&trace);
                ck_assert_str_eq(consumer->triggered_by, "go app 1000");
                fixture_deinit(&f);
        }
}
END_TEST

START_TEST(test_each_hit_is_said_once) {
        FakeConsumer *consumer = start(STOP("triggers { name: \"a\" stop_delay_ms: 5000 } "
                                            "triggers { name: \"b\" }"));
        Bytes trace;

        fake_trigger(app, "a");
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRIGGER), 1);
        bytes_deinit(&trace);
        fake_trigger(app, "b");
        fake_trigger(app, "a");
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRIGGER), 2);
        ck_assert_str_eq(trigger_text(&trace, PACKET_TRIGGER, 0), "b app 1000 0");
        ck_assert_str_eq(trigger_text(&trace, PACKET_TRIGGER, 1), "a app 1000 5000");
        bytes_deinit(&trace);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRIGGER), 0);
        bytes_deinit(&trace);
        ck_assert_uint_eq(consumer->n_triggered, 3);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_hits_that_nobody_reads_are_bounded) {
        FakeConsumer *consumer = start(CLONE("triggers { name: \"a\" stop_delay_ms: 500000000 }"));
        Bytes trace;

        for (unsigned i = 0; i < 200; i++) {
                fixture_advance(&f, 1 * S);
                ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        }
        ck_assert_uint_eq(consumer->n_triggered, 200);
        trace = fixture_read(&f, fixture_clone(&f, consumer));
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRIGGER), TRIGGER_HITS_MAX);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

/*
 * How often
 */

START_TEST(test_limit_a_day_outlives_the_session) {
        const char *config = STOP("triggers { name: \"a\" max_per_24_h: 1 }");
        FakeConsumer *first = start(config), *second, *third;

        ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        ck_assert_int_eq(session_state(first->session), SESSION_STOPPED);
        fixture_free_session(first);
        fixture_advance(&f, 23 * H);
        second = fixture_start_session(&f, 1000, config);
        ck_assert_uint_eq(fake_trigger(app, "a"), 0);
        ck_assert_int_eq(session_state(second->session), SESSION_STARTED);
        ck_assert_uint_eq(second->n_triggered, 0);
        fixture_free_session(second);
        fixture_advance(&f, 1 * H);
        third = fixture_start_session(&f, 1000, config);
        ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        ck_assert_int_eq(session_state(third->session), SESSION_STOPPED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_limit_a_day_is_not_shared_with_other_users) {
        const char *config = STOP("triggers { name: \"a\" max_per_24_h: 1 }");
        FakeProducer *other;

        start(config);
        other = fixture_connect_producer(&f, 1001, "other", "track_event");
        fixture_start_session(&f, 1001, config);
        ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        ck_assert_uint_eq(fake_trigger(other, "a"), 1);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_trigger_is_skipped_as_often_as_the_config_says) {
        FakeConsumer *consumer =
                start(STOP("triggers { name: \"a\" skip_probability: 0.5 stop_delay_ms: 9000 } "
                           "triggers { name: \"never\" skip_probability: 1 } "
                           "triggers { name: \"always\" stop_delay_ms: 9000 }"));

        f.random_byte = 0x7f; /* just below a half */
        ck_assert_uint_eq(fake_trigger(app, "a"), 0);
        ck_assert_uint_eq(fake_trigger(app, "always"), 1);
        f.random_byte = 0x80;
        ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        f.random_byte = 0xff;
        ck_assert_uint_eq(fake_trigger(app, "never"), 0);
        f.random_byte = 0;
        ck_assert_uint_eq(fake_trigger(app, "always"), 1);
        ck_assert_uint_eq(consumer->n_triggered, 3);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_skipped_triggers_do_not_count_for_the_limit) {
        start(STOP("triggers { name: \"a\" skip_probability: 0.5 max_per_24_h: 1 }"));
        f.random_byte = 0;
        ck_assert_uint_eq(fake_trigger(app, "a"), 0);
        f.random_byte = 0xff;
        ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        fixture_deinit(&f);
}
END_TEST

/*
 * Whose
 */

START_TEST(test_session_takes_triggers_of_its_user_only) {
        const SessionOptions system = { .owner = { .uid = 0 }, .scope = SESSION_SCOPE_SYSTEM };
        const char *config = STOP("triggers { name: \"a\" stop_delay_ms: 9000 }");
        FakeConsumer *own = start(config), *all;
        FakeProducer *other;

        other = fixture_connect_producer(&f, 1001, "other", "track_event");
        all = fixture_start_session_with(&f, &system, config);
        ck_assert_uint_eq(fake_trigger(other, "a"), 0);
        ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        ck_assert_uint_eq(own->n_triggered, 1);
        ck_assert_uint_eq(all->n_triggered, 0);
        fixture_deinit(&f);
}
END_TEST

/* The sender does not learn that there is one. */
START_TEST(test_session_takes_triggers_of_others_if_its_config_says_so) {
        const SessionOptions system = { .owner = { .uid = 0 }, .scope = SESSION_SCOPE_SYSTEM };
        const char *config =
                STOP("triggers { name: \"a\" stop_delay_ms: 9000 from_other_users: true }");
        FakeConsumer *own = start(config), *all;
        FakeProducer *other;

        other = fixture_connect_producer(&f, 1001, "other", "track_event");
        all = fixture_start_session_with(&f, &system, config);
        ck_assert_uint_eq(fake_trigger(other, "a"), 0);
        ck_assert_str_eq(all->triggered_by, "a other 1001");
        ck_assert_uint_eq(own->n_triggered, 0); /* may not record it */
        ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        ck_assert_uint_eq(own->n_triggered, 1);
        ck_assert_uint_eq(all->n_triggered, 2);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_triggers_for_others_are_limited_and_nobody_is_told) {
        const SessionOptions system = { .owner = { .uid = 0 }, .scope = SESSION_SCOPE_SYSTEM };
        const TriggerSender sender = { .identity = { .uid = 1001 } };
        const char *const names[] = { "a" };
        FakeConsumer *all;
        size_t n;

        start(STOP("triggers { name: \"b\" }"));
        all = fixture_start_session_with(
                &f,
                &system,
                STOP("triggers { name: \"a\" stop_delay_ms: 9000 from_other_users: true }"));
        for (unsigned i = 0; i < 1000; i++) {
                ck_assert_int_eq(service_activate_triggers(f.service, &sender, names, 1, &n, f.now),
                                 0);
                ck_assert_uint_eq(n, 0);
        }
        ck_assert_uint_eq(all->n_triggered, TRIGGER_SENDS_MAX);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_program_that_sends_in_a_loop_is_refused_and_nobody_else) {
        const TriggerSender sender = { .identity = { .uid = 1000 } };
        const char *const names[] = { "a" };
        FakeConsumer *own, *other;
        FakeProducer *bystander;
        unsigned n_refused = 0;
        size_t n;

        own = start(CLONE("triggers { name: \"a\" stop_delay_ms: 1000 }"));
        bystander = fixture_connect_producer(&f, 1001, "other", "track_event");
        other = fixture_start_session(&f, 1001, STOP("triggers { name: \"a\" }"));
        for (unsigned i = 0; i < 1000; i++)
                n_refused += service_activate_triggers(f.service, &sender, names, 1, &n, f.now) ==
                             TRIGGER_E_LIMIT;
        ck_assert_uint_eq(n_refused, 1000 - TRIGGER_SENDS_MAX);
        ck_assert_uint_eq(other->n_triggered, 0);
        ck_assert_uint_eq(fake_trigger(bystander, "a"), 1);
        fixture_advance(&f, 1 * S);
        ck_assert_uint_eq(own->n_snapshots, SESSION_TRIGGERED_CLONES_MAX);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_what_nobody_listens_to_may_be_sent_in_a_loop) {
        start(STOP("triggers { name: \"a\" stop_delay_ms: 9000 }"));
        for (unsigned i = 0; i < 1000; i++)
                ck_assert_uint_eq(fake_trigger(app, "nothing"), 0);
        ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("trigger",
          test_start_trigger_starts_what_was_set_up_and_ends_it_after_the_delay,
          test_start_trigger_and_deferred_start_go_together,
          test_session_that_no_trigger_starts_ends_with_nothing_to_read,
          test_trigger_of_another_producer_than_the_config_names_is_nothing,
          test_trigger_of_the_producer_that_the_config_names_counts,
          test_sender_that_is_no_producer_passes_no_filter,
          test_trigger_of_another_name_is_nothing,
          test_one_of_several_triggers_is_enough,
          test_one_trigger_starts_all_sessions_that_listen_to_it,
          test_session_that_takes_several_triggers_of_a_call_is_one_session,
          test_session_with_triggers_tells_when_it_will_end,
          test_start_without_a_delay_ends_with_the_timeout,
          test_delay_of_a_slow_start_counts_from_the_recording,
          test_stop_trigger_keeps_what_was_before_and_after_it,
          test_session_that_no_trigger_stops_ends_with_nothing_to_read,
          test_clone_of_a_session_that_waits_for_its_trigger_has_the_data,
          test_only_the_first_of_several_triggers_stops,
          test_timeout_ends_it_whatever_the_delay,
          test_trigger_without_delay_stops_at_once,
          test_trigger_is_in_the_trace_with_its_sender_and_time,
          test_each_hit_is_said_once,
          test_hits_that_nobody_reads_are_bounded,
          test_limit_a_day_outlives_the_session,
          test_limit_a_day_is_not_shared_with_other_users,
          test_trigger_is_skipped_as_often_as_the_config_says,
          test_skipped_triggers_do_not_count_for_the_limit,
          test_session_takes_triggers_of_its_user_only,
          test_session_takes_triggers_of_others_if_its_config_says_so,
          test_triggers_for_others_are_limited_and_nobody_is_told,
          test_what_nobody_listens_to_may_be_sent_in_a_loop,
          test_a_program_that_sends_in_a_loop_is_refused_and_nobody_else)
