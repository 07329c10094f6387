/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* QueryServiceState: each field of a session, and data sources whatever their descriptors are. */

#include <stdio.h>
#include <unistd.h>

#include "consumer-world.h"
#include "socket/consumer/consumer-private.h"
#include "socket/link/link.h"

/* Of perfetto.protos.TracingServiceState.TracingSession, and around it. */
enum {
        STATE_PRODUCERS = 1,
        STATE_SOURCES = 2,
        STATE_SESSIONS = 6,
        SESSION_STATE = 3,
        SESSION_NAME = 4,
        SESSION_BUFFER_KB = 5,
        SESSION_DURATION_MS = 6,
        SESSION_N_SOURCES = 7,
        SESSION_BEGAN = 8,
        SESSION_SCORE = 9,
        SESSION_FILENAME = 10,
        SESSION_IS_STARTED = 11,
        SOURCE_DESCRIPTOR = 1,
        DESCRIPTOR_NAME = 1,
        DESCRIPTOR_BULK = 900,
};

static bool find(const uint8_t *data, size_t n, uint32_t number, WireField *ret) {
        WireReader reader;
        WireField field;
        bool is_found = false;

        wire_reader_init(&reader, data, n);
        while (wire_read(&reader, &field) > 0) {
                if (field.number != number)
                        continue;
                *ret = field;
                is_found = true;
        }
        return is_found;
}

static bool find_in(const WireField *message, uint32_t number, WireField *ret) {
        return find(message->data, message->n_bytes, number, ret);
}

static bool field_is(const WireField *field, const char *text) {
        return field->n_bytes == strlen(text) && memcmp(field->data, text, field->n_bytes) == 0;
}

/* The last session that the service tells of. */
static bool query_session(WireField *ret) {
        const ConsumerReply *reply;
        WireField state;

        wire_put_bool(consumer_message(&consumer), 1, true); /* sessions_only */
        reply = world_success(&consumer, consumer_call(&consumer, CONSUMER_QUERY_STATE));
        ck_assert(consumer_reply_field(reply, 1, &state));
        return find_in(&state, STATE_SESSIONS, ret);
}

static uint64_t number_of(const WireField *session, uint32_t number) {
        WireField field;

        return find_in(session, number, &field) ? field.value : 0;
}

static void assert_text(const WireField *session, uint32_t number, const char *text) {
        WireField field;

        ck_assert_msg(find_in(session, number, &field), "field %u is not there", (unsigned)number);
        ck_assert_msg(field_is(&field, text),
                      "%.*s is not %s",
                      (int)field.n_bytes,
                      (const char *)field.data,
                      text);
}

CONSUMER_WORLD_TEST(test_a_session_is_shown_with_all_fields) {
        WireField session, field;

        world_enable(&consumer,
                     CONFIG_ONE("com.example") "data_sources { config { name: \"missing\" } } "
                                               "unique_session_name: \"mine\" "
                                               "bugreport_score: 7 bugreport_filename: \"a.pft\" "
                                               "duration_ms: 60000",
                     -1);
        world_run(&consumer);
        ck_assert(query_session(&session));
        assert_text(&session, SESSION_STATE, "STARTED");
        assert_text(&session, SESSION_NAME, "mine");
        assert_text(&session, SESSION_FILENAME, "a.pft");
        ck_assert_uint_eq(number_of(&session, SESSION_SCORE), 7);
        ck_assert_uint_eq(number_of(&session, SESSION_DURATION_MS), 60000);
        ck_assert_uint_eq(number_of(&session, SESSION_IS_STARTED), 1);
        ck_assert_uint_eq(number_of(&session, SESSION_N_SOURCES), 1); /* that take part */
        ck_assert_uint_gt(number_of(&session, SESSION_BEGAN), 0);
        ck_assert(find_in(&session, SESSION_BUFFER_KB, &field));
}

CONSUMER_WORLD_TEST(test_what_a_config_does_not_say_is_not_shown) {
        WireField session, field;

        world_enable(&consumer, CONFIG_ONE("com.example") "deferred_start: true", -1);
        world_run(&consumer);
        ck_assert(query_session(&session));
        assert_text(&session, SESSION_STATE, "CONFIGURED");
        ck_assert(!find_in(&session, SESSION_SCORE, &field));
        ck_assert(!find_in(&session, SESSION_FILENAME, &field));
        ck_assert(!find_in(&session, SESSION_BEGAN, &field));
        ck_assert_uint_eq(number_of(&session, SESSION_IS_STARTED), 0);
}

CONSUMER_WORLD_TEST(test_a_session_that_stops_is_shown_in_perfettos_words) {
        WireField session;

        app->acks_flush = app->acks_stop = false;
        world_enable(&consumer, CONFIG_ONE("com.example"), -1);
        world_run(&consumer);
        world_success(&consumer, consumer_call(&consumer, CONSUMER_DISABLE));
        ck_assert(query_session(&session));
        assert_text(&session, SESSION_STATE, "STARTED"); /* flushes */
        fixture_advance(&f, SESSION_DISABLE_FLUSH_NS + 100 * MS);
        ck_assert(query_session(&session));
        assert_text(&session, SESSION_STATE, "STOP_WAIT");
        fixture_advance(&f, SESSION_STOP_TIMEOUT_NS + 1 * S);
        ck_assert(query_session(&session));
        assert_text(&session, SESSION_STATE, "DISABLED");
}

CONSUMER_WORLD_TEST(test_a_clone_is_shown_with_its_originals_name) {
        const ConsumerReply *reply;
        ConsumerClient other;
        WireField session;

        world_enable(&consumer, CONFIG_ONE("com.example") "unique_session_name: \"mine\"", -1);
        world_run(&consumer);
        world_connect(&other);
        wire_put_string(consumer_message(&other), 4, "mine");
        reply = world_success(&other, consumer_call(&other, CONSUMER_CLONE));
        ck_assert_uint_gt(reply->data.n, 0);
        ck_assert(query_session(&session));
        assert_text(&session, SESSION_STATE, "CLONED_READ_ONLY");
        assert_text(&session, SESSION_NAME, "mine");
        consumer_client_deinit(&other);
}

/* By a number that no session has. */
CONSUMER_WORLD_TEST(test_a_clone_for_a_bug_report_is_of_the_highest_score) {
        static const int scores[] = { 1, 5, 3 };
        ConsumerClient other;
        WireField session;
        char text[256];

        for (size_t i = 0; i < ARRAY_SIZE(scores); i++) {
                snprintf(text,
                         sizeof(text),
                         "%s bugreport_score: %d unique_session_name: \"score %d\"",
                         CONFIG_ONE("com.example"),
                         scores[i],
                         scores[i]);
                fixture_start_session(&f, getuid(), text);
        }
        world_connect(&other);
        wire_put_uint(consumer_message(&other), 1, UINT64_MAX);
        world_success(&other, consumer_call(&other, CONSUMER_CLONE));
        ck_assert(query_session(&session));
        assert_text(&session, SESSION_STATE, "CLONED_READ_ONLY");
        assert_text(&session, SESSION_NAME, "score 5");
        consumer_client_deinit(&other);
}

/*
 * Descriptors
 */

/* A source whose descriptor has n_bytes. */
static void add_source(const char *name, size_t n_bytes) {
        static uint8_t memory[SOURCE_DESCRIPTOR_BYTES_MAX], bulk[SOURCE_DESCRIPTOR_BYTES_MAX];
        SourceOptions options = { .descriptor = memory };
        WireWriter writer;
        size_t n_around;

        wire_writer_init(&writer, memory, sizeof(memory));
        wire_put_string(&writer, DESCRIPTOR_NAME, name);
        n_around = wire_writer_size(&writer) + 2 + wire_varint_size(n_bytes);
        wire_put_bytes(&writer, DESCRIPTOR_BULK, bulk, n_bytes - n_around);
        options.n_descriptor = wire_writer_size(&writer);
        ck_assert_uint_eq(options.n_descriptor, n_bytes);
        fixture_add_source(app, name, &options);
}

/* The descriptor of that name in all replies, each of which is a frame that clients can read; its bytes, or 0. */
static size_t listed_bytes(const char *name) {
        const uint64_t request = consumer_call(&consumer, CONSUMER_QUERY_STATE);
        WireField state, source, descriptor, field;
        WireReader reader;
        size_t n = 0;

        world_run(&consumer);
        ck_assert(!consumer.is_closed);
        for (size_t i = 0; i < consumer_n_replies(&consumer, request); i++) {
                const ConsumerReply *reply = consumer_reply(&consumer, request, i);

                ck_assert(reply->success);
                ck_assert(consumer_reply_field(reply, 1, &state));
                wire_reader_init_field(&reader, &state);
                while (wire_read(&reader, &source) > 0)
                        if (source.number == STATE_SOURCES &&
                            find_in(&source, SOURCE_DESCRIPTOR, &descriptor) &&
                            find_in(&descriptor, DESCRIPTOR_NAME, &field) && field_is(&field, name))
                                n += descriptor.n_bytes;
        }
        return n;
}

/* What a reply holds around a descriptor: less than so much. */
#define AROUND_DESCRIPTOR 64

CONSUMER_WORLD_TEST(test_a_descriptor_that_almost_fills_a_message_is_listed_whole) {
        char name[32];

        for (size_t n = IPC_FRAME_BYTES_MAX - 600; n < IPC_FRAME_BYTES_MAX - AROUND_DESCRIPTOR;
             n += 67) {
                snprintf(name, sizeof(name), "com.example.%zu", n);
                add_source(name, n);
                ck_assert_uint_eq(listed_bytes(name), n);
        }
}

/* Native programs may say more of a source than Perfetto's can. */
CONSUMER_WORLD_TEST(test_a_descriptor_that_no_message_holds_is_listed_by_what_fits) {
        for (size_t n = IPC_FRAME_BYTES_MAX - AROUND_DESCRIPTOR; n < IPC_FRAME_BYTES_MAX + 64;
             n++) {
                char name[32];
                size_t n_listed;

                snprintf(name, sizeof(name), "com.example.%zu", n);
                add_source(name, n);
                n_listed = listed_bytes(name);
                ck_assert(n_listed == n || n_listed == 2 + strlen(name));
                ck_assert_int_eq(producer_remove_source(app->producer, name, f.now), 0);
        }
        add_source("com.example.huge", SOURCE_DESCRIPTOR_BYTES_MAX / 2 + 1000);
        ck_assert_uint_eq(listed_bytes("com.example.huge"), 2 + strlen("com.example.huge"));
}

/*
 * In turns
 */

#define BULK_SOURCES 60
#define BULK_BYTES   (100u << 10)

/* More than may wait for a peer. */
static void add_bulk(void) {
        char name[32];

        static_assert(BULK_SOURCES * BULK_BYTES > PORTS_QUEUE_BYTES_MAX, "must be too much");
        for (size_t i = 0; i < BULK_SOURCES; i++) {
                snprintf(name, sizeof(name), "com.example.%zu", i);
                add_source(name, BULK_BYTES);
        }
}

/* Of all replies to the call, the entries of that number. The last reply says that it is. */
static size_t n_entries(uint64_t request, uint32_t number) {
        const size_t n_replies = consumer_n_replies(&consumer, request);
        WireField state, field;
        WireReader reader;
        size_t n = 0;

        for (size_t i = 0; i < n_replies; i++) {
                const ConsumerReply *reply = consumer_reply(&consumer, request, i);

                ck_assert(reply->success);
                ck_assert(reply->has_more == (i + 1 < n_replies));
                ck_assert(consumer_reply_field(reply, 1, &state));
                wire_reader_init_field(&reader, &state);
                while (wire_read(&reader, &field) > 0)
                        n += field.number == number;
        }
        return n;
}

/* The service has its turns, and the peer reads nothing. */
static void serve_unread(void) {
        for (unsigned i = 0; i < 100; i++)
                world_serve();
}

CONSUMER_WORLD_TEST(test_a_slow_reader_is_told_the_state_as_it_reads) {
        uint64_t request;

        add_bulk();
        world_enable(&consumer, CONFIG_ONE("com.example"), -1);
        request = consumer_call(&consumer, CONSUMER_QUERY_STATE);
        serve_unread();
        world_run(&consumer);
        ck_assert(!consumer.is_closed);
        ck_assert_uint_eq(n_entries(request, STATE_SOURCES), 1 + BULK_SOURCES);
        ck_assert_uint_eq(n_entries(request, STATE_PRODUCERS), 1);
        ck_assert_uint_eq(n_entries(request, STATE_SESSIONS), 1);
}

CONSUMER_WORLD_TEST(test_programs_and_sessions_may_come_and_go_while_the_state_is_told) {
        uint64_t request;
        Bytes trace;

        add_bulk();
        world_enable(&consumer, CONFIG_ONE("com.example"), -1);
        fixture_connect_producer(&f, getuid(), "other", "com.example.other");
        request = consumer_call(&consumer, CONSUMER_QUERY_STATE);
        serve_unread();
        fixture_disconnect_producer(app);
        world_success(&consumer, consumer_call(&consumer, CONSUMER_FREE));
        fixture_connect_producer(&f, getuid(), "late", "com.example.late");
        world_run(&consumer);
        ck_assert(!consumer.is_closed);
        ck_assert_uint_lt(n_entries(request, STATE_SOURCES), 1 + BULK_SOURCES);
        ck_assert_uint_eq(n_entries(request, STATE_PRODUCERS), 2);
        ck_assert_uint_eq(n_entries(request, STATE_SESSIONS), 0);
        trace = world_read(&consumer);
        bytes_deinit(&trace);
}

CONSUMER_WORLD_TEST(test_queries_are_answered_one_after_the_other) {
        uint64_t requests[CONSUMER_QUERIES_MAX];
        const ConsumerReply *refused;

        add_bulk();
        for (size_t i = 0; i < CONSUMER_QUERIES_MAX; i++)
                requests[i] = consumer_call(&consumer, CONSUMER_QUERY_STATE);
        serve_unread();
        refused = world_reply(&consumer, consumer_call(&consumer, CONSUMER_QUERY_STATE));
        ck_assert(!refused->success);
        ck_assert(!consumer.is_closed);
        ck_assert_uint_eq(n_entries(requests[0], STATE_SOURCES), 1 + BULK_SOURCES);
        ck_assert_uint_eq(n_entries(requests[1], STATE_SOURCES), 1 + BULK_SOURCES);
}

TEST_MAIN("consumer-state",
          test_a_session_is_shown_with_all_fields,
          test_what_a_config_does_not_say_is_not_shown,
          test_a_session_that_stops_is_shown_in_perfettos_words,
          test_a_clone_is_shown_with_its_originals_name,
          test_a_clone_for_a_bug_report_is_of_the_highest_score,
          test_a_descriptor_that_almost_fills_a_message_is_listed_whole,
          test_a_descriptor_that_no_message_holds_is_listed_by_what_fits,
          test_a_slow_reader_is_told_the_state_as_it_reads,
          test_programs_and_sessions_may_come_and_go_while_the_state_is_told,
          test_queries_are_answered_one_after_the_other)
