/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the service says in a trace about its writers and about other sessions. */

#include <stdio.h>

#include "core/events/service-packets.h"
#include "core/model/session-phase.h"
#include "fixture.h"

#define CURIOUS "builtin_data_sources { enable_concurrent_session_events: true } "

static Fixture f;

static TestPacket message(const TestPacket *packet, uint32_t field) {
        WireField found;

        ck_assert(packet_field(packet, field, &found));
        ck_assert_uint_eq(found.type, WIRE_BYTES);
        return (TestPacket){ found.data, found.n_bytes };
}

/* The nth submessage of that number; false when there is none. */
static bool nth_message(const TestPacket *packet, uint32_t field, size_t nth, TestPacket *ret) {
        WireReader reader;
        WireField found;

        wire_reader_init(&reader, packet->data, packet->n);
        while (wire_read(&reader, &found) > 0)
                if (found.number == field && nth-- == 0) {
                        *ret = (TestPacket){ found.data, found.n_bytes };
                        return true;
                }
        return false;
}

static size_t count_messages(const TestPacket *packet, uint32_t field) {
        TestPacket found;
        size_t n = 0;

        while (nth_message(packet, field, n, &found))
                n++;
        return n;
}

/*
 * Writers
 */

START_TEST(test_provenance_says_which_sequences_are_in_which_buffer) {
        FakeProducer *app, *other;
        FakeConsumer *consumer;
        SmbWriter *writers[3];
        TestPacket packet, buffer, sequence;
        uint64_t ids = 0, first_producer, second_producer;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        other = fixture_connect_producer(&f, 1000, "other", "second");
        consumer = fixture_start_session(
                &f,
                1000,
                "buffers { size_kb: 256 name: \"a\" } buffers { size_kb: 256 name: \"b\" } "
                "data_sources { config { name: \"track_event\" target_buffer_name: \"a\" } } "
                "data_sources { config { name: \"second\" target_buffer_name: \"b\" } }");
        writers[0] = fake_writer_new(app, fake_instance(app, "track_event"));
        writers[1] = fake_writer_new(app, fake_instance(app, "track_event"));
        writers[2] = fake_writer_new(other, fake_instance(other, "second"));
        for (size_t i = 0; i < 3; i++)
                fake_write(writers[i], "text");
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);

        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_PROVENANCE), 1);
        packet = trace_packet(&trace, PACKET_TRACE_PROVENANCE, 0);
        ck_assert_uint_eq(packet_uint(&packet, PACKET_SEQUENCE_ID), 1);
        packet = message(&packet, PACKET_TRACE_PROVENANCE);
        ck_assert_uint_eq(count_messages(&packet, 2), 2);
        ck_assert(nth_message(&packet, 2, 0, &buffer));
        ck_assert_uint_eq(count_messages(&buffer, 1), 2);
        for (size_t i = 0; i < 2; i++) {
                ck_assert(nth_message(&buffer, 1, i, &sequence));
                ck_assert_uint_ge(packet_uint(&sequence, 1), 2);
                ids |= 1u << packet_uint(&sequence, 1);
        }
        first_producer = packet_uint(&sequence, 2);
        ck_assert(nth_message(&packet, 2, 1, &buffer));
        ck_assert_uint_eq(count_messages(&buffer, 1), 1);
        ck_assert(nth_message(&buffer, 1, 0, &sequence));
        ids |= 1u << packet_uint(&sequence, 1);
        second_producer = packet_uint(&sequence, 2);
        ck_assert_uint_eq(ids, 1u << 2 | 1u << 3 | 1u << 4);
        ck_assert_uint_eq(first_producer, producer_id(app->producer));
        ck_assert_uint_eq(second_producer, producer_id(other->producer));
        bytes_deinit(&trace);
        for (size_t i = 0; i < 3; i++)
                free(writers[i]);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_provenance_of_a_stream_is_said_again_when_writers_have_come) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer, *late;
        TestPacket packet, buffer;
        Bytes begin, end;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write(writer, "early");
        fake_ring(app);
        begin = fixture_read(&f, consumer);
        late = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write(late, "late");
        fixture_stop_session(&f, consumer);
        end = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&begin, PACKET_TRACE_PROVENANCE), 1);
        ck_assert_uint_eq(trace_count(&end, PACKET_TRACE_PROVENANCE), 1);
        packet = trace_packet(&end, PACKET_TRACE_PROVENANCE, 0);
        packet = message(&packet, PACKET_TRACE_PROVENANCE);
        ck_assert(nth_message(&packet, 2, 0, &buffer));
        ck_assert_uint_eq(count_messages(&buffer, 1), 2);
        bytes_deinit(&begin);
        bytes_deinit(&end);
        free(writer);
        free(late);
        fixture_deinit(&f);
}
END_TEST

static uint64_t packed_at(const TestPacket *packet, uint32_t field, size_t i) {
        TestPacket values = message(packet, field);
        WireReader reader;
        uint64_t value;

        wire_reader_init(&reader, values.data, values.n);
        for (;; i--) {
                ck_assert_int_eq(wire_read_varint(&reader, &value), 0);
                if (i == 0)
                        return value;
        }
}

START_TEST(test_stats_have_a_histogram_of_each_writers_chunks) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        TestPacket packet, stats, writer_stats;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(
                &f,
                1000,
                "buffers { size_kb: 256 } buffers { size_kb: 256 name: \"b\" } data_sources { "
                "config { name: \"track_event\" target_buffer_name: \"b\" } }");
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        for (unsigned i = 0; i < 3; i++)
                fake_write(writer, "twenty bytes of text");
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        packet = trace_text(&trace, "twenty bytes of text");
        stats = trace_packet(&trace, PACKET_TRACE_STATS, 0);
        stats = message(&stats, PACKET_TRACE_STATS);
        ck_assert_uint_eq(packet_uint(&stats, 17), 16384); /* the last of the thresholds */
        ck_assert_uint_eq(count_messages(&stats, 18), 1);
        ck_assert(nth_message(&stats, 18, 0, &writer_stats));
        ck_assert_uint_eq(packet_uint(&writer_stats, 1), packet_uint(&packet, PACKET_SEQUENCE_ID));
        ck_assert_uint_eq(packet_uint(&writer_stats, 4), 1);
        ck_assert_uint_eq(packed_at(&writer_stats, 2, 0), 0);
        ck_assert_uint_eq(packed_at(&writer_stats, 2, 1), 3); /* above 8, up to 32 bytes */
        ck_assert_uint_eq(packed_at(&writer_stats, 2, 10), 0);
        ck_assert_uint_ge(packed_at(&writer_stats, 3, 1), 3 * 20);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_histograms_can_be_switched_off) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        TestPacket stats;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(
                &f,
                1000,
                CONFIG_ONE("track_event") "builtin_data_sources { disable_chunk_usage_histograms: "
                                          "true }");
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write(writer, "text");
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        stats = trace_packet(&trace, PACKET_TRACE_STATS, 0);
        stats = message(&stats, PACKET_TRACE_STATS);
        ck_assert_uint_eq(packet_uint(&stats, 17), 0);
        ck_assert_uint_eq(count_messages(&stats, 18), 0);
        ck_assert_uint_eq(count_messages(&stats, 1), 1);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_stats_of_many_writers_fit_a_small_file) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writers[64];
        TestPacket stats;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session_with(
                &f,
                &(SessionOptions){ .owner = { .uid = 1000 }, .has_output = true },
                CONFIG_ONE("track_event") "write_into_file: true max_file_size_bytes: 8192");
        for (size_t i = 0; i < ARRAY_SIZE(writers); i++) {
                writers[i] = fake_writer_new(app, fake_instance(app, "track_event"));
                fake_write(writers[i], "as many writers as that do not fit");
        }
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_STATS), 1);
        stats = trace_packet(&trace, PACKET_TRACE_STATS, 0);
        ck_assert_uint_lt(stats.n, 512);
        bytes_deinit(&trace);
        for (size_t i = 0; i < ARRAY_SIZE(writers); i++)
                free(writers[i]);
        fixture_deinit(&f);
}
END_TEST

/*
 * Events
 */

/* The names that the only event of that kind has. */
static size_t slow_sources(const Bytes *trace, char ret_last[static 64]) {
        TestPacket packet, event, sources, source;
        WireField name;
        size_t at = 0, n_events = 0, n = 0;

        while (trace_next(trace, &at, &packet)) {
                if (!packet_field(&packet, PACKET_SERVICE_EVENT, &name))
                        continue;
                event = message(&packet, PACKET_SERVICE_EVENT);
                if (!nth_message(&event, EVENT_SLOW_STARTING_SOURCES, 0, &sources))
                        continue;
                n_events++;
                for (n = 0; nth_message(&sources, 1, n, &source); n++) {
                        ck_assert(packet_field(&source, 2, &name));
                        snprintf(ret_last, 64, "%.*s", (int)name.n_bytes, name.data);
                }
        }
        ck_assert_uint_le(n_events, 1);
        return n;
}

START_TEST(test_sources_that_have_not_started_are_named_after_20_seconds) {
        FakeProducer *quick, *slow, *slower;
        FakeConsumer *consumer;
        char last[64] = "";
        Bytes trace;

        fixture_init(&f);
        quick = fixture_connect_producer(&f, 1000, "quick", "first");
        slow = fixture_connect_producer(&f, 1000, "slow", "second");
        slower = fixture_connect_producer(&f, 1000, "slower", "third");
        ck_assert(quick->acks_start);
        slow->acks_start = slower->acks_start = false;
        consumer = fixture_start_session(
                &f,
                1000,
                "buffers { size_kb: 256 } data_sources { config { name: \"first\" } } "
                "data_sources { config { name: \"second\" } } data_sources { config { name: "
                "\"third\" } }");
        fixture_advance(&f, 10 * S);
        producer_source_started(slow->producer, fake_instance(slow, "second")->id, f.now);
        fixture_advance(&f, 15 * S);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(slow_sources(&trace, last), 1);
        ck_assert_str_eq(last, "third");
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_all_slow_sources_are_named) {
        FakeConsumer *consumer;
        char last[64] = "";
        Bytes trace;

        fixture_init(&f);
        fixture_connect_producer(&f, 1000, "slow", "first")->acks_start = false;
        fixture_connect_producer(&f, 1000, "slower", "second")->acks_start = false;
        fixture_connect_producer(&f, 1000, "slowest", "third")->acks_start = false;
        consumer = fixture_start_session(
                &f,
                1000,
                "buffers { size_kb: 256 } data_sources { config { name: \"first\" } } "
                "data_sources { config { name: \"second\" } } data_sources { config { name: "
                "\"third\" } }");
        fixture_advance(&f, 25 * S);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(slow_sources(&trace, last), 3);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_late_sources_are_not_slow_when_all_had_started) {
        FakeProducer *late;
        FakeConsumer *consumer;
        char last[64] = "";
        Bytes trace;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        late = fixture_connect_producer(&f, 1000, "late", NULL);
        late->acks_start = false;
        fixture_add_source(late, "track_event", &(SourceOptions){});
        fixture_advance(&f, 30 * S);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(slow_sources(&trace, last), 0);
        ck_assert(trace_has_event(&trace, EVENT_ALL_SOURCES_STARTED, NULL));
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_all_have_started_when_the_last_is_given_up) {
        FakeConsumer *consumer;
        uint64_t started_at, ns;
        Bytes trace;

        fixture_init(&f);
        ck_assert_int_eq(
                service_add_activatable(f.service, "extra", (const char *[]){ "extra", NULL }), 0);
        consumer = fixture_start_session(
                &f, 1000, CONFIG_ONE("track_event") "data_sources { config { name: \"extra\" } }");
        fixture_advance(&f, SESSION_START_TIMEOUT_NS - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTING);
        fixture_advance(&f, 1);
        started_at = f.now;
        fixture_advance(&f, S);
        trace = fixture_read(&f, consumer);
        ck_assert(trace_has_event(&trace, EVENT_ALL_SOURCES_STARTED, &ns));
        ck_assert_uint_eq(ns, started_at);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_attributes_and_unknown_fields_of_a_config_are_in_the_trace) {
        static const char text[] = CONFIG_ONE("none") "trace_attributes { attribute { key: "
                                                      "\"build\" string_value: \"17\" } }";
        _cleanup_(config_freep) Config *config = NULL;
        FakeConsumer *consumer;
        ConfigError error;
        TestPacket packet;
        Bytes trace;

        fixture_init(&f);
        ck_assert_int_eq(config_new_from_text(&config, text, &error), 0);
        consumer = fixture_start_session(&f, 1000, text);
        trace = fixture_read(&f, consumer);
        packet = trace_packet(&trace, PACKET_TRACE_CONFIG, 0);
        packet = message(&packet, PACKET_TRACE_CONFIG);
        ck_assert_uint_eq(packet.n, config->n_bytes);
        ck_assert_mem_eq(packet.data, config->bytes, packet.n);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_primary_clock_is_what_the_config_says) {
        static const struct {
                const char *config;
                uint64_t primary;
        } cases[] = {
                { CONFIG_ONE("none"), CLOCK_ID_BOOTTIME },
                { CONFIG_ONE("none") "builtin_data_sources { primary_trace_clock: "
                                     "BUILTIN_CLOCK_MONOTONIC }",
                  CLOCK_ID_MONOTONIC },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                FakeConsumer *consumer;
                TestPacket packet;
                Bytes trace;

                fixture_init(&f);
                consumer = fixture_start_session(&f, 1000, cases[i].config);
                trace = fixture_read(&f, consumer);
                packet = trace_packet(&trace, PACKET_CLOCK_SNAPSHOT, 0);
                packet = message(&packet, PACKET_CLOCK_SNAPSHOT);
                ck_assert_uint_eq(packet_uint(&packet, 2), cases[i].primary);
                bytes_deinit(&trace);
                fixture_deinit(&f);
        }
}
END_TEST

/*
 * Extensions
 */

START_TEST(test_descriptors_of_extensions_are_in_the_trace_byte_for_byte) {
        static const uint8_t set[] = { 0x0a, 3, 0x0a, 1, 'x' };
        static const uint8_t gzip[20] = { 0x1f, 0x8b, 8 };
        FakeConsumer *consumer;
        TestPacket packet;
        WireField field;
        Bytes trace;

        fixture_init(&f);
        ck_assert_int_eq(service_add_descriptor(f.service, "a.desc", set, sizeof(set), false), 0);
        ck_assert_int_eq(service_add_descriptor(f.service, "b.desc.gz", gzip, sizeof(gzip), true),
                         0);
        ck_assert(service_has_descriptor(f.service, "a.desc"));
        ck_assert(!service_has_descriptor(f.service, "b.desc"));
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("none"));
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_EXTENSION_DESCRIPTOR), 2);
        packet = trace_packet(&trace, PACKET_EXTENSION_DESCRIPTOR, 0);
        ck_assert_uint_eq(packet_uint(&packet, PACKET_SEQUENCE_ID), 1);
        packet = message(&packet, PACKET_EXTENSION_DESCRIPTOR);
        ck_assert(packet_field(&packet, 1, &field));
        ck_assert_uint_eq(field.n_bytes, sizeof(set));
        ck_assert_mem_eq(field.data, set, sizeof(set));
        ck_assert(packet_field(&packet, 3, &field));
        packet = trace_packet(&trace, PACKET_EXTENSION_DESCRIPTOR, 1);
        packet = message(&packet, PACKET_EXTENSION_DESCRIPTOR);
        ck_assert(packet_field(&packet, 2, &field));
        ck_assert_mem_eq(field.data, gzip, sizeof(gzip));
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_descriptors_can_be_left_out) {
        static const uint8_t set[4096] = { 0x0a, 0xfd, 0x1f };
        static const char *const configs[] = {
                CONFIG_ONE("none") "builtin_data_sources { disable_extension_descriptors: true }",
                CONFIG_ONE("none") "write_into_file: true max_file_size_bytes: 8192",
        };

        for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
                FakeConsumer *consumer;
                Bytes trace;

                fixture_init(&f);
                ck_assert_int_eq(
                        service_add_descriptor(f.service, "a.desc", set, sizeof(set), false), 0);
                consumer = fixture_start_session_with(
                        &f,
                        &(SessionOptions){ .owner = { .uid = 1000 }, .has_output = true },
                        configs[i]);
                trace = fixture_read(&f, consumer);
                ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_CONFIG), 1);
                ck_assert_uint_eq(trace_count(&trace, PACKET_EXTENSION_DESCRIPTOR), 0);
                bytes_deinit(&trace);
                fixture_deinit(&f);
        }
}
END_TEST

START_TEST(test_files_that_are_no_descriptors_are_refused) {
        static uint8_t large[SERVICE_DESCRIPTORS_BYTES_MAX] = { 0x0a, 0xfb, 0xff, 0x3f };
        static const uint8_t number[] = { 0x08, 1 };
        static const uint8_t cut[] = { 0x0a, 100, 1 };
        static const uint8_t half_magic[2][19] = { { 0x1f }, { 0, 0x8b } };
        static const uint8_t short_magic[18] = { 0x1f, 0x8b };
        Service *service;

        fixture_init(&f);
        service = f.service;
        ck_assert_int_eq(service_add_descriptor(service, "a", number, sizeof(number), false),
                         SERVICE_E_INVALID);
        ck_assert_int_eq(service_add_descriptor(service, "a", cut, sizeof(cut), false),
                         SERVICE_E_INVALID);
        ck_assert_int_eq(service_add_descriptor(service, "a", cut, 0, false), SERVICE_E_INVALID);
        ck_assert_int_eq(service_add_descriptor(service, "a", cut, sizeof(cut), true),
                         SERVICE_E_INVALID);
        for (size_t i = 0; i < ARRAY_SIZE(half_magic); i++)
                ck_assert_int_eq(service_add_descriptor(
                                         service, "a", half_magic[i], sizeof(half_magic[i]), true),
                                 SERVICE_E_INVALID);
        ck_assert_int_eq(
                service_add_descriptor(service, "a", short_magic, sizeof(short_magic), true),
                SERVICE_E_INVALID);
        ck_assert_int_eq(service_add_descriptor(service, "a", large, sizeof(large) - 1, false), 0);
        large[1]++;
        ck_assert_int_eq(service_add_descriptor(service, "b", large, sizeof(large), false),
                         SERVICE_E_LIMIT);
        fixture_deinit(&f);
}
END_TEST

/*
 * Other sessions
 */

typedef struct ToldEvent {
        uint64_t state, session_id, uid, n_sources, ns;
        char name[32];
} ToldEvent;

static ToldEvent concurrent_at(const Bytes *trace, size_t nth) {
        TestPacket packet = trace_packet(trace, PACKET_CONCURRENT_SESSION_EVENT, nth);
        TestPacket event = message(&packet, PACKET_CONCURRENT_SESSION_EVENT);
        ToldEvent concurrent = {
                .state = packet_uint(&event, 1),
                .session_id = packet_uint(&event, 3),
                .uid = packet_uint(&event, 4),
                .n_sources = packet_uint(&event, 5),
                .ns = packet_uint(&packet, PACKET_TIMESTAMP),
        };
        WireField name;

        ck_assert_uint_eq(packet_uint(&packet, PACKET_SEQUENCE_ID), 1);
        if (packet_field(&event, 2, &name))
                snprintf(concurrent.name,
                         sizeof(concurrent.name),
                         "%.*s",
                         (int)name.n_bytes,
                         name.data);
        return concurrent;
}

static void expect_concurrent(const Bytes *trace,
                              size_t nth,
                              uint64_t state,
                              const char *name,
                              const FakeConsumer *of) {
        ToldEvent concurrent = concurrent_at(trace, nth);

        ck_assert_uint_eq(concurrent.state, state);
        ck_assert_str_eq(concurrent.name, name);
        ck_assert_uint_eq(concurrent.session_id, session_id(of->session));
}

START_TEST(test_session_is_told_what_others_did_beside_it) {
        FakeConsumer *a, *b, *c;
        Bytes trace;

        fixture_init(&f);
        a = fixture_start_session(&f, 0, CURIOUS CONFIG_ONE("none") "unique_session_name: \"a\"");
        fixture_advance(&f, 1 * S);
        b = fixture_start_session(&f, 1001, CONFIG_ONE("none") "unique_session_name: \"b\"");
        fixture_advance(&f, 1 * S);
        fixture_stop_session(&f, b);

        /* A later session is told of those that are there, and since when they are what they are. */
        c = fixture_start_session(&f, 0, CURIOUS CONFIG_ONE("none") "unique_session_name: \"c\"");
        trace = fixture_read(&f, c);
        ck_assert_uint_eq(trace_count(&trace, PACKET_CONCURRENT_SESSION_EVENT), 2);
        expect_concurrent(&trace, 0, 3, "a", a);
        expect_concurrent(&trace, 1, 1, "b", b);
        ck_assert_uint_eq(concurrent_at(&trace, 0).ns + 2 * S, f.now);
        bytes_deinit(&trace);

        fixture_stop_session(&f, c);
        fixture_stop_session(&f, a);
        trace = fixture_read(&f, a);
        ck_assert_uint_eq(trace_count(&trace, PACKET_CONCURRENT_SESSION_EVENT), 6);
        expect_concurrent(&trace, 0, 2, "b", b);
        expect_concurrent(&trace, 1, 3, "b", b);
        expect_concurrent(&trace, 2, 1, "b", b);
        expect_concurrent(&trace, 3, 2, "c", c);
        expect_concurrent(&trace, 4, 3, "c", c);
        expect_concurrent(&trace, 5, 1, "c", c);
        ck_assert_uint_eq(concurrent_at(&trace, 0).uid, 1001);
        ck_assert_uint_eq(concurrent_at(&trace, 0).n_sources, 0);
        ck_assert_uint_eq(concurrent_at(&trace, 2).ns, f.now);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_concurrent_sessions_are_told_only_to_who_asks) {
        FakeConsumer *a, *b;
        Bytes trace;

        fixture_init(&f);
        a = fixture_start_session(&f, 1000, CURIOUS CONFIG_ONE("none"));
        b = fixture_start_session(&f, 1000, CONFIG_ONE("none"));
        fixture_stop_session(&f, a);
        fixture_stop_session(&f, b);
        trace = fixture_read(&f, b);
        ck_assert_uint_eq(trace_count(&trace, PACKET_CONCURRENT_SESSION_EVENT), 0);
        bytes_deinit(&trace);
        trace = fixture_read(&f, a);
        ck_assert_uint_eq(trace_count(&trace, PACKET_CONCURRENT_SESSION_EVENT), 2);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_sessions_of_other_users_are_not_told) {
        const SessionOptions everything = { .owner = { .uid = 1000 },
                                            .scope = SESSION_SCOPE_SYSTEM };
        FakeConsumer *mine, *before, *after;
        Bytes trace;

        fixture_init(&f);
        before = fixture_start_session(&f, 1001, CONFIG_ONE("none"));
        /* Being let to record all programs is not being let to see all sessions. */
        mine = fixture_start_session_with(&f, &everything, CURIOUS CONFIG_ONE("none"));
        after = fixture_start_session(&f, 1001, CONFIG_ONE("none"));
        fixture_stop_session(&f, before);
        fixture_stop_session(&f, after);
        fixture_stop_session(&f, mine);
        trace = fixture_read(&f, mine);
        ck_assert_uint_eq(trace_count(&trace, PACKET_CONCURRENT_SESSION_EVENT), 0);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_session_that_waits_for_its_sources_is_told_as_stopping) {
        FakeProducer *app;
        FakeConsumer *a, *b;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        a = fixture_start_session(&f, 1000, CURIOUS CONFIG_ONE("none"));
        b = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        app->acks_stop = false;
        session_stop(b->session, "requested", f.now);
        fixture_settle(&f);
        /* It goes away as it is. */
        fixture_free_session(b);
        trace = fixture_read(&f, a);
        ck_assert_uint_eq(trace_count(&trace, PACKET_CONCURRENT_SESSION_EVENT), 4);
        ck_assert_uint_eq(concurrent_at(&trace, 1).state, 3);
        ck_assert_uint_eq(concurrent_at(&trace, 1).n_sources, 1);
        ck_assert_uint_eq(concurrent_at(&trace, 2).state, 4);
        ck_assert_uint_eq(concurrent_at(&trace, 3).state, 1);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_events_that_nobody_reads_are_limited) {
        FakeConsumer *a;
        Bytes trace;

        fixture_init(&f);
        a = fixture_start_session(&f, 0, CURIOUS CONFIG_ONE("none"));
        for (unsigned i = 0; i < CONCURRENT_EVENTS_MAX / 2; i++) {
                FakeConsumer *b = fixture_start_session(&f, 1001, CONFIG_ONE("none"));

                fixture_stop_session(&f, b);
                fixture_free_session(b);
                free(f.consumers[--f.n_consumers]);
        }
        trace = fixture_read(&f, a);
        ck_assert_uint_eq(trace_count(&trace, PACKET_CONCURRENT_SESSION_EVENT),
                          CONCURRENT_EVENTS_MAX);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session-contents",
          test_provenance_says_which_sequences_are_in_which_buffer,
          test_provenance_of_a_stream_is_said_again_when_writers_have_come,
          test_stats_have_a_histogram_of_each_writers_chunks,
          test_histograms_can_be_switched_off,
          test_stats_of_many_writers_fit_a_small_file,
          test_sources_that_have_not_started_are_named_after_20_seconds,
          test_all_slow_sources_are_named,
          test_late_sources_are_not_slow_when_all_had_started,
          test_all_have_started_when_the_last_is_given_up,
          test_attributes_and_unknown_fields_of_a_config_are_in_the_trace,
          test_primary_clock_is_what_the_config_says,
          test_descriptors_of_extensions_are_in_the_trace_byte_for_byte,
          test_descriptors_can_be_left_out,
          test_files_that_are_no_descriptors_are_refused,
          test_session_is_told_what_others_did_beside_it,
          test_concurrent_sessions_are_told_only_to_who_asks,
          test_sessions_of_other_users_are_not_told,
          test_session_that_waits_for_its_sources_is_told_as_stopping,
          test_events_that_nobody_reads_are_limited)
