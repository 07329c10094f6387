/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a consumer of Perfetto's protocol asks for and does not get: it is answered so, and logged. */

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

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

#define WRITES FROM("") "write_into_file: true file_write_period_ms: 1"

/* Of perfetto.protos.EnableTracingResponse and CloneSessionResponse. */
enum {
        ENABLED_DISABLED = 1,
        ENABLED_ERROR = 3,
        CLONED_SUCCESS = 1,
        CLONED_ERROR = 2,
};

static void assert_says(const ConsumerReply *reply, uint32_t number, const char *text) {
        _cleanup_(freep) char *said = NULL;
        WireField field;

        ck_assert(reply && consumer_reply_field(reply, number, &field));
        said = strndup((const char *)field.data, field.n_bytes);
        ck_assert_msg(strstr(said, text), "%s", said);
}

/* The reply has the reason in words, and nothing runs. */
CONSUMER_WORLD_TEST(test_an_output_that_cannot_be_written_is_refused) {
        const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        const uint64_t request = world_enable(&consumer, WRITES, fd);

        assert_says(world_success(&consumer, request), ENABLED_ERROR, "writ");
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
        close(fd);
}

CONSUMER_WORLD_TEST(test_a_clone_of_what_is_written_needs_a_descriptor_that_can_be) {
        const int output = memfd_create("output", MFD_CLOEXEC),
                  unusable = open("/dev/null", O_RDONLY | O_CLOEXEC);
        static ConsumerClient other;
        const ConsumerReply *reply;
        WireField field;
        uint64_t request;

        world_enable(
                &consumer, FROM("") "write_into_file: true unique_session_name: \"mine\"", output);
        world_run(&consumer);
        for (unsigned i = 0; i < 2; i++) {
                world_connect(&other);
                wire_put_string(consumer_message(&other), 4, "mine");
                request = consumer_call_with_fd(&other, CONSUMER_CLONE, i == 0 ? -1 : unusable);
                reply = world_success(&other, request);
                assert_says(reply, CLONED_ERROR, i == 0 ? "a descriptor is needed" : "writ");
                ck_assert(!consumer_reply_field(reply, CLONED_SUCCESS, &field) || !field.value);
                consumer_client_deinit(&other);
        }
        world_run(&consumer);
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
        close(output);
        close(unusable);
}

/* A pipe that nobody reads any longer. */
CONSUMER_WORLD_TEST(test_the_end_of_a_session_says_that_its_output_has_failed) {
        const ConsumerReply *reply = NULL;
        uint64_t request;
        int ends[2];

        ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
        request = world_enable(&consumer, WRITES, ends[1]);
        close(ends[0]);
        for (unsigned i = 0; i < 4000 && !reply; i++) {
                f.now += 10000000;
                world_run(&consumer);
                reply = consumer_reply(&consumer, request, 0);
                usleep(1000);
        }
        assert_says(reply, ENABLED_ERROR, "output-failed");
        close(ends[1]);
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
          test_an_output_that_cannot_be_written_is_refused,
          test_a_clone_of_what_is_written_needs_a_descriptor_that_can_be,
          test_the_end_of_a_session_says_that_its_output_has_failed,
          test_refusals_in_words_are_logged,
          test_buffers_are_needed_only_by_sources,
          test_a_source_without_a_buffer_is_refused,
          test_disabling_does_not_wait_for_a_flush_that_nobody_answers,
          test_one_flush_too_many_fails_and_the_others_wait,
          test_a_key_that_is_not_there_is_nothing_for_the_log)
