/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a consumer of Perfetto's protocol asks for and does not get: it is answered so, and logged. */

#include <stdio.h>

#include "consumer-world.h"
#include "log-capture.h"
#include "socket/consumer/consumer-private.h"

#define BUFFER       "buffers { size_kb: 256 } "
#define FROM(filter) BUFFER "data_sources { config { name: \"com.example\" } " filter " }"

static void put_config(const char *text) {
        _cleanup_(config_freep) Config *config = NULL;
        ConfigError error;

        ck_assert_int_eq(config_new_from_text(&config, text, &error), 0);
        wire_put_bytes(consumer_message(&consumer), 1, config->bytes, config->n_bytes);
}

static void assert_fails(ConsumerMethod method, const char *line) {
        const uint64_t request = consumer_call(&consumer, method);
        _cleanup_(freep) char *log = NULL;

        log_capture_begin();
        world_run(&consumer);
        log = log_capture_end();
        ck_assert(!world_reply(&consumer, request)->success);
        ck_assert_logs(log, line);
}

static void record(const char *config) {
        world_enable(&consumer, config, -1);
        world_run(&consumer);
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
}

CONSUMER_WORLD_TEST(test_a_change_that_is_refused_fails_and_is_logged) {
        record(FROM("producer_name_filter: \"one\""));
        put_config(FROM("producer_name_filter: \"two\""));
        assert_fails(CONSUMER_CHANGE,
                     "ChangeTraceConfig is refused: data_sources[0]: the filter \"one\"");
        put_config(FROM("producer_name_filter: \"one\"") "duration_ms: 5");
        assert_fails(CONSUMER_CHANGE,
                     "ChangeTraceConfig is refused: duration_ms cannot be changed");
        wire_put_bytes(consumer_message(&consumer), 1, "\xff", 1);
        assert_fails(CONSUMER_CHANGE, "ChangeTraceConfig is refused: ");
        ck_assert_uint_eq(app->n_instances, 0);
}

/* As Perfetto's service has it. */
CONSUMER_WORLD_TEST(test_without_the_filter_all_producers_are_in) {
        FakeProducer *late;

        record(FROM("producer_name_filter: \"one\""));
        ck_assert_uint_eq(app->n_instances, 0);
        put_config(FROM(""));
        world_success(&consumer, consumer_call(&consumer, CONSUMER_CHANGE));
        ck_assert(fake_instance(app, "com.example")->start_asked);
        late = fixture_connect_producer(&f, getuid(), "late", "com.example");
        world_run(&consumer);
        ck_assert(fake_instance(late, "com.example")->start_asked);
}

CONSUMER_WORLD_TEST(test_calls_about_a_session_fail_where_there_is_none) {
        assert_fails(CONSUMER_START, "StartTracing is refused: this connection has no session");
        assert_fails(CONSUMER_FLUSH, "Flush is refused: this connection has no session");
        assert_fails(CONSUMER_STATS, "GetTraceStats is refused: this connection has no session");
        put_config(FROM(""));
        assert_fails(CONSUMER_CHANGE,
                     "ChangeTraceConfig is refused: this connection has no session");
        wire_put_string(consumer_message(&consumer), 1, "key");
        assert_fails(CONSUMER_DETACH, "Detach is refused: this connection has no session");
        /* Where nothing runs, nothing is left to be done. */
        world_success(&consumer, consumer_call(&consumer, CONSUMER_DISABLE));
        world_success(&consumer, consumer_call(&consumer, CONSUMER_FREE));
}

CONSUMER_WORLD_TEST(test_what_runs_need_not_be_started_and_what_has_ended_cannot) {
        record(FROM(""));
        world_success(&consumer, consumer_call(&consumer, CONSUMER_START));
        world_success(&consumer, consumer_call(&consumer, CONSUMER_DISABLE));
        assert_fails(CONSUMER_START, "StartTracing is refused: the session is stopped");
        assert_fails(CONSUMER_FLUSH, "Flush is refused: the session does not record");
}

CONSUMER_WORLD_TEST(test_refusals_in_words_are_logged) {
        _cleanup_(freep) char *log = NULL;

        log_capture_begin();
        world_enable(
                &consumer, BUFFER "data_sources { config { name: \"a\" target_buffer: 3 } }", -1);
        wire_put_string(consumer_message(&consumer), 4, "nobody's");
        consumer_call(&consumer, CONSUMER_CLONE);
        world_run(&consumer);
        log = log_capture_end();
        ck_assert_logs(log, "EnableTracing is refused: a: target_buffer 3");
        ck_assert_logs(log, "CloneSession is refused: Tracing session not found");
}

/* As with Perfetto's service, whose clients may have nothing to record. */
CONSUMER_WORLD_TEST(test_buffers_are_needed_only_by_sources) {
        const uint64_t enable = world_enable(&consumer, "unique_session_name: \"empty\"", -1);
        ConsumerClient other;
        Bytes trace;

        world_run(&consumer);
        ck_assert_ptr_null(consumer_reply(&consumer, enable, 0));
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
        world_success(&consumer, consumer_call(&consumer, CONSUMER_FLUSH));
        world_connect(&other);
        wire_put_string(consumer_message(&other), 4, "empty");
        world_success(&other, consumer_call(&other, CONSUMER_CLONE));
        ck_assert_uint_eq(service_n_sessions(f.service), 2);
        trace = world_read(&other);
        ck_assert_uint_eq(trace_count(&trace, 33), 1); /* the config */
        bytes_deinit(&trace);
        world_success(&consumer, consumer_call(&consumer, CONSUMER_DISABLE));
        world_success(&consumer, enable);
        trace = world_read(&consumer);
        ck_assert_uint_eq(trace_count(&trace, 33), 1);
        bytes_deinit(&trace);
        consumer_client_deinit(&other);
}

CONSUMER_WORLD_TEST(test_a_source_without_a_buffer_is_refused) {
        _cleanup_(freep) char *log = NULL;

        log_capture_begin();
        world_enable(&consumer, "data_sources { config { name: \"com.example\" } }", -1);
        world_run(&consumer);
        log = log_capture_end();
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
        ck_assert_logs(log, "EnableTracing is refused: com.example: the config has no buffers");
}

/* Perfetto's service stops without a flush; here a source that keeps its flush costs little. */
CONSUMER_WORLD_TEST(test_disabling_does_not_wait_for_a_flush_that_nobody_answers) {
        app->acks_flush = false;
        record(FROM(""));
        world_success(&consumer, consumer_call(&consumer, CONSUMER_DISABLE));
        fixture_advance(&f, SESSION_DISABLE_FLUSH_NS + 10 * MS);
        ck_assert_int_eq(session_state(service_next_session(f.service, NULL)), SESSION_STOPPED);
}

/* Those that wait end with the connection. */
CONSUMER_WORLD_TEST(test_one_flush_too_many_fails_and_the_others_wait) {
        uint64_t requests[CONSUMER_FLUSHES_MAX];

        app->acks_flush = false;
        record(FROM(""));
        for (size_t i = 0; i < CONSUMER_FLUSHES_MAX; i++)
                requests[i] = consumer_call(&consumer, CONSUMER_FLUSH);
        world_run(&consumer);
        assert_fails(CONSUMER_FLUSH, "Flush is refused: too many wait: CONSUMER_FLUSHES_MAX");
        for (size_t i = 0; i < CONSUMER_FLUSHES_MAX; i++)
                ck_assert_ptr_null(consumer_reply(&consumer, requests[i], 0));
        consumer_client_deinit(&consumer);
        world_serve();
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
        world_connect(&consumer);
        record(FROM(""));
        ck_assert_ptr_null(consumer_reply(&consumer, consumer_call(&consumer, CONSUMER_FLUSH), 0));
}

/* Clients ask whether a session is detached by attaching to it, again and again. */
CONSUMER_WORLD_TEST(test_a_key_that_is_not_there_is_nothing_for_the_log) {
        _cleanup_(freep) char *log = NULL;
        uint64_t request;

        wire_put_string(consumer_message(&consumer), 1, "key");
        request = consumer_call(&consumer, CONSUMER_ATTACH);
        log_capture_begin();
        world_run(&consumer);
        log = log_capture_end();
        ck_assert(!world_reply(&consumer, request)->success);
        ck_assert_str_eq(log, "");
}

TEST_MAIN("consumer-refusals",
          test_a_change_that_is_refused_fails_and_is_logged,
          test_without_the_filter_all_producers_are_in,
          test_calls_about_a_session_fail_where_there_is_none,
          test_what_runs_need_not_be_started_and_what_has_ended_cannot,
          test_refusals_in_words_are_logged,
          test_buffers_are_needed_only_by_sources,
          test_a_source_without_a_buffer_is_refused,
          test_disabling_does_not_wait_for_a_flush_that_nobody_answers,
          test_one_flush_too_many_fails_and_the_others_wait,
          test_a_key_that_is_not_there_is_nothing_for_the_log)
