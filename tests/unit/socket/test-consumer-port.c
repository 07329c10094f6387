/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Every method of the consumer port over a socket, by a client that knows Perfetto's protocol and nothing of ours.
 */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "consumer-world.h"
#include "shared/fd.h"

static uint64_t field_uint(const ConsumerReply *reply, uint32_t number) {
        WireField field;

        return consumer_reply_field(reply, number, &field) ? field.value : 0;
}

static bool field_is(const WireField *field, const char *text) {
        return field->n_bytes == strlen(text) && memcmp(field->data, text, field->n_bytes) == 0;
}

static void assert_error(const ConsumerReply *reply, const char *part) {
        WireField field;
        char text[512];

        ck_assert_uint_eq(field_uint(reply, 1), 1); /* disabled */
        ck_assert(consumer_reply_field(reply, 3, &field));
        snprintf(text, sizeof(text), "%.*s", (int)field.n_bytes, (const char *)field.data);
        ck_assert_msg(strstr(text, part), "%s", text);
}

static uint64_t call_key(ConsumerMethod method, const char *key) {
        wire_put_string(consumer_message(&consumer), 1, key);
        return consumer_call(&consumer, method);
}

static void write_text(const char *text) {
        SmbWriter *writer = fake_writer_new(app, fake_instance(app, "com.example"));

        fake_write(writer, text);
        free(writer);
        fake_ring(app);
}

static uint64_t begin_recording(void) {
        const uint64_t request = world_enable(&consumer, CONFIG_ONE("com.example"), -1);

        world_run(&consumer);
        ck_assert_ptr_null(consumer_reply(&consumer, request, 0));
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
        return request;
}

CONSUMER_WORLD_TEST(test_service_has_all_methods_by_their_names) {
        for (size_t i = 0; i < _CONSUMER_METHOD_N; i++)
                ck_assert_uint_eq(consumer.methods[i], i + 1);
}

CONSUMER_WORLD_TEST(test_a_recording_is_answered_at_its_end_and_read) {
        const uint64_t enable = begin_recording();
        uint64_t disable;
        Bytes trace;

        write_text("hello");
        disable = consumer_call(&consumer, CONSUMER_DISABLE);
        world_success(&consumer, disable);
        ck_assert_uint_eq(field_uint(world_success(&consumer, enable), 1), 1);
        trace = world_read(&consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "hello"), 1);
        bytes_deinit(&trace);
        trace = world_read(&consumer); /* what was read is gone */
        ck_assert_uint_eq(trace_count_text(&trace, "hello"), 0);
        bytes_deinit(&trace);
        world_success(&consumer, consumer_call(&consumer, CONSUMER_FREE));
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
}

CONSUMER_WORLD_TEST(test_a_session_ends_with_its_connection) {
        begin_recording();
        consumer_client_deinit(&consumer);
        world_connect(&consumer);
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
}

CONSUMER_WORLD_TEST(test_freeing_answers_who_waits_for_the_end_first) {
        const uint64_t enable = begin_recording();
        const uint64_t flush = consumer_call(&consumer, CONSUMER_FREE);

        world_run(&consumer);
        ck_assert_uint_eq(consumer.replies[0].request, enable);
        ck_assert_uint_eq(consumer.replies[1].request, flush);
        ck_assert_uint_eq(consumer.n_replies, 2);
}

CONSUMER_WORLD_TEST(test_a_config_that_is_refused_is_told_why) {
        assert_error(world_success(&consumer,
                                   world_enable(&consumer,
                                                "buffers { size_kb: 64 } data_sources { config { "
                                                "name: \"com.example\" target_buffer: 3 } }",
                                                -1)),
                     "target_buffer 3");
        wire_put_bytes(consumer_message(&consumer), 1, "\xff", 1);
        assert_error(world_success(&consumer, consumer_call(&consumer, CONSUMER_ENABLE)), "");
        assert_error(world_success(&consumer,
                                   world_enable(&consumer,
                                                CONFIG_ONE("com.example") "write_into_file: true",
                                                -1)),
                     "write_into_file");
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
        begin_recording();
        assert_error(world_success(&consumer, world_enable(&consumer, CONFIG_ONE("other"), -1)),
                     "FreeBuffers");
}

CONSUMER_WORLD_TEST(test_sources_that_nobody_has_are_no_mistake) {
        world_enable(&consumer,
                     "buffers { size_kb: 64 } data_sources { config { name: \"com.examples\" } }",
                     -1);
        world_run(&consumer);
        ck_assert_uint_eq(consumer.n_replies, 0);
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
}

CONSUMER_WORLD_TEST(test_a_deferred_session_is_started_when_it_is_said) {
        world_enable(&consumer, CONFIG_ONE("com.example") "deferred_start: true", -1);
        world_run(&consumer);
        ck_assert(!fake_instance(app, "com.example")->start_asked);
        world_success(&consumer, consumer_call(&consumer, CONSUMER_START));
        ck_assert(fake_instance(app, "com.example")->start_asked);
}

CONSUMER_WORLD_TEST(test_a_flush_succeeds_only_when_all_have_answered) {
        uint64_t request;

        ck_assert(!world_reply(&consumer, consumer_call(&consumer, CONSUMER_FLUSH))->success);
        begin_recording();
        wire_put_uint(consumer_message(&consumer), 1, 1000);
        world_success(&consumer, consumer_call(&consumer, CONSUMER_FLUSH));
        app->acks_flush = false;
        wire_put_uint(consumer_message(&consumer), 1, 1);
        request = consumer_call(&consumer, CONSUMER_FLUSH);
        world_run(&consumer);
        fixture_advance(&f, 10 * S);
        ck_assert(!world_reply(&consumer, request)->success);
}

CONSUMER_WORLD_TEST(test_a_config_may_gain_producers) {
        static const char source[] = "buffers { size_kb: 256 } data_sources { config { name: "
                                     "\"com.example\" } producer_name_filter: \"one\" ";
        _cleanup_(config_freep) Config *config = NULL;
        ConfigError error;
        char text[256];

        snprintf(text, sizeof(text), "%s}", source);
        world_enable(&consumer, text, -1);
        world_run(&consumer);
        ck_assert_uint_eq(app->n_instances, 0);
        snprintf(text, sizeof(text), "%s producer_name_filter: \"app\" }", source);
        ck_assert_int_eq(config_new_from_text(&config, text, &error), 0);
        wire_put_bytes(consumer_message(&consumer), 1, config->bytes, config->n_bytes);
        world_success(&consumer, consumer_call(&consumer, CONSUMER_CHANGE));
        ck_assert(fake_instance(app, "com.example")->start_asked);
}

CONSUMER_WORLD_TEST(test_a_detached_session_outlives_its_connection) {
        static const char config[] = CONFIG_ONE("com.example") "duration_ms: 60000";
        ConsumerClient other;
        WireField field;

        ck_assert(!world_reply(&consumer, call_key(CONSUMER_DETACH, "key"))->success);
        world_enable(&consumer, config, -1);
        ck_assert(!world_reply(&consumer, call_key(CONSUMER_DETACH, ""))->success);
        world_success(&consumer, call_key(CONSUMER_DETACH, "key"));
        world_enable(&consumer, config, -1);
        ck_assert(!world_reply(&consumer, call_key(CONSUMER_DETACH, "key"))->success);
        consumer_client_deinit(&consumer);
        world_connect(&other);
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
        consumer_client_deinit(&other);
        world_connect(&consumer);
        ck_assert(!world_reply(&consumer, call_key(CONSUMER_ATTACH, "yek"))->success);
        ck_assert(consumer_reply_field(
                world_success(&consumer, call_key(CONSUMER_ATTACH, "key")), 1, &field));
        ck_assert_uint_gt(field.n_bytes, 10); /* the config */
        ck_assert(!world_reply(&consumer, call_key(CONSUMER_ATTACH, "key"))->success);
        consumer_client_deinit(&consumer);
        world_connect(&consumer);
        ck_assert_uint_eq(service_n_sessions(f.service), 0); /* attached: it ended with us */
}

CONSUMER_WORLD_TEST(test_a_consumer_that_attaches_may_wait_for_the_end) {
        uint64_t enable;

        world_enable(&consumer, CONFIG_ONE("com.example") "duration_ms: 60000", -1);
        world_success(&consumer, call_key(CONSUMER_DETACH, "key"));
        world_success(&consumer, call_key(CONSUMER_ATTACH, "key"));
        wire_put_bool(consumer_message(&consumer), 2, true);
        enable = consumer_call(&consumer, CONSUMER_ENABLE);
        world_run(&consumer);
        ck_assert_ptr_null(consumer_reply(&consumer, enable, 0));
        world_success(&consumer, consumer_call(&consumer, CONSUMER_DISABLE));
        ck_assert_uint_eq(field_uint(world_success(&consumer, enable), 1), 1);
}

CONSUMER_WORLD_TEST(test_stats_are_those_of_the_session) {
        WireField field;

        ck_assert(!world_reply(&consumer, consumer_call(&consumer, CONSUMER_STATS))->success);
        begin_recording();
        ck_assert(consumer_reply_field(
                world_success(&consumer, consumer_call(&consumer, CONSUMER_STATS)), 1, &field));
        ck_assert_uint_gt(field.n_bytes, 10);
}

/* Of all replies to the request: how many have this event. */
static size_t count_events(uint64_t request, uint32_t event) {
        size_t n = 0;

        for (size_t i = 0; i < consumer_n_replies(&consumer, request); i++) {
                WireReader reader;
                WireField field;

                if (!consumer_reply_field(consumer_reply(&consumer, request, i), 1, &field))
                        continue;
                wire_reader_init_field(&reader, &field);
                while (wire_read(&reader, &field) > 0)
                        n += field.number == event;
        }
        return n;
}

static uint64_t observe(unsigned events) {
        for (unsigned event = 1; event <= 4; event *= 2)
                if (events & event)
                        wire_put_uint(consumer_message(&consumer), 1, event);
        return consumer_call(&consumer, CONSUMER_OBSERVE);
}

CONSUMER_WORLD_TEST(test_events_are_told_to_who_observes_them) {
        uint64_t request, again;

        wire_put_uint(consumer_message(&consumer), 1, 1);
        wire_put_uint(&consumer.message, 1, 2);
        request = consumer_call(&consumer, CONSUMER_OBSERVE);
        begin_recording();
        ck_assert_uint_eq(count_events(request, 1), 1); /* the source has started */
        ck_assert_uint_eq(count_events(request, 2), 1); /* all have */
        ck_assert(consumer_reply(&consumer, request, 0)->has_more);
        again = observe(2);
        world_run(&consumer);
        ck_assert_uint_eq(count_events(again, 2), 1); /* what is so already is told */
        ck_assert_uint_eq(count_events(again, 1), 0);
        ck_assert(!consumer_reply(&consumer, request, consumer_n_replies(&consumer, request) - 1)
                           ->has_more); /* the first stream is over */
        world_success(&consumer, observe(0));
        ck_assert(!consumer_reply(&consumer, again, consumer_n_replies(&consumer, again) - 1)
                           ->has_more);
}

/* The state of one reply; the field of it. */
static bool state_field(const ConsumerReply *reply, uint32_t number, WireField *ret) {
        ConsumerReply state = {};
        WireField field;

        if (!consumer_reply_field(reply, 1, &field))
                return false;
        state.data = (Bytes){ .data = (uint8_t *)field.data, .n = field.n_bytes };
        return consumer_reply_field(&state, number, ret);
}

CONSUMER_WORLD_TEST(test_the_state_has_producers_and_sessions) {
        const ConsumerReply *reply =
                world_success(&consumer, consumer_call(&consumer, CONSUMER_QUERY_STATE));
        WireField field;

        ck_assert(state_field(reply, 1, &field));
        ck_assert(state_field(reply, 2, &field));
        ck_assert(!state_field(reply, 6, &field));
        ck_assert(state_field(reply, 7, &field));
        begin_recording();
        wire_put_bool(consumer_message(&consumer), 1, true); /* sessions_only */
        reply = world_success(&consumer, consumer_call(&consumer, CONSUMER_QUERY_STATE));
        ck_assert(!state_field(reply, 1, &field));
        ck_assert(!state_field(reply, 2, &field));
        ck_assert(state_field(reply, 6, &field));
        ck_assert(state_field(reply, 4, &field));
        ck_assert_uint_eq(field.value, 1);
}

/* A producer that can be started is started, and awaited: in vain here, for the longest time there is. */
CONSUMER_WORLD_TEST(test_the_state_waits_for_who_is_started_to_be_listed) {
        static const char *const sources[] = { "com.example.late", NULL };
        uint64_t request;

        f.info.uid = getuid(); /* who may have producers started, besides root */
        ck_assert_int_eq(service_add_activatable(f.service, "late", sources), 0);
        request = consumer_call(&consumer, CONSUMER_QUERY_STATE);
        world_run(&consumer);
        ck_assert_uint_eq(f.n_activations[0], 1);
        ck_assert_ptr_null(consumer_reply(&consumer, request, 0));
        fixture_advance(&f, SERVICE_COMING_NS + 2 * S);
        world_success(&consumer, request);

        request = consumer_call(&consumer, CONSUMER_QUERY_STATE); /* soon after: not again */
        world_success(&consumer, request);
}

CONSUMER_WORLD_TEST(test_a_state_that_no_frame_holds_comes_in_several) {
        static uint8_t padding[60000];
        static uint8_t descriptor[61000];
        SourceOptions options = { .descriptor = descriptor };
        uint64_t request;
        size_t n_sources = 0;
        char name[32];

        for (unsigned i = 0; i < 5; i++) {
                WireWriter writer;

                snprintf(name, sizeof(name), "com.example.%u", i);
                wire_writer_init(&writer, descriptor, sizeof(descriptor));
                wire_put_string(&writer, 1, name);
                wire_put_bytes(&writer, 900, padding, sizeof(padding));
                options.n_descriptor = wire_writer_size(&writer);
                fixture_add_source(app, name, &options);
        }
        request = consumer_call(&consumer, CONSUMER_QUERY_STATE);
        world_run(&consumer);
        ck_assert_uint_ge(consumer_n_replies(&consumer, request), 3);
        for (size_t i = 0; i < consumer_n_replies(&consumer, request); i++) {
                const ConsumerReply *reply = consumer_reply(&consumer, request, i);
                WireReader reader;
                WireField field;

                ck_assert(reply->has_more == (i + 1 < consumer_n_replies(&consumer, request)));
                ck_assert(consumer_reply_field(reply, 1, &field));
                wire_reader_init_field(&reader, &field);
                while (wire_read(&reader, &field) > 0)
                        n_sources += field.number == 2;
        }
        ck_assert_uint_eq(n_sources, 6);
}

CONSUMER_WORLD_TEST(test_capabilities_are_told) {
        const ConsumerReply *reply =
                world_success(&consumer, consumer_call(&consumer, CONSUMER_QUERY_CAPABILITIES));
        WireField field;

        ck_assert(state_field(reply, 1, &field) && field.value);
        ck_assert(state_field(reply, 4, &field) && field.value);
        ck_assert(!state_field(reply, 3, &field)); /* output_path: no files of others are opened */
}

CONSUMER_WORLD_TEST(test_saving_for_a_bug_report_is_refused_in_words) {
        const ConsumerReply *reply =
                world_success(&consumer, consumer_call(&consumer, CONSUMER_SAVE));
        WireField field;

        ck_assert_uint_eq(field_uint(reply, 1), 0);
        ck_assert(consumer_reply_field(reply, 2, &field) && field.n_bytes > 0);
}

static uint64_t clone_by_name(ConsumerClient *client, const char *name, int fd) {
        wire_put_string(consumer_message(client), 4, name);
        return consumer_call_with_fd(client, CONSUMER_CLONE, fd);
}

CONSUMER_WORLD_TEST(test_the_own_session_of_a_name_is_cloned_whatever_others_call_theirs) {
        const char *config = CONFIG_ONE("com.example") "unique_session_name: \"mine\"";
        ConsumerClient other;
        Bytes trace;

        world_enable(&consumer, config, -1);
        world_run(&consumer);
        write_text("hello");
        world_success(&consumer, consumer_call(&consumer, CONSUMER_DISABLE));
        fixture_stop_session(&f, fixture_start_session(&f, getuid() + 1, config));
        world_connect(&other);
        ck_assert_uint_eq(field_uint(world_success(&other, clone_by_name(&other, "mine", -1)), 1),
                          1);
        trace = world_read(&other);
        ck_assert_uint_eq(trace_count_text(&trace, "hello"), 1);
        bytes_deinit(&trace);
        consumer_client_deinit(&other);
}

CONSUMER_WORLD_TEST(test_a_clone_is_read_by_who_asked_for_it) {
        const ConsumerReply *reply;
        ConsumerClient other;
        WireField field;
        Bytes trace;

        world_enable(&consumer, CONFIG_ONE("com.example") "unique_session_name: \"mine\"", -1);
        world_run(&consumer);
        write_text("hello");
        world_connect(&other);
        reply = world_success(&other, clone_by_name(&other, "other", -1));
        ck_assert_uint_eq(field_uint(reply, 1), 0);
        ck_assert(consumer_reply_field(reply, 2, &field) &&
                  field_is(&field, "Tracing session not found"));
        reply = world_success(&other, clone_by_name(&other, "mine", -1));
        ck_assert_uint_eq(field_uint(reply, 1), 1);
        ck_assert_uint_eq(field_uint(reply, 5), 0);
        trace = world_read(&other);
        ck_assert_uint_eq(trace_count_text(&trace, "hello"), 1);
        bytes_deinit(&trace);
        ck_assert_uint_eq(field_uint(world_success(&other, clone_by_name(&other, "mine", -1)), 1),
                          0);
        ck_assert_uint_eq(service_n_sessions(f.service), 2);
        consumer_client_deinit(&other);
        world_run(&consumer);
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
        trace = world_read(&consumer); /* the original has it still */
        ck_assert_uint_eq(trace_count_text(&trace, "hello"), 1);
        bytes_deinit(&trace);
}

static int temporary_file(void) {
        char path[] = "/tmp/desktrace-test-XXXXXX";
        int fd = mkostemp(path, O_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        unlink(path);
        return fd;
}

static Bytes file_bytes(int fd) {
        char *data;
        size_t n;

        ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
        ck_assert_int_eq(fd_read_all(&data, &n, fd, 1 << 20), 0);
        return (Bytes){ .data = (uint8_t *)data, .n = n };
}

CONSUMER_WORLD_TEST(test_a_session_writes_into_the_descriptor_that_came_with_it) {
        static const char config[] = CONFIG_ONE("com.example") "write_into_file: true";
        const int fd = temporary_file();
        uint64_t enable;
        Bytes trace;

        enable = world_enable(&consumer, config, fd);
        world_run(&consumer);
        write_text("hello");
        trace = world_read(&consumer); /* is not read twice */
        ck_assert_uint_eq(trace.n, 0);
        world_success(&consumer, consumer_call(&consumer, CONSUMER_DISABLE));
        ck_assert_uint_eq(field_uint(world_success(&consumer, enable), 1), 1);
        trace = file_bytes(fd); /* all of it is there when the end is told */
        ck_assert_uint_eq(trace_count_text(&trace, "hello"), 1);
        bytes_deinit(&trace);
        close(fd);
}

CONSUMER_WORLD_TEST(test_a_file_is_written_to_its_end_when_the_connection_has_gone) {
        static const char config[] = CONFIG_ONE("com.example") "write_into_file: true";
        const int fd = temporary_file();
        Bytes trace;

        world_enable(&consumer, config, fd);
        world_run(&consumer);
        write_text("hello");
        consumer_client_deinit(&consumer);
        world_connect(&consumer);
        for (unsigned i = 0; service_n_sessions(f.service) > 0 && i < 4000; i++) {
                world_run(&consumer);
                usleep(1000);
        }
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
        trace = file_bytes(fd);
        ck_assert_uint_eq(trace_count_text(&trace, "hello"), 1);
        bytes_deinit(&trace);
        close(fd);
}

CONSUMER_WORLD_TEST(test_the_clone_of_a_session_that_writes_is_written_as_well) {
        static const char config[] =
                CONFIG_ONE("com.example") "write_into_file: true unique_session_name: \"mine\" "
                                          "file_write_period_ms: 60000";
        const int fd = temporary_file(), clone_fd = temporary_file();
        const ConsumerReply *reply;
        ConsumerClient other;
        Bytes trace;

        world_enable(&consumer, config, fd);
        world_run(&consumer);
        write_text("hello");
        world_connect(&other);
        reply = world_success(&other, clone_by_name(&other, "mine", -1));
        ck_assert_uint_eq(field_uint(reply, 1), 0); /* needs a descriptor */
        reply = world_success(&other, clone_by_name(&other, "mine", clone_fd));
        ck_assert_uint_eq(field_uint(reply, 1), 1);
        ck_assert_uint_eq(field_uint(reply, 5), 1);
        trace = file_bytes(clone_fd);
        ck_assert_uint_eq(trace_count_text(&trace, "hello"), 1);
        bytes_deinit(&trace);
        consumer_client_deinit(&other);
        close(fd);
        close(clone_fd);
}

/* Until the text is in the file. */
static void await_text(int fd, const char *text) {
        size_t n = 0;

        for (unsigned i = 0; n == 0 && i < 4000; i++) {
                Bytes trace;

                fixture_advance(&f, 10 * MS);
                world_run(&consumer);
                trace = file_bytes(fd);
                n = trace_count_text(&trace, text);
                bytes_deinit(&trace);
                usleep(1000);
        }
        ck_assert_uint_eq(n, 1);
}

static void assert_has_both(int fd) {
        Bytes trace = file_bytes(fd);

        ck_assert_uint_eq(trace_count_text(&trace, "hello"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "world"), 1);
        bytes_deinit(&trace);
}

/* As Perfetto's service does. The original goes on, and has everything once as well. */
CONSUMER_WORLD_TEST(test_a_clone_begins_with_what_is_in_the_file_already) {
        static const char config[] =
                CONFIG_ONE("com.example") "write_into_file: true unique_session_name: \"mine\" "
                                          "file_write_period_ms: 100";
        const int fd = temporary_file(), clone_fd = temporary_file();
        ConsumerClient other;
        uint64_t enable;

        enable = world_enable(&consumer, config, fd);
        world_run(&consumer);
        write_text("hello");
        await_text(fd, "hello");
        write_text("world");
        world_connect(&other);
        ck_assert_uint_eq(
                field_uint(world_success(&other, clone_by_name(&other, "mine", clone_fd)), 1), 1);
        assert_has_both(clone_fd);
        world_success(&consumer, consumer_call(&consumer, CONSUMER_DISABLE));
        world_success(&consumer, enable);
        assert_has_both(fd);
        consumer_client_deinit(&other);
        close(fd);
        close(clone_fd);
}

CONSUMER_WORLD_TEST(test_a_triggered_snapshot_is_fetched_by_its_number) {
        static const char config[] =
                CONFIG_ONE("com.example") "trigger_config { trigger_mode: CLONE_SNAPSHOT "
                                          "trigger_timeout_ms: 60000 triggers { name: \"jank\" } }";
        const uint64_t observed = observe(4);
        const ConsumerReply *reply;
        ConsumerClient other;
        WireField field, hit;
        Bytes trace;

        world_enable(&consumer, config, -1);
        world_run(&consumer);
        write_text("hello");
        ck_assert_uint_eq(fake_trigger(app, "jank"), 1);
        reply = world_reply(&consumer, observed);
        ck_assert(state_field(reply, 3, &hit));
        reply = &(const ConsumerReply){
                .data = { .data = (uint8_t *)hit.data, .n = hit.n_bytes },
        };
        ck_assert(consumer_reply_field(reply, 2, &field) && field_is(&field, "jank"));
        ck_assert(consumer_reply_field(reply, 1, &field));
        world_connect(&other);
        wire_put_uint(consumer_message(&other), 1, field.value);
        reply = world_success(&other, consumer_call(&other, CONSUMER_CLONE));
        ck_assert_uint_eq(field_uint(reply, 1), 1);
        trace = world_read(&other);
        ck_assert_uint_eq(trace_count_text(&trace, "hello"), 1);
        bytes_deinit(&trace);
        consumer_client_deinit(&other);
}

/* Of each method's message every beginning, and a field that does not end. What is no message costs the connection, and
 * nobody else anything. */
CONSUMER_WORLD_TEST(test_every_truncation_of_every_message_is_answered_or_costs_the_connection) {
        static const uint8_t message[] = { 0x0a, 0x03, 0x0a, 0x01, 'x',  0x10, 0x01, 0x22, 0x02,
                                           'a',  'b',  0x18, 0x80, 0x01, 0x08, 0x82, 0x80, 0x04 };
        ConsumerClient other;

        world_enable(&consumer, CONFIG_ONE("com.example"), -1);
        for (unsigned method = 0; method < _CONSUMER_METHOD_N; method++)
                for (size_t n = 0; n <= sizeof(message); n++) {
                        uint64_t request;

                        world_connect(&other);
                        wire_put_raw(consumer_message(&other), message, n);
                        request = consumer_call(&other, method);
                        world_run(&other);
                        ck_assert(other.is_closed || method == CONSUMER_ENABLE ||
                                  method == CONSUMER_OBSERVE || /* both may wait */
                                  consumer_reply(&other, request, 0));
                        consumer_client_deinit(&other);
                }
        world_run(&consumer);
        ck_assert(!consumer.is_closed);
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
}

/* A consumer that asks for a trace and does not read it has at most a batch of it waiting, and may go on later. */
CONSUMER_WORLD_TEST(test_a_trace_waits_for_a_slow_reader) {
        static char text[60000];
        uint64_t request;
        SmbWriter *writer;
        Bytes trace = {};

        memset(text, 'a', sizeof(text) - 1);
        world_enable(&consumer,
                     "buffers { size_kb: 8192 } data_sources { config { name: \"com.example\" } }",
                     -1);
        world_run(&consumer);
        writer = fake_writer_new(app, fake_instance(app, "com.example"));
        for (unsigned i = 0; i < 40; i++) {
                fake_write(writer, text);
                fake_ring(app);
        }
        free(writer);
        world_success(&consumer, consumer_call(&consumer, CONSUMER_FLUSH));
        request = consumer_call(&consumer, CONSUMER_READ);
        world_serve();
        ck_assert_uint_lt(ports_n_bytes_held(ports), 1 << 20);
        world_run(&consumer);
        consumer_read_trace(&consumer, request, &trace);
        ck_assert_uint_eq(trace_count_text(&trace, text), 40);
        bytes_deinit(&trace);
}

CONSUMER_WORLD_TEST(test_a_packet_that_no_frame_holds_comes_in_slices) {
        static char text[200000];
        Bytes trace;
        SmbWriter *writer;

        memset(text, 'a', sizeof(text) - 1);
        begin_recording();
        writer = fake_writer_new(app, fake_instance(app, "com.example"));
        fake_write(writer, text);
        fake_write(writer, "after it");
        free(writer);
        fake_ring(app);
        trace = world_read(&consumer);
        ck_assert_uint_eq(trace_count_text(&trace, text), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "after it"), 1);
        bytes_deinit(&trace);
}

TEST_MAIN("consumer-port",
          test_service_has_all_methods_by_their_names,
          test_a_recording_is_answered_at_its_end_and_read,
          test_a_session_ends_with_its_connection,
          test_freeing_answers_who_waits_for_the_end_first,
          test_a_config_that_is_refused_is_told_why,
          test_sources_that_nobody_has_are_no_mistake,
          test_a_deferred_session_is_started_when_it_is_said,
          test_a_flush_succeeds_only_when_all_have_answered,
          test_a_config_may_gain_producers,
          test_a_detached_session_outlives_its_connection,
          test_a_consumer_that_attaches_may_wait_for_the_end,
          test_stats_are_those_of_the_session,
          test_events_are_told_to_who_observes_them,
          test_the_state_has_producers_and_sessions,
          test_the_state_waits_for_who_is_started_to_be_listed,
          test_a_state_that_no_frame_holds_comes_in_several,
          test_capabilities_are_told,
          test_saving_for_a_bug_report_is_refused_in_words,
          test_the_own_session_of_a_name_is_cloned_whatever_others_call_theirs,
          test_a_clone_is_read_by_who_asked_for_it,
          test_a_session_writes_into_the_descriptor_that_came_with_it,
          test_a_file_is_written_to_its_end_when_the_connection_has_gone,
          test_the_clone_of_a_session_that_writes_is_written_as_well,
          test_a_clone_begins_with_what_is_in_the_file_already,
          test_a_triggered_snapshot_is_fetched_by_its_number,
          test_every_truncation_of_every_message_is_answered_or_costs_the_connection,
          test_a_trace_waits_for_a_slow_reader,
          test_a_packet_that_no_frame_holds_comes_in_slices)
