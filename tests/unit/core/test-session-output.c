/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sessions with an output: when a piece is due, how the stream can be found again, where a file ends. */

#include <stdio.h>

#include "core/events/service-packets.h"
#include "fixture.h"

static Fixture f;

#define PIECE_TEXT 3000

static const char *long_text(char c) {
        static char text[PIECE_TEXT + 1];

        memset(text, c, PIECE_TEXT);
        return text;
}

static FakeConsumer *
start_streaming(const char *config, FakeProducer **ret_app, SmbWriter **ret_writer) {
        const SessionOptions options = { .owner = { .uid = 1000 }, .has_output = true };
        FakeConsumer *consumer;

        fixture_init(&f);
        *ret_app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session_with(&f, &options, config);
        *ret_writer = fake_writer_new(*ret_app, fake_instance(*ret_app, "track_event"));
        return consumer;
}

START_TEST(test_output_is_due_each_period_and_at_the_end) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;

        consumer = start_streaming(
                CONFIG_ONE("track_event") "write_into_file: true file_write_period_ms: 1000",
                &app,
                &writer);
        fixture_advance(&f, 3500 * MS);
        ck_assert_uint_eq(consumer->n_outputs, 3);
        ck_assert_uint_eq(app->n_flushes, 0);
        fixture_advance(&f, 2 * S); /* often: flushed every five seconds, beside it */
        ck_assert_uint_eq(app->n_flushes, 1);
        fixture_stop_session(&f, consumer);
        ck_assert_uint_eq(consumer->n_outputs, 6);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_seldom_output_flushes_first) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;

        consumer = start_streaming(
                CONFIG_ONE("track_event") "write_into_file: true file_write_period_ms: 8000",
                &app,
                &writer);
        app->acks_flush = false;
        fixture_advance(&f, 9 * S);
        ck_assert_uint_eq(app->n_flushes, 1);
        ck_assert_uint_eq(consumer->n_outputs, 0);
        producer_flushed(app->producer, app->flush_id, f.now);
        ck_assert_uint_eq(consumer->n_outputs, 1);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_other_flushes_do_not_make_output_due) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;

        consumer = start_streaming(
                CONFIG_ONE("track_event") "write_into_file: true file_write_period_ms: 8000 "
                                          "flush_period_ms: 1000",
                &app,
                &writer);
        fixture_advance(&f, 7500 * MS);
        ck_assert_uint_eq(app->n_flushes, 7);
        ck_assert_uint_eq(consumer->n_outputs, 0);
        app->acks_flush = false; /* the next one is still out when the output is due */
        fixture_advance(&f, 1 * S);
        ck_assert_uint_eq(consumer->n_outputs, 0);
        producer_flushed(app->producer, app->flush_id, f.now);
        ck_assert_uint_eq(consumer->n_outputs, 1);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

static void on_asked(void *userdata, int outcome) {
}

START_TEST(test_output_that_cannot_flush_first_is_due_at_once_and_not_again) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;

        consumer = start_streaming(
                CONFIG_ONE("track_event") "write_into_file: true file_write_period_ms: 8000 "
                                          "flush_period_ms: 9000",
                &app,
                &writer);
        app->acks_flush = false;
        for (unsigned i = 0; i < SESSION_FLUSHES_MAX; i++)
                ck_assert_int_eq(session_flush(consumer->session, 60 * S, 0, on_asked, NULL, f.now),
                                 0);
        fixture_advance(&f, 8 * S);
        ck_assert_uint_eq(consumer->n_outputs, 1);
        producer_flushed(app->producer, app->flush_id, f.now);
        app->acks_flush = true;
        fixture_advance(
                &f, 4 * S); /* the next flush by the clock is nothing that an output waits for */
        ck_assert_uint_eq(consumer->n_outputs, 1);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_output_that_does_not_stream_is_due_once) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;

        consumer = start_streaming(CONFIG_ONE("track_event"), &app, &writer);
        fixture_advance(&f, 30 * S);
        ck_assert_uint_eq(consumer->n_outputs, 0);
        fixture_stop_session(&f, consumer);
        ck_assert_uint_eq(consumer->n_outputs, 1);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_streams_have_markers_to_find_the_way_back) {
        static const uint8_t marker[] = { 0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba,
                                          0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79 };
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        TestPacket packet;
        Bytes trace, rest;

        consumer =
                start_streaming(CONFIG_ONE("track_event") "write_into_file: true", &app, &writer);
        fake_write(writer, "before the marker");
        fixture_advance(&f, 11 * S);
        fake_write(writer, "after the marker");
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        packet = trace_packet(&trace, PACKET_SYNCHRONIZATION_MARKER, 0);
        ck_assert_mem_eq(packet.data + packet.n - sizeof(marker), marker, sizeof(marker));
        rest = (Bytes){ .data = (uint8_t *)packet.data + packet.n,
                        .n = (size_t)(trace.data + trace.n - packet.data) - packet.n };
        ck_assert_uint_eq(trace_count_text(&rest, "after the marker"), 1);
        ck_assert_uint_ge(trace_count(&rest, PACKET_CLOCK_SNAPSHOT), 1);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_what_a_ring_forgets_before_it_is_written_out_is_lost) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        SessionTotals totals;

        consumer =
                start_streaming(CONFIG_ONE("track_event") "write_into_file: true", &app, &writer);
        for (int i = 0; i < 1000; i++) {
                fake_write(writer, long_text('x'));
                fake_ring(app);
        }
        session_totals(consumer->session, &totals);
        ck_assert_uint_gt(totals.chunks_lost, 0);
        ck_assert_uint_eq(totals.chunks_lost,
                          session_buffer_stats(consumer->session, 0)->chunks_overwritten);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

/* Reads to the end, in pieces; returns what is new. */
static Bytes read_on(FakeConsumer *consumer) {
        Bytes trace = {};
        bool more = true;

        while (more)
                ck_assert_int_eq(session_read(consumer->session, 4000, &trace, &more, f.now), 0);
        return trace;
}

START_TEST(test_full_output_stops_the_session_and_gets_only_the_end) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        Bytes trace = {};
        bool more;

        consumer = start_streaming(
                CONFIG_ONE("track_event") "write_into_file: true max_file_size_bytes: 20000",
                &app,
                &writer);
        for (unsigned i = 0; i < 10; i++)
                fake_write(writer, long_text('x'));
        fake_ring(app);
        ck_assert_int_eq(session_read(consumer->session, 4000, &trace, &more, f.now), 0);
        ck_assert(more);
        bytes_deinit(&trace);
        session_output_full(consumer->session, f.now);
        fixture_settle(&f);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        ck_assert_str_eq(session_stop_reason(consumer->session), "max-file-size");
        trace = read_on(consumer);
        ck_assert_uint_eq(trace_count_text(&trace, long_text('x')), 0);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_STATS), 1);
        ck_assert(trace_has_event(&trace, EVENT_TRACING_DISABLED, NULL));
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_end_is_said_again_when_there_was_no_room_for_it) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        Bytes trace;

        consumer =
                start_streaming(CONFIG_ONE("track_event") "write_into_file: true", &app, &writer);
        fixture_stop_session(&f, consumer);
        trace = read_on(consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_STATS), 1);
        bytes_deinit(&trace);
        trace = read_on(consumer);
        ck_assert_uint_eq(trace.n, 0);
        session_output_full(consumer->session, f.now);
        trace = read_on(consumer);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_STATS), 1);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

/* What is told before an event is flushed before each write, beside the writes, or not at all. */
START_TEST(test_flushes_are_as_the_write_mode_says) {
        static const struct {
                const char *config;
                unsigned n_flushes; /* in 17 seconds */
        } cases[] = {
                { "file_write_period_ms: 1000", 3 },
                { "file_write_period_ms: 1000 write_flush_mode: WRITE_FLUSH_UNSPECIFIED", 3 },
                { "file_write_period_ms: 1000 write_flush_mode: WRITE_FLUSH_AUTO", 3 },
                { "file_write_period_ms: 5000 write_flush_mode: WRITE_FLUSH_AUTO", 3 },
                { "file_write_period_ms: 8000 write_flush_mode: WRITE_FLUSH_AUTO", 2 },
                { "file_write_period_ms: 1000 write_flush_mode: WRITE_FLUSH_ENABLED", 17 },
                { "file_write_period_ms: 8000 write_flush_mode: WRITE_FLUSH_ENABLED", 2 },
                { "file_write_period_ms: 1000 write_flush_mode: WRITE_FLUSH_DISABLED", 0 },
                { "file_write_period_ms: 8000 write_flush_mode: WRITE_FLUSH_DISABLED", 0 },
                { "file_write_period_ms: 1000 write_flush_mode: WRITE_FLUSH_DISABLED "
                  "flush_period_ms: 2000",
                  8 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char config[512];
                FakeProducer *app;
                SmbWriter *writer;

                snprintf(config,
                         sizeof(config),
                         CONFIG_ONE("track_event") "write_into_file: true %s",
                         cases[i].config);
                start_streaming(config, &app, &writer);
                fixture_advance(&f, 17500 * MS);
                ck_assert_msg(app->n_flushes == cases[i].n_flushes,
                              "%s: %u flushes",
                              cases[i].config,
                              app->n_flushes);
                free(writer);
                fixture_deinit(&f);
        }
}
END_TEST

START_TEST(test_write_periods_have_a_default_and_a_least) {
        static const struct {
                const char *config;
                unsigned n_outputs; /* in 10 seconds and a bit */
        } cases[] = {
                { "", 2 },
                { "file_write_period_ms: 0", 2 },
                { "file_write_period_ms: 1", 100 },
                { "file_write_period_ms: 2500", 4 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char config[512];
                FakeConsumer *consumer;
                FakeProducer *app;
                SmbWriter *writer;

                snprintf(config,
                         sizeof(config),
                         CONFIG_ONE("track_event") "write_into_file: true %s",
                         cases[i].config);
                consumer = start_streaming(config, &app, &writer);
                fixture_advance(&f, 10050 * MS);
                ck_assert_uint_eq(consumer->n_outputs, cases[i].n_outputs);
                free(writer);
                fixture_deinit(&f);
        }
}
END_TEST

/* Several pieces, with what marks them; the app writes before each marker. */
static Bytes
record_pieces(FakeConsumer *consumer, FakeProducer *app, SmbWriter *writer, unsigned n_pieces) {
        Bytes trace = {};

        for (unsigned i = 0; i < n_pieces; i++) {
                Bytes piece;

                fake_write(writer, long_text('x'));
                fake_ring(app);
                fixture_advance(&f, 10 * S);
                piece = read_on(consumer);
                ck_assert_int_eq(bytes_append(&trace, piece.data, piece.n), 0);
                bytes_deinit(&piece);
        }
        return trace;
}

START_TEST(test_stream_cut_behind_any_marker_is_traces_that_make_the_whole) {
        size_t at = 0, cut = 0, n_packets = 0, n_cuts = 0;
        FakeConsumer *consumer;
        FakeProducer *app;
        SmbWriter *writer;
        TestPacket packet;
        Bytes trace;

        consumer =
                start_streaming(CONFIG_ONE("track_event") "write_into_file: true", &app, &writer);
        trace = record_pieces(consumer, app, writer, 5);
        while (trace_next(&trace, &at, &packet)) {
                WireField field;
                Bytes part;

                n_packets++;
                if (!packet_field(&packet, PACKET_SYNCHRONIZATION_MARKER, &field))
                        continue;
                /* From the last cut to here, and from here on: both are traces. */
                part = (Bytes){ .data = trace.data + cut, .n = at - cut };
                n_packets -= trace_count(&part, PACKET_SEQUENCE_ID);
                ck_assert_uint_eq(n_packets, 0);
                part = (Bytes){ .data = trace.data + at, .n = trace.n - at };
                ck_assert_uint_ge(trace_count(&part, PACKET_CLOCK_SNAPSHOT), 1);
                ck_assert_ptr_eq(packet.data + packet.n, trace.data + at);
                cut = at;
                n_cuts++;
        }
        ck_assert_uint_ge(n_cuts, 4);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_producers_start_over_at_markers_unless_nothing_was_recorded) {
        FakeConsumer *consumer;
        FakeProducer *app;
        SmbWriter *writer;
        Bytes trace;

        consumer =
                start_streaming(CONFIG_ONE("track_event") "write_into_file: true", &app, &writer);
        fixture_advance(&f, 35 * S);
        ck_assert_uint_eq(fake_instance(app, "track_event")->n_clears, 0);
        trace = record_pieces(consumer, app, writer, 2);
        ck_assert_uint_eq(trace_count(&trace, PACKET_SYNCHRONIZATION_MARKER), 2);
        bytes_deinit(&trace);
        ck_assert_uint_eq(fake_instance(app, "track_event")->n_clears, 2);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_marker_is_the_first_packet_of_a_read) {
        FakeConsumer *consumer;
        FakeProducer *app;
        SmbWriter *writer;
        TestPacket first;
        size_t at = 0;
        Bytes trace;

        consumer =
                start_streaming(CONFIG_ONE("track_event") "write_into_file: true", &app, &writer);
        fake_write(writer, "event");
        fixture_advance(&f, 11 * S);
        trace = read_on(consumer);
        ck_assert(trace_next(&trace, &at, &first));
        ck_assert_ptr_eq(trace_packet(&trace, PACKET_SYNCHRONIZATION_MARKER, 0).data, first.data);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_half_full_buffer_is_written_before_its_period) {
        FakeConsumer *consumer;
        FakeProducer *app;
        SmbWriter *writer;
        SessionTotals totals;

        consumer = start_streaming(
                CONFIG_ONE("track_event") "write_into_file: true file_write_period_ms: 60000",
                &app,
                &writer);
        for (unsigned i = 0; i < 1000; i++) {
                Bytes piece = {};
                bool more = true;

                fake_write(writer, long_text('x'));
                if (!fake_ring(app))
                        fixture_advance(&f, 10 * MS);
                if (consumer->n_outputs == 0)
                        continue;
                consumer->n_outputs = 0;
                while (more)
                        ck_assert_int_eq(
                                session_read(consumer->session, 65536, &piece, &more, f.now), 0);
                ck_assert_uint_ge(piece.n, (size_t)(100 << 10));
                bytes_deinit(&piece);
        }
        session_totals(consumer->session, &totals);
        ck_assert_uint_eq(totals.chunks_lost, 0);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_full_buffer_that_does_not_stream_waits_for_its_reader) {
        FakeConsumer *consumer;
        FakeProducer *app;
        SmbWriter *writer;

        consumer = start_streaming(CONFIG_ONE("track_event"), &app, &writer);
        for (unsigned i = 0; i < 200; i++) {
                fake_write(writer, long_text('x'));
                fixture_advance(&f, 10 * MS);
        }
        ck_assert_uint_eq(consumer->n_outputs, 0);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_clone_of_a_stream_has_what_was_not_written_yet) {
        FakeConsumer *consumer, *clone;
        FakeProducer *app;
        SmbWriter *writer;
        Bytes trace;

        consumer =
                start_streaming(CONFIG_ONE("track_event") "write_into_file: true", &app, &writer);
        fake_write(writer, "written");
        fixture_advance(&f, 6 * S);
        trace = read_on(consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "written"), 1);
        bytes_deinit(&trace);
        fake_write(writer, "not written");
        clone = fixture_clone(&f, consumer);
        trace = fixture_read(&f, clone);
        ck_assert_uint_eq(trace_count_text(&trace, "written"), 0);
        ck_assert_uint_eq(trace_count_text(&trace, "not written"), 1);
        bytes_deinit(&trace);
        trace = read_on(consumer); /* and the stream loses nothing */
        ck_assert_uint_eq(trace_count_text(&trace, "not written"), 1);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_clone_of_a_stream_before_its_first_write_tells_its_life) {
        FakeConsumer *consumer, *clone;
        FakeProducer *app;
        SmbWriter *writer;
        Bytes trace;

        consumer =
                start_streaming(CONFIG_ONE("track_event") "write_into_file: true", &app, &writer);
        fixture_advance(&f, 100 * MS);
        clone = fixture_clone(&f, consumer);
        trace = fixture_read(&f, clone);
        ck_assert(trace_has_event(&trace, EVENT_TRACING_STARTED, NULL));
        ck_assert(trace_has_event(&trace, EVENT_ALL_SOURCES_STARTED, NULL));
        ck_assert(trace_has_event(&trace, EVENT_FLUSH_STARTED, NULL));
        ck_assert(trace_has_event(&trace, EVENT_CLONE_STARTED, NULL));
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_CONFIG), 1);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_STATS), 1);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

/* What the config in the trace says, as readers take it: the last one counts. */
static uint64_t told_flush_period(const Bytes *trace) {
        const TestPacket packet = trace_packet(trace, 33, 0);
        uint64_t period = 0;
        WireReader reader;
        WireField config;

        ck_assert(packet_field(&packet, 33, &config));
        wire_reader_init_field(&reader, &config);
        while (wire_read(&reader, &config) > 0)
                if (config.number == 13)
                        period = config.value;
        return period;
}

/* Readers say that a file lacks data when its config has no flush period and the service is not Perfetto's. */
START_TEST(test_the_trace_says_the_flush_period_that_was_used) {
        static const struct {
                const char *config;
                uint64_t period_ms;
        } cases[] = {
                { "write_into_file: true file_write_period_ms: 1000", 5000 },
                { "write_into_file: true file_write_period_ms: 8000", 8000 },
                { "write_into_file: true", 5000 },
                { "write_into_file: true flush_period_ms: 2000", 2000 },
                { "write_into_file: true file_write_period_ms: 1000 "
                  "write_flush_mode: WRITE_FLUSH_ENABLED",
                  1000 },
                { "write_into_file: true write_flush_mode: WRITE_FLUSH_DISABLED", 0 },
                { "flush_period_ms: 20", 100 },
                { "", 0 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char config[256];
                FakeConsumer *consumer;
                FakeProducer *app;
                SmbWriter *writer;
                Bytes trace;

                snprintf(config,
                         sizeof(config),
                         "%s %s",
                         CONFIG_ONE("track_event"),
                         cases[i].config);
                consumer = start_streaming(config, &app, &writer);
                fixture_advance(&f, 1 * S);
                trace = fixture_read(&f, consumer);
                ck_assert_uint_eq(told_flush_period(&trace), cases[i].period_ms);
                bytes_deinit(&trace);
                free(writer);
                fixture_deinit(&f);
        }
}
END_TEST

TEST_MAIN("session-output",
          test_output_is_due_each_period_and_at_the_end,
          test_seldom_output_flushes_first,
          test_other_flushes_do_not_make_output_due,
          test_output_that_cannot_flush_first_is_due_at_once_and_not_again,
          test_output_that_does_not_stream_is_due_once,
          test_streams_have_markers_to_find_the_way_back,
          test_what_a_ring_forgets_before_it_is_written_out_is_lost,
          test_full_output_stops_the_session_and_gets_only_the_end,
          test_end_is_said_again_when_there_was_no_room_for_it,
          test_flushes_are_as_the_write_mode_says,
          test_write_periods_have_a_default_and_a_least,
          test_stream_cut_behind_any_marker_is_traces_that_make_the_whole,
          test_producers_start_over_at_markers_unless_nothing_was_recorded,
          test_marker_is_the_first_packet_of_a_read,
          test_half_full_buffer_is_written_before_its_period,
          test_full_buffer_that_does_not_stream_waits_for_its_reader,
          test_clone_of_a_stream_has_what_was_not_written_yet,
          test_clone_of_a_stream_before_its_first_write_tells_its_life,
          test_the_trace_says_the_flush_period_that_was_used)
