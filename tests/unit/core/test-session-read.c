/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is in a trace: the service's own packets, producers' packets with who they are from, losses, limits. */

#include <stdio.h>

#include "core/events/service-packets.h"
#include "core/model/session.h"
#include "fixture.h"

static Fixture f;

#define PIECE_TEXT 3000

/* Bytes of a known size that no compression of the config could make. */
static const char *long_text(char c) {
        static char text[PIECE_TEXT + 1];

        memset(text, c, PIECE_TEXT);
        return text;
}

static FakeConsumer *
start_with_writer(const char *config, FakeProducer **ret_app, SmbWriter **ret_writer) {
        FakeConsumer *consumer;

        fixture_init(&f);
        *ret_app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, config);
        *ret_writer = fake_writer_new(*ret_app, fake_instance(*ret_app, "track_event"));
        return consumer;
}

START_TEST(test_packets_come_with_who_wrote_them) {
        FakeProducer *app, *other;
        FakeConsumer *consumer;
        SmbWriter *writer, *second, *third;
        TestPacket packet;
        uint64_t sequence;
        Bytes trace;

        consumer = start_with_writer(CONFIG_ONE("track_event"), &app, &writer);
        other = fixture_connect_producer(&f, 1000, "other", "track_event");
        second = fake_writer_new(app, fake_instance(app, "track_event"));
        third = fake_writer_new(other, fake_instance(other, "track_event"));
        fake_write(writer, "a");
        fake_write(second, "b");
        fake_write(third, "c");
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);

        packet = trace_text(&trace, "a");
        ck_assert_uint_eq(packet_uint(&packet, PACKET_TRUSTED_UID), 1000);
        ck_assert_uint_eq(packet_uint(&packet, PACKET_TRUSTED_PID), 1000);
        sequence = packet_uint(&packet, PACKET_SEQUENCE_ID);
        ck_assert_uint_eq(packet_uint(&packet, PACKET_PREVIOUS_DROPPED), 0);
        packet = trace_text(&trace, "b");
        ck_assert_uint_ne(packet_uint(&packet, PACKET_SEQUENCE_ID), sequence);
        ck_assert_uint_gt(packet_uint(&packet, PACKET_SEQUENCE_ID), 1);
        packet = trace_text(&trace, "c");
        ck_assert_uint_eq(packet_uint(&packet, PACKET_TRUSTED_PID), 1001);
        ck_assert_uint_le(packet_uint(&packet, PACKET_SEQUENCE_ID), 4);
        bytes_deinit(&trace);
        free(writer);
        free(second);
        free(third);
        fixture_deinit(&f);
}
END_TEST

/* Whether the nth event of the trace says the pid. */
static bool event_says_pid(const Bytes *trace, size_t nth) {
        TestPacket packet = trace_packet(trace, PACKET_TRACK_EVENT, nth);

        ck_assert_uint_eq(packet_uint(&packet, PACKET_TRUSTED_UID), 1000);
        ck_assert_uint_gt(packet_uint(&packet, PACKET_SEQUENCE_ID), 1);
        return packet_uint(&packet, PACKET_TRUSTED_PID) != 0;
}

START_TEST(test_pid_is_said_when_a_sequence_goes_on_and_with_all_but_events) {
        static const uint8_t event[] = { PACKET_TRACK_EVENT << 3 | 2, 2, 9 << 3, 2 };
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        TestPacket packet;
        Bytes first, second;

        consumer = start_with_writer(CONFIG_ONE("track_event"), &app, &writer);
        fake_write_bytes(writer, event, sizeof(event));
        fake_write_bytes(writer, event, sizeof(event));
        fake_write(writer, "text");
        fake_ring(app);
        first = fixture_read(&f, consumer);
        ck_assert(event_says_pid(&first, 0));
        ck_assert(!event_says_pid(&first, 1));
        packet = trace_text(&first, "text");
        ck_assert_uint_eq(packet_uint(&packet, PACKET_TRUSTED_PID), 1000);

        /* Somebody may read from the next marker on. */
        fake_write_bytes(writer, event, sizeof(event));
        fake_write_bytes(writer, event, sizeof(event));
        fake_write(writer, "more");
        fixture_stop_session(&f, consumer);
        second = fixture_read(&f, consumer);
        ck_assert(event_says_pid(&second, 0));
        ck_assert(!event_says_pid(&second, 1));
        bytes_deinit(&first);
        bytes_deinit(&second);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_service_says_what_was_recorded_where) {
        static const uint32_t order[] = {
                PACKET_CLOCK_SNAPSHOT,   PACKET_TRACE_CONFIG, PACKET_TRACE_UUID,
                PACKET_TRACE_PROVENANCE, PACKET_SYSTEM_INFO,  PACKET_SERVICE_EVENT,
                900 /* the app's */,     PACKET_TRACE_STATS,
        };
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        TestPacket packet;
        size_t at = 0, step = 0;
        Bytes trace;

        consumer = start_with_writer(CONFIG_ONE("track_event"), &app, &writer);
        fake_write(writer, "a");
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        while (trace_next(&trace, &at, &packet)) {
                WireField field;

                while (step < ARRAY_SIZE(order) && !packet_field(&packet, order[step], &field)) {
                        /* Events come in several packets, and once more behind the data. */
                        if (packet_field(&packet, PACKET_SERVICE_EVENT, &field))
                                break;
                        step++;
                }
                ck_assert_uint_lt(step, ARRAY_SIZE(order));
                if (packet_field(&packet, 900, &field))
                        continue;
                ck_assert_uint_eq(packet_uint(&packet, PACKET_TRUSTED_UID), 990);
                ck_assert_uint_eq(packet_uint(&packet, PACKET_SEQUENCE_ID), 1);
        }
        for (size_t i = 0; i < ARRAY_SIZE(order); i++)
                ck_assert_uint_ge(trace_count(&trace, order[i]), 1);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_CONFIG), 1);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_STATS), 1);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_lifecycle_events_are_said_in_time) {
        FakeProducer *app;
        FakeConsumer *consumer;
        uint64_t begun, started, all_started, flushed, disabled, completed;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        app->acks_start = false;
        begun = f.now;
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        fixture_advance(&f, 2 * S);
        producer_source_started(app->producer, fake_instance(app, "track_event")->id, f.now);
        fixture_advance(&f, 1 * S);
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert(trace_has_event(&trace, EVENT_TRACING_STARTED, &started));
        ck_assert(trace_has_event(&trace, EVENT_ALL_SOURCES_STARTED, &all_started));
        ck_assert(trace_has_event(&trace, EVENT_ALL_SOURCES_FLUSHED, &flushed));
        ck_assert(trace_has_event(&trace, EVENT_TRACING_DISABLED, &disabled));
        ck_assert(trace_has_event(&trace, EVENT_READ_COMPLETED, &completed));
        ck_assert_uint_eq(started, begun);
        ck_assert_uint_eq(all_started, begun + 2 * S);
        ck_assert_uint_eq(flushed, begun + 3 * S);
        ck_assert_uint_eq(disabled, begun + 3 * S);
        ck_assert_uint_ge(completed, disabled);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_config_is_echoed_and_passed_on_byte_for_byte_with_unknown_fields) {
        /* buffers { size_kb: 256 } data_sources { config { name: "track_event" 777: "mine" } } 2000: 7 */
        static const uint8_t source[] = { 0x0a, 11,  't', 'r',  'a',  'c', 'k', '_', 'e', 'v',
                                          'e',  'n', 't', 0xca, 0x30, 4,   'm', 'i', 'n', 'e' };
        const SessionOptions options = { .owner = { .uid = 1000 } };
        uint8_t bytes[128];
        FakeConsumer consumer = {};
        FakeProducer *app;
        FakeInstance *instance;
        WireWriter writer;
        WireField field;
        TestPacket packet;
        Config *config;
        ConfigError error;
        size_t outer, inner;
        bool more;
        Bytes trace = {};

        wire_writer_init(&writer, bytes, sizeof(bytes));
        outer = wire_begin(&writer, 1);
        wire_put_uint(&writer, 1, 256);
        wire_end(&writer, outer);
        outer = wire_begin(&writer, 2);
        inner = wire_begin(&writer, 1);
        wire_put_raw(&writer, source, sizeof(source));
        wire_end(&writer, inner);
        wire_end(&writer, outer);
        wire_put_uint(&writer, 2000, 7);
        ck_assert_int_eq(config_new_from_bytes(&config, bytes, wire_writer_size(&writer), &error),
                         0);

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        ck_assert_int_eq(session_new(&consumer.session,
                                     f.service,
                                     config,
                                     &options,
                                     &(SessionOps){},
                                     &consumer,
                                     &consumer.error,
                                     f.now),
                         0);
        ck_assert_int_eq(session_read(consumer.session, 1 << 20, &trace, &more, f.now), 0);
        packet = trace_packet(&trace, PACKET_TRACE_CONFIG, 0);
        ck_assert(packet_field(&packet, PACKET_TRACE_CONFIG, &field));
        ck_assert_uint_eq(field.n_bytes, wire_writer_size(&writer));
        ck_assert_mem_eq(field.data, bytes, field.n_bytes);

        instance = fake_instance(app, "track_event");
        ck_assert_uint_gt(instance->n_config, sizeof(source));
        ck_assert_mem_eq(instance->config, source, sizeof(source));
        packet = (TestPacket){ instance->config, instance->n_config };
        ck_assert_uint_gt(packet_uint(&packet, 2), 0);
        ck_assert_uint_eq(packet_uint(&packet, 4), session_id(consumer.session));
        ck_assert_uint_eq(packet_uint(&packet, 7), SESSION_STOP_TIMEOUT_NS / MS);
        bytes_deinit(&trace);
        session_free(consumer.session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_clock_snapshots_at_start_and_when_clocks_drift) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        Bytes trace;

        consumer = start_with_writer(CONFIG_ONE("track_event"), &app, &writer);
        fixture_advance(&f, 25 * S); /* two periods without drift */
        f.skew_ns = 20 * MS;
        fixture_advance(&f, 10 * S);
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_CLOCK_SNAPSHOT), 2);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_builtin_packets_can_be_switched_off) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        Bytes trace;

        consumer = start_with_writer(
                CONFIG_ONE(
                        "track_event") "builtin_data_sources { "
                                       "disable_clock_snapshotting: true disable_trace_config: "
                                       "true "
                                       "disable_system_info: true disable_service_events: true }",
                &app,
                &writer);
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_CLOCK_SNAPSHOT), 0);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_CONFIG), 0);
        ck_assert_uint_eq(trace_count(&trace, PACKET_SYSTEM_INFO), 0);
        ck_assert_uint_eq(trace_count(&trace, PACKET_SERVICE_EVENT), 0);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_UUID), 1);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_STATS), 1);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_uuid_is_the_configs_or_random) {
        static const char *const configs[] = {
                CONFIG_ONE("track_event"),
                CONFIG_ONE("track_event") "trace_uuid_msb: 17 trace_uuid_lsb: -2",
        };
        static const uint64_t uuids[][2] = {
                { UINT64_C(0x5a5a5a5a5a5a5a5a), UINT64_C(0x5a5a5a5a5a5a5a5a) },
                { 17, UINT64_MAX - 1 },
        };

        for (size_t i = 0; i < 2; i++) {
                FakeConsumer *consumer;
                TestPacket packet, uuid;
                WireField field;
                Bytes trace;

                fixture_init(&f);
                consumer = fixture_start_session(&f, 1000, configs[i]);
                trace = fixture_read(&f, consumer);
                packet = trace_packet(&trace, PACKET_TRACE_UUID, 0);
                ck_assert(packet_field(&packet, PACKET_TRACE_UUID, &field));
                uuid = (TestPacket){ field.data, field.n_bytes };
                ck_assert_uint_eq(packet_uint(&uuid, 1), uuids[i][0]);
                ck_assert_uint_eq(packet_uint(&uuid, 2), uuids[i][1]);
                bytes_deinit(&trace);
                fixture_deinit(&f);
        }
}
END_TEST

START_TEST(test_forged_and_malformed_packets_are_dropped_and_counted) {
        static const uint8_t uid[] = { PACKET_TRUSTED_UID << 3, 0 };
        static const uint8_t marker[] = { 0xa2, 0x02, 1, 'x' };
        static const uint8_t truncated[] = { 0x0a, 100, 1 };
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        TestPacket packet, stats;
        SessionTotals totals;
        WireField field;
        Bytes trace;

        consumer = start_with_writer(CONFIG_ONE("track_event"), &app, &writer);
        fake_write_bytes(writer, uid, sizeof(uid));
        fake_write_bytes(writer, marker, sizeof(marker));
        fake_write_bytes(writer, truncated, sizeof(truncated));
        fake_write(writer, "honest");
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "honest"), 1);
        ck_assert_uint_eq(trace_count(&trace, PACKET_SYNCHRONIZATION_MARKER), 0);
        packet = trace_packet(&trace, PACKET_TRACE_STATS, 0);
        ck_assert(packet_field(&packet, PACKET_TRACE_STATS, &field));
        stats = (TestPacket){ field.data, field.n_bytes };
        ck_assert_uint_eq(packet_uint(&stats, 10), 3);
        session_totals(consumer->session, &totals);
        ck_assert_uint_eq(totals.packets_lost, 3);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_read_is_cut_between_packets_and_goes_on) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        Bytes trace = {};
        bool more = true;
        unsigned n_reads;

        consumer = start_with_writer(CONFIG_ONE("track_event"), &app, &writer);
        for (unsigned i = 0; i < 10; i++)
                fake_write(writer, long_text('x'));
        fixture_stop_session(&f, consumer);
        for (n_reads = 0; more; n_reads++) {
                size_t before = trace.n;

                ck_assert_int_eq(session_read(consumer->session, 4000, &trace, &more, f.now), 0);
                ck_assert_uint_le(trace.n - before, 4000 + PIECE_TEXT + 2000);
        }
        ck_assert_uint_ge(n_reads, 5);
        ck_assert_uint_eq(trace_count_text(&trace, long_text('x')), 10);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_CONFIG), 1);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_reading_while_recording_takes_each_packet_once) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        Bytes first, second;

        consumer = start_with_writer(CONFIG_ONE("track_event"), &app, &writer);
        fake_write(writer, "one");
        fake_ring(app);
        first = fixture_read(&f, consumer);
        fake_write(writer, "two");
        fixture_stop_session(&f, consumer);
        second = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&first, "one"), 1);
        ck_assert_uint_eq(trace_count(&first, PACKET_TRACE_STATS), 0);
        ck_assert_uint_eq(trace_count_text(&second, "one"), 0);
        ck_assert_uint_eq(trace_count_text(&second, "two"), 1);
        ck_assert_uint_eq(trace_count(&second, PACKET_TRACE_CONFIG), 0);
        ck_assert_uint_eq(trace_count(&second, PACKET_TRACE_STATS), 1);
        bytes_deinit(&first);
        bytes_deinit(&second);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_idle_reads_are_empty) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        Bytes trace;

        consumer = start_with_writer(CONFIG_ONE("track_event"), &app, &writer);
        trace = fixture_read(&f, consumer);
        bytes_deinit(&trace);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace.n, 0);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

/* Ten times more than the buffer holds. */
static void overfill(SmbWriter *writer, FakeProducer *app) {
        char text[PIECE_TEXT + 1];

        for (unsigned i = 0; i < 900; i++) {
                memcpy(text, long_text('x'), sizeof(text));
                text[snprintf(text, 10, "%05u", i)] = '.';
                fake_write(writer, text);
                fake_ring(app);
                fixture_advance(&f, 10 * MS);
        }
}

START_TEST(test_ring_keeps_the_newest_and_marks_the_loss) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        const TraceBufferStats *stats;
        TestPacket packet;
        SessionTotals totals;
        Bytes trace;

        consumer = start_with_writer(CONFIG_ONE("track_event"), &app, &writer);
        overfill(writer, app);
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        packet = trace_packet(&trace, 900, 0);
        ck_assert_uint_ne(packet_uint(&packet, PACKET_PREVIOUS_DROPPED) & LOSS_OVERWRITE, 0);
        ck_assert_int_ne(memcmp(packet.data + 4, "00000", 5), 0);
        ck_assert_uint_gt(trace_count(&trace, 900), 20);
        stats = session_buffer_stats(consumer->session, 0);
        ck_assert_uint_eq(stats->chunks_overwritten + trace_count(&trace, 900), 900);
        session_totals(consumer->session, &totals);
        ck_assert_uint_eq(totals.chunks_lost, 0); /* that is what a ring is for */
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

/* A chunk with one fragment, as a Perfetto producer may leave it. */
static void put_chunk(Session *session, uint32_t id, uint8_t flags, const char *payload) {
        ChunkOrigin origin = { .producer_id = 1, .writer_id = 9, .identity = { .uid = 1000 } };
        ChunkData data = {
                .chunk_id = id,
                .n_fragments = 1,
                .flags = flags,
                .complete = true,
                .payload = payload,
                .n_payload = strlen(payload),
        };

        ck_assert_int_eq(trace_buffer_put(session->buffers[0].buffer, &origin, &data), 0);
}

START_TEST(test_stopped_session_waits_for_no_patch) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        TestPacket packet;
        Bytes trace;

        consumer = start_with_writer(CONFIG_ONE("track_event"), &app, &writer);
        put_chunk(consumer->session,
                  0,
                  SMB_CHUNK_TO_BE_CONTINUED | SMB_CHUNK_NEEDS_PATCHING,
                  "\4\xa2\x38\1z");
        put_chunk(consumer->session, 1, SMB_CHUNK_CONTINUES, "\4\xa2\x38\1z");
        put_chunk(consumer->session, 2, 0, "\4\xa2\x38\1b");
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, 900), 0);
        bytes_deinit(&trace);

        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, 900), 1);
        packet = trace_text(&trace, "b");
        ck_assert_uint_eq(packet_uint(&packet, PACKET_PREVIOUS_DROPPED),
                          LOSS_PRESENT | LOSS_ORPHAN_CONTINUATION | LOSS_REASSEMBLY_GAP);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_discard_keeps_the_oldest_and_counts_the_rest) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        TestPacket packet;
        SessionTotals totals;
        WireField field;
        Bytes trace;

        consumer = start_with_writer("buffers { size_kb: 256 fill_policy: DISCARD } "
                                     "data_sources { config { name: \"track_event\" } }",
                                     &app,
                                     &writer);
        overfill(writer, app);
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        packet = trace_packet(&trace, 900, 0);
        ck_assert(packet_field(&packet, 900, &field));
        ck_assert_mem_eq(field.data, "00000", 5);
        session_totals(consumer->session, &totals);
        ck_assert_uint_gt(totals.chunks_lost, 0);
        ck_assert_uint_eq(totals.chunks_lost + trace_count(&trace, 900), 900);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_producers_own_loss_mark_is_kept_with_ours) {
        static const uint8_t marked[] = {
                0xd0, 0x02, 0x81, 0x02, 0xa2, 0x38, 1, 'm'
        }; /* 42: 257, 900: "m" */
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        TestPacket packet;
        Bytes trace;

        consumer = start_with_writer(CONFIG_ONE("track_event"), &app, &writer);
        fake_write(writer, "a");
        writer->next_chunk_id += 5; /* chunks that never come */
        fake_write_bytes(writer, marked, sizeof(marked));
        smb_writer_flush(writer);
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        packet = trace_text(&trace, "m");
        ck_assert_uint_eq(packet_uint(&packet, PACKET_PREVIOUS_DROPPED) & 257, 257);
        ck_assert_uint_gt(packet_uint(&packet, PACKET_PREVIOUS_DROPPED), 257);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_buffers_are_kept_apart_and_read_in_order) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *first, *second;
        TestPacket packet;
        size_t at = 0;
        WireField field;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "one");
        fixture_add_source(app, "two", &(SourceOptions){});
        consumer = fixture_start_session(
                &f,
                1000,
                "buffers { size_kb: 256 name: \"main\" } buffers { size_kb: 512 name: \"side\" } "
                "data_sources { config { name: \"one\" target_buffer: 1 } } "
                "data_sources { config { name: \"two\" target_buffer_name: \"main\" } }");
        first = fake_writer_new(app, fake_instance(app, "one"));
        second = fake_writer_new(app, fake_instance(app, "two"));
        fake_write(first, "in the side buffer");
        fake_write(second, "in the main buffer");
        fixture_stop_session(&f, consumer);
        ck_assert_uint_eq(session_n_buffers(consumer->session), 2);
        ck_assert_str_eq(session_buffer_name(consumer->session, 1), "side");
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->chunks_written, 1);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 1)->chunks_written, 1);
        trace = fixture_read(&f, consumer);
        while (trace_next(&trace, &at, &packet))
                if (packet_field(&packet, 900, &field))
                        break;
        ck_assert_mem_eq(field.data, "in the main buffer", field.n_bytes);
        ck_assert_uint_eq(trace_count_text(&trace, "in the side buffer"), 1);
        bytes_deinit(&trace);
        free(first);
        free(second);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_stats_say_what_the_buffers_saw) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        TestPacket packet, stats, buffer;
        WireField field;
        Bytes trace;

        consumer = start_with_writer(CONFIG_ONE("track_event"), &app, &writer);
        fake_write(writer, "a");
        fake_write(writer, "b");
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        packet = trace_packet(&trace, PACKET_TRACE_STATS, 0);
        ck_assert(packet_field(&packet, PACKET_TRACE_STATS, &field));
        stats = (TestPacket){ field.data, field.n_bytes };
        ck_assert_uint_eq(packet_uint(&stats, 2), 1);  /* producers_connected */
        ck_assert_uint_eq(packet_uint(&stats, 6), 1);  /* tracing_sessions */
        ck_assert_uint_eq(packet_uint(&stats, 12), 1); /* flushes_requested */
        ck_assert_uint_eq(packet_uint(&stats, 13), 1); /* flushes_succeeded */
        ck_assert_uint_eq(packet_uint(&stats, 15), 1); /* final_flush_outcome */
        ck_assert(packet_field(&stats, 1, &field));
        buffer = (TestPacket){ field.data, field.n_bytes };
        ck_assert_uint_eq(packet_uint(&buffer, 2), 2);  /* chunks_written */
        ck_assert_uint_eq(packet_uint(&buffer, 17), 2); /* chunks_read */
        ck_assert_uint_ge(packet_uint(&buffer, 12), 256 << 10);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_dropped_packets_of_producers_are_counted) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        SessionTotals totals;
        unsigned n_dropped = 0;

        consumer = start_with_writer(
                CONFIG_ONE("track_event") "producers { producer_name: \"app\" shm_size_kb: 16 }",
                &app,
                &writer);
        ck_assert_uint_eq(app->pages_bytes, 16 << 10);
        for (unsigned i = 0; i < 20; i++) {
                uint8_t packet[3500] = { 0xa2, 0x38, 0xa8, 0x1b };

                n_dropped += smb_writer_write(writer, packet, sizeof(packet)) == SMB_WRITER_E_FULL;
        }
        ck_assert_uint_gt(n_dropped, 10);
        session_totals(consumer->session, &totals);
        ck_assert_uint_eq(totals.packets_lost, n_dropped);
        fixture_disconnect_producer(app);
        session_totals(consumer->session, &totals);
        ck_assert_uint_eq(totals.packets_lost, n_dropped);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session-read",
          test_packets_come_with_who_wrote_them,
          test_pid_is_said_when_a_sequence_goes_on_and_with_all_but_events,
          test_service_says_what_was_recorded_where,
          test_lifecycle_events_are_said_in_time,
          test_config_is_echoed_and_passed_on_byte_for_byte_with_unknown_fields,
          test_clock_snapshots_at_start_and_when_clocks_drift,
          test_builtin_packets_can_be_switched_off,
          test_uuid_is_the_configs_or_random,
          test_forged_and_malformed_packets_are_dropped_and_counted,
          test_a_read_is_cut_between_packets_and_goes_on,
          test_reading_while_recording_takes_each_packet_once,
          test_idle_reads_are_empty,
          test_ring_keeps_the_newest_and_marks_the_loss,
          test_stopped_session_waits_for_no_patch,
          test_discard_keeps_the_oldest_and_counts_the_rest,
          test_producers_own_loss_mark_is_kept_with_ours,
          test_buffers_are_kept_apart_and_read_in_order,
          test_stats_say_what_the_buffers_saw,
          test_dropped_packets_of_producers_are_counted)
