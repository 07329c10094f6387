/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How long a session lasts, on a machine that sleeps now and then. */

#include "fixture.h"

static Fixture f;

#define TEN_SECONDS CONFIG_ONE("track_event") "duration_ms: 10000 "
#define AWAKE_ONLY  TEN_SECONDS "prefer_suspend_clock_for_duration: true "

/* The machine sleeps: BOOTTIME goes on, MONOTONIC does not. */
static void suspend(uint64_t ns) {
        f.suspended_ns += ns;
        f.now += ns;
        fixture_settle(&f);
}

START_TEST(test_time_asleep_counts_for_the_duration) {
        FakeConsumer *consumer;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, TEN_SECONDS);
        fixture_advance(&f, 4 * S);
        suspend(5 * S);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        suspend(2 * S);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        ck_assert_str_eq(session_stop_reason(consumer->session), "duration");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_time_asleep_does_not_count_when_the_config_says_so) {
        FakeConsumer *consumer;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, AWAKE_ONLY);
        fixture_advance(&f, 4 * S);
        suspend(3600 * S);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 3 * S);
        suspend(1 * S); /* shorter than what is left */
        fixture_advance(&f, 3 * S - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        ck_assert_str_eq(session_stop_reason(consumer->session), "duration");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_without_sleep_both_durations_are_the_same) {
        FakeConsumer *consumer;

        fixture_init(&f);
        suspend(1000 * S); /* before it begins */
        consumer = fixture_start_session(&f, 1000, AWAKE_ONLY);
        fixture_advance(&f, 10 * S - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_no_duration_has_no_end_on_either_clock) {
        FakeConsumer *consumer;

        fixture_init(&f);
        consumer = fixture_start_session(
                &f, 1000, CONFIG_ONE("track_event") "prefer_suspend_clock_for_duration: true");
        fixture_advance(&f, 3600 * S);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_the_duration_of_a_deferred_session_counts_from_its_start) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *consumer;

        fixture_init(&f);
        ck_assert_int_eq(
                fixture_try_session(&f, &consumer, &options, TEN_SECONDS "deferred_start: true"),
                0);
        fixture_advance(&f, 3600 * S);
        ck_assert_int_eq(session_state(consumer->session), SESSION_CONFIGURED);
        ck_assert_int_eq(session_start(consumer->session, f.now), 0);
        fixture_advance(&f, 10 * S - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        fixture_deinit(&f);
}
END_TEST

/* The last field of that number in a config; 0: not there. */
static uint64_t config_field(const FakeInstance *instance, uint32_t number) {
        const TestPacket config = { instance->config, instance->n_config };
        WireField field;

        return packet_field(&config, number, &field) ? field.value : 0;
}

START_TEST(test_sources_are_told_how_their_session_is_measured) {
        FakeProducer *app;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        fixture_start_session(&f, 1000, TEN_SECONDS);
        ck_assert_uint_eq(config_field(fake_instance(app, "track_event"), 3), 10000);
        ck_assert_uint_eq(config_field(fake_instance(app, "track_event"), 6), 0);
        ck_assert_uint_eq(config_field(fake_instance(app, "track_event"), 122), 0);
        fixture_start_session(&f, 1000, AWAKE_ONLY "enable_extra_guardrails: true");
        ck_assert_uint_eq(config_field(fake_instance(app, "track_event"), 6), 1);
        ck_assert_uint_eq(config_field(fake_instance(app, "track_event"), 122), 1);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session-duration",
          test_time_asleep_counts_for_the_duration,
          test_time_asleep_does_not_count_when_the_config_says_so,
          test_without_sleep_both_durations_are_the_same,
          test_no_duration_has_no_end_on_either_clock,
          test_the_duration_of_a_deferred_session_counts_from_its_start,
          test_sources_are_told_how_their_session_is_measured)
