/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Changing the config of a session that runs: who joins, and what is refused. */

#include <stdio.h>

#include "fixture.h"

static Fixture f;

#define SOURCE            "org.example.app"
#define BUFFER            "buffers { size_kb: 256 } "
#define FILTERED(filters) BUFFER "data_sources { config { name: \"" SOURCE "\" } " filters " } "
#define NAME(name)        "producer_name_filter: \"" name "\" "
#define REGEX(name)       "producer_name_regex_filter: \"" name "\" "

/* Field 33 of a packet: the config. */
#define PACKET_TRACE_CONFIG 33

static SessionError error;

static int try_change(FakeConsumer *consumer, const char *text) {
        ConfigError why;
        Config *config;
        int r;

        ck_assert_int_eq(config_new_from_text(&config, text, &why), 0);
        error.message[0] = 0;
        r = session_change_config(consumer->session, config, &error, f.now);
        if (r)
                config_free(config);
        fixture_settle(&f);
        return r;
}

static void change(FakeConsumer *consumer, const char *text) {
        ck_assert_msg(try_change(consumer, text) == 0, "%s: %s", text, error.message);
}

static void
assert_refused(FakeConsumer *consumer, const char *text, int outcome, const char *words) {
        ck_assert_int_eq(try_change(consumer, text), outcome);
        ck_assert_msg(
                strstr(error.message, words), "\"%s\" is not in \"%s\"", words, error.message);
}

static FakeProducer *connect(const char *name) {
        return fixture_connect_producer(&f, 1000, name, SOURCE);
}

START_TEST(test_producers_join_as_filters_are_added) {
        FakeProducer *one, *two, *three, *other;
        FakeConsumer *consumer;

        fixture_init(&f);
        one = connect("one");
        two = connect("two");
        three = connect("three");
        other = fixture_connect_producer(&f, 1001, "two", SOURCE);
        consumer = fixture_start_session(&f, 1000, FILTERED(NAME("one")));
        ck_assert_uint_eq(two->n_instances, 0);

        change(consumer, FILTERED(NAME("one") NAME("two")));
        ck_assert_uint_eq(two->n_instances, 1);
        ck_assert(two->instances[0].start_asked);
        ck_assert_uint_eq(three->n_instances, 0);

        change(consumer, FILTERED(NAME("one") NAME("two") REGEX("thr.*")));
        ck_assert_uint_eq(three->n_instances, 1);
        ck_assert(three->instances[0].start_asked);
        /* Nobody twice, and nobody else's. */
        ck_assert_uint_eq(one->n_instances, 1);
        ck_assert_uint_eq(two->n_instances, 1);
        ck_assert_uint_eq(other->n_instances, 0);
        ck_assert_uint_eq(session_n_instances(consumer->session), 3);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_producers_that_come_after_a_change_are_measured_by_it) {
        FakeProducer *two, *five;
        FakeConsumer *consumer;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, FILTERED(NAME("one")));
        change(consumer, FILTERED(NAME("one") REGEX("t.*")));
        two = connect("two");
        five = connect("five");
        fixture_settle(&f);
        ck_assert_uint_eq(two->n_instances, 1);
        ck_assert(two->instances[0].start_asked);
        ck_assert_uint_eq(five->n_instances, 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_without_filters_all_producers_are_in) {
        FakeProducer *one, *two, *late, *other;
        FakeConsumer *consumer;

        fixture_init(&f);
        one = connect("one");
        two = connect("two");
        other = fixture_connect_producer(&f, 1001, "two", SOURCE);
        consumer = fixture_start_session(&f, 1000, FILTERED(NAME("one") REGEX("on.*")));
        change(consumer, FILTERED(""));
        late = connect("late");
        fixture_settle(&f);
        ck_assert_uint_eq(one->n_instances, 1); /* not twice */
        ck_assert(two->instances[0].start_asked);
        ck_assert(late->instances[0].start_asked);
        ck_assert_uint_eq(other->n_instances, 0); /* another user's */
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_each_data_source_has_its_own_filters) {
        static const char before[] = BUFFER "data_sources { config { name: \"a\" } " NAME(
                "p") "} "
                     "data_sources { config { name: \"b\" } " NAME("p") "}";
        static const char after[] = BUFFER "data_sources { config { name: \"a\" } " NAME(
                "p") "} "
                     "data_sources { config { name: \"b\" } " NAME("p") NAME("q") "}";
        FakeProducer *producer;
        FakeConsumer *consumer;

        fixture_init(&f);
        producer = fixture_connect_producer(&f, 1000, "q", "a");
        fixture_add_source(producer, "b", &(SourceOptions){});
        consumer = fixture_start_session(&f, 1000, before);
        change(consumer, after);
        ck_assert_ptr_null(fake_instance(producer, "a"));
        ck_assert_ptr_nonnull(fake_instance(producer, "b"));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_deferred_session_can_be_changed_before_it_starts) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *consumer;
        FakeProducer *two;

        fixture_init(&f);
        two = connect("two");
        ck_assert_int_eq(
                fixture_try_session(
                        &f, &consumer, &options, FILTERED(NAME("one")) "deferred_start: true"),
                0);
        change(consumer, FILTERED(NAME("one") NAME("two")) "deferred_start: true");
        ck_assert_uint_eq(two->n_instances, 1);
        ck_assert(!two->instances[0].start_asked);
        ck_assert_int_eq(session_start(consumer->session, f.now), 0);
        ck_assert(two->instances[0].start_asked);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_session_begins_at_once_with_whom_a_change_brings) {
        static const uint8_t says_only_its_name[] = { 0x0a, 15,  'o', 'r', 'g', '.', 'e', 'x', 'a',
                                                      'm',  'p', 'l', 'e', '.', 'a', 'p', 'p' };
        const char *const sources[] = { SOURCE, NULL };
        FakeConsumer *consumer;
        FakeProducer *two;

        fixture_init(&f);
        two = fixture_connect_plain_producer(&f, 1000, "two", NULL);
        fixture_add_source(two,
                           SOURCE,
                           &(SourceOptions){
                                   .descriptor = says_only_its_name,
                                   .n_descriptor = sizeof(says_only_its_name),
                           });
        ck_assert_int_eq(service_add_activatable(f.service, "one", sources), 0);
        consumer = fixture_start_session(&f, 1000, FILTERED(NAME("one")));
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTING);
        change(consumer, FILTERED(NAME("one") NAME("two")));
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_deinit(&f);
}
END_TEST

static const struct Refusal {
        const char *config;
        int outcome;
        const char *words;
} refusals[] = {
        { FILTERED(NAME("one") NAME("two")) "duration_ms: 5",
          SESSION_E_CONFIG,
          "duration_ms cannot" },
        { FILTERED(NAME("one") NAME("two")) BUFFER, SESSION_E_CONFIG, "buffers cannot" },
        { FILTERED(NAME("one")) "data_sources { config { name: \"x\" } }",
          SESSION_E_CONFIG,
          "data_sources cannot" },
        { BUFFER "data_sources { config { name: \"other\" } " NAME("one") "}",
          SESSION_E_CONFIG,
          "data_sources[0].config.name cannot" },
        { FILTERED(NAME("one") "machine_name_filter: \"host\""),
          SESSION_E_CONFIG,
          "data_sources[0].machine_name_filter cannot" },
        { FILTERED(NAME("two")), SESSION_E_CONFIG, "\"one\" is missing" },
        { FILTERED(REGEX("one")), SESSION_E_CONFIG, "\"one\" is missing" },
        { FILTERED(NAME("one") REGEX("(")), SESSION_E_CONFIG, "producer_name_regex_filter" },
};

START_TEST(test_each_other_difference_is_refused_and_changes_nothing) {
        FakeConsumer *consumer;
        FakeProducer *two;
        Bytes trace;

        fixture_init(&f);
        two = connect("two");
        consumer = fixture_start_session(&f, 1000, FILTERED(NAME("one")));
        for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
                assert_refused(
                        consumer, refusals[i].config, refusals[i].outcome, refusals[i].words);
        ck_assert_uint_eq(two->n_instances, 0);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_CONFIG), 1);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_first_filter_would_leave_out_who_is_in) {
        FakeConsumer *consumer;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, FILTERED(""));
        assert_refused(consumer, FILTERED(NAME("one")), SESSION_E_CONFIG, "it has no filter");
        change(consumer, FILTERED("")); /* the same is no change, and no error */
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_filters_stay_limited) {
        static char config[8192];
        FakeConsumer *consumer;
        char *at;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, FILTERED(NAME("one")));
        at = stpcpy(config, BUFFER "data_sources { config { name: \"" SOURCE "\" } " NAME("one"));
        for (unsigned i = 0; i < SESSION_FILTERS_MAX; i++)
                at += sprintf(at, "producer_name_filter: \"n%u\" ", i);
        stpcpy(at, "}");
        assert_refused(consumer, config, SESSION_E_LIMIT, "SESSION_FILTERS_MAX");
        at = stpcpy(config, BUFFER "data_sources { config { name: \"" SOURCE "\" } " NAME("one"));
        for (unsigned i = 0; i <= SESSION_REGEXES_MAX; i++)
                at += sprintf(at, "producer_name_regex_filter: \"n%u\" ", i);
        stpcpy(at, "}");
        assert_refused(consumer, config, SESSION_E_LIMIT, "SESSION_REGEXES_MAX");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_session_that_ends_cannot_be_changed) {
        FakeConsumer *consumer;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, FILTERED(NAME("one")));
        fixture_stop_session(&f, consumer);
        assert_refused(consumer,
                       FILTERED(NAME("one") NAME("two")),
                       SESSION_E_STATE,
                       "the session is stopped");
        fixture_deinit(&f);
}
END_TEST

/* Whether the nth config in the trace is this text's. */
static void assert_config(const Bytes *trace, size_t nth, const char *text) {
        TestPacket packet = trace_packet(trace, PACKET_TRACE_CONFIG, nth);
        ConfigError why;
        WireField field;
        Config *config;

        ck_assert(packet_field(&packet, PACKET_TRACE_CONFIG, &field));
        ck_assert_int_eq(config_new_from_text(&config, text, &why), 0);
        ck_assert_uint_eq(field.n_bytes, config->n_bytes);
        ck_assert_mem_eq(field.data, config->bytes, config->n_bytes);
        config_free(config);
}

START_TEST(test_the_trace_has_the_first_config_and_the_change) {
        static const char first[] = FILTERED(NAME("one"));
        static const char second[] = FILTERED(NAME("two") NAME("one"));
        static const char third[] = FILTERED(NAME("one") NAME("two") REGEX("t"));
        FakeConsumer *consumer;
        Bytes trace;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, first);
        change(consumer, second);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_CONFIG), 2);
        assert_config(&trace, 0, first);
        assert_config(&trace, 1, second);
        bytes_deinit(&trace);

        /* Later, once. */
        change(consumer, third);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_CONFIG), 1);
        assert_config(&trace, 0, third);
        bytes_deinit(&trace);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_CONFIG), 0);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_clone_has_the_change) {
        static const char first[] = FILTERED(NAME("one"));
        static const char second[] = FILTERED(NAME("one") NAME("two"));
        FakeConsumer *consumer, *clone;
        Bytes trace;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, first);
        change(consumer, second);
        trace = fixture_read(&f, consumer);
        bytes_deinit(&trace);
        clone = fixture_ask_clone(&f, consumer, &(CloneOptions){ .owner = { .uid = 1000 } });
        fixture_settle(&f);
        ck_assert_ptr_nonnull(clone->session);
        trace = fixture_read(&f, clone);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_CONFIG), 2);
        assert_config(&trace, 1, second);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session-change",
          test_producers_join_as_filters_are_added,
          test_producers_that_come_after_a_change_are_measured_by_it,
          test_without_filters_all_producers_are_in,
          test_each_data_source_has_its_own_filters,
          test_a_deferred_session_can_be_changed_before_it_starts,
          test_a_session_begins_at_once_with_whom_a_change_brings,
          test_each_other_difference_is_refused_and_changes_nothing,
          test_a_first_filter_would_leave_out_who_is_in,
          test_filters_stay_limited,
          test_a_session_that_ends_cannot_be_changed,
          test_the_trace_has_the_first_config_and_the_change,
          test_a_clone_has_the_change)
