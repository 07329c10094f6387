/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the service records about itself, and that it does so only when asked and without end. */

#include <inttypes.h>
#include <stdio.h>

#include "core/events/self-packets.h"
#include "core/events/service-packets.h"
#include "fixture.h"

#define TRACK_EVENT      11
#define TRACK_DESCRIPTOR 60
#define SELF             "data_sources { config { name: \"desktrace.self\" } } "
#define CONFIG_SELF      "buffers { size_kb: 256 } " SELF

static const SessionOptions everything = { .owner = { .uid = 0 }, .scope = SESSION_SCOPE_SYSTEM };

static Fixture f;

typedef struct Slice {
        uint64_t type, track, ns;
        char name[64];
        uint64_t bytes, session; /* notes; UINT64_MAX: none */
} Slice;

static void read_note(const WireField *field, Slice *slice) {
        const TestPacket note = { field->data, field->n_bytes };
        WireField name;

        ck_assert(packet_field(&note, 10, &name));
        if (name.n_bytes == 5 && memcmp(name.data, "bytes", 5) == 0)
                slice->bytes = packet_uint(&note, 3);
        if (name.n_bytes == 7 && memcmp(name.data, "session", 7) == 0)
                slice->session = packet_uint(&note, 3);
}

static bool read_slice(const TestPacket *packet, Slice *ret) {
        WireField event, field;
        WireReader reader;

        if (!packet_field(packet, TRACK_EVENT, &event))
                return false;
        *ret = (Slice){ .ns = packet_uint(packet, 8), .bytes = UINT64_MAX, .session = UINT64_MAX };
        ck_assert_uint_eq(packet_uint(packet, 58), CLOCK_ID_BOOTTIME);
        wire_reader_init_field(&reader, &event);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 4)
                        read_note(&field, ret);
                if (field.number == 9)
                        ret->type = field.value;
                if (field.number == 11)
                        ret->track = field.value;
                if (field.number == 23)
                        snprintf(ret->name,
                                 sizeof(ret->name),
                                 "%.*s",
                                 (int)field.n_bytes,
                                 field.data);
        }
        return true;
}

/* How many slices of that name begin; *ret is the last of them. */
static size_t count_slices(const Bytes *trace, const char *name, Slice *ret) {
        TestPacket packet;
        size_t at = 0, n = 0;
        Slice slice;

        while (trace_next(trace, &at, &packet)) {
                if (!read_slice(&packet, &slice) || slice.type != SELF_SLICE_BEGIN ||
                    !streq(slice.name, name))
                        continue;
                *ret = slice;
                n++;
        }
        return n;
}

static size_t count_type(const Bytes *trace, uint64_t type) {
        TestPacket packet;
        size_t at = 0, n = 0;
        Slice slice;

        while (trace_next(trace, &at, &packet))
                n += read_slice(&packet, &slice) && slice.type == type;
        return n;
}

static bool has_row(const Bytes *trace, const char *name) {
        TestPacket packet;
        size_t at = 0;

        while (trace_next(trace, &at, &packet)) {
                WireField field, row;
                TestPacket descriptor;

                if (!packet_field(&packet, TRACK_DESCRIPTOR, &field))
                        continue;
                descriptor = (TestPacket){ field.data, field.n_bytes };
                if (packet_field(&descriptor, 2, &row) && row.n_bytes == strlen(name) &&
                    memcmp(row.data, name, row.n_bytes) == 0)
                        return true;
        }
        return false;
}

static bool has_session_row(const Bytes *trace, uint64_t id, const char *more) {
        char name[64];

        snprintf(name, sizeof(name), "session %" PRIu64 "%s", id, more);
        return has_row(trace, name);
}

START_TEST(test_service_shows_what_it_takes_flushes_reads_and_goes_through) {
        FakeConsumer *self, *other;
        SmbWriter *writer;
        FakeProducer *app;
        Bytes trace, read;
        Slice slice;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        self = fixture_start_session_with(&f, &everything, CONFIG_SELF);
        other = fixture_start_session(
                &f, 1000, CONFIG_ONE("track_event") "unique_session_name: \"other\"");
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write(writer, "text");
        fake_ring(app);
        read = fixture_read(&f, other);
        fixture_stop_session(&f, other);
        fixture_stop_session(&f, self);
        trace = fixture_read(&f, self);

        ck_assert_uint_eq(count_slices(&trace, "app", &slice), 1);
        ck_assert_uint_eq(slice.track, SELF_TRACK_INGEST);
        ck_assert_uint_ge(slice.bytes, 4);
        ck_assert_uint_lt(slice.bytes, 1000);
        ck_assert_uint_eq(count_slices(&trace, "read", &slice), 1);
        ck_assert_uint_eq(slice.bytes, read.n);
        ck_assert_uint_eq(slice.session, session_id(other->session));
        ck_assert_uint_eq(count_slices(&trace, "flush", &slice), 2);
        ck_assert_uint_eq(count_slices(&trace, "started", &slice), 2);
        ck_assert_uint_eq(count_slices(&trace, "stopping", &slice), 2);
        ck_assert_uint_eq(count_slices(&trace, "stopped", &slice), 1);
        ck_assert(has_row(&trace, "ingest"));
        ck_assert(has_row(&trace, "read-out"));
        ck_assert(has_row(&trace, "loop latency"));
        ck_assert(has_session_row(&trace, session_id(self->session), ""));
        ck_assert(has_session_row(&trace, session_id(other->session), ": other"));
        bytes_deinit(&trace);
        bytes_deinit(&read);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_its_packets_count_like_any_others) {
        FakeConsumer *self;
        TestPacket packet;
        SessionWriterCursor cursor = {};
        SessionWriter info;
        InstanceInfo instance;
        Bytes trace;

        fixture_init(&f);
        f.info.pid = 1;
        self = fixture_start_session_with(&f, &everything, CONFIG_SELF);
        ck_assert_uint_eq(session_n_instances(self->session), 1);
        session_instance(self->session, 0, &instance);
        ck_assert_str_eq(instance.producer, "desktraced");
        ck_assert_int_eq(instance.state, INSTANCE_STARTED);
        fixture_stop_session(&f, self);
        ck_assert(session_next_writer(self->session, &cursor, &info));
        ck_assert_uint_eq(info.stats.origin.identity.uid, 990);
        trace = fixture_read(&f, self);
        packet = trace_packet(&trace, TRACK_DESCRIPTOR, 0);
        ck_assert_uint_eq(packet_uint(&packet, PACKET_TRUSTED_UID), 990);
        ck_assert_uint_eq(packet_uint(&packet, PACKET_SEQUENCE_ID), info.sequence_id);
        ck_assert_uint_eq(session_buffer_stats(self->session, 0)->chunks_written, 2);
        ck_assert_uint_eq(session_buffer_stats(self->session, 0)->chunks_read, 2);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_unrecorded_service_does_not_look_at_the_clock) {
        FakeConsumer *self, *consumer;
        FakeProducer *app;
        SmbWriter *writer;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        self = fixture_start_session_with(&f, &everything, CONFIG_SELF);
        fixture_stop_session(&f, self);
        ck_assert_uint_gt(f.n_clock_looks, 0);
        f.n_clock_looks = 0;
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write(writer, "text");
        fake_ring(app);
        fixture_advance(&f, 1 * S);
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(f.n_clock_looks, 0);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

static size_t count_on_track(const Bytes *trace, uint64_t type, uint64_t track) {
        TestPacket packet;
        size_t at = 0, n = 0;
        Slice slice;

        while (trace_next(trace, &at, &packet))
                n += read_slice(&packet, &slice) && slice.type == type && slice.track == track;
        return n;
}

START_TEST(test_each_state_of_a_session_ends) {
        FakeConsumer *self, *other;
        uint64_t track;
        Bytes trace;
        Slice slice;

        fixture_init(&f);
        other = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        track = SELF_TRACK_SESSION_0 + session_id(other->session);
        self = fixture_start_session_with(&f, &everything, CONFIG_SELF);
        fixture_free_session(other);
        /* More than a chunk of the writer's. */
        for (unsigned i = 0; i < 200; i++)
                ck_assert_int_eq(session_flush(self->session, 0, 0, NULL, NULL, f.now), 0);
        fixture_stop_session(&f, self);
        ck_assert_uint_gt(session_buffer_stats(self->session, 0)->chunks_written, 2);
        ck_assert_uint_eq(session_buffer_stats(self->session, 0)->abi_violations, 0);
        trace = fixture_read(&f, self);
        ck_assert_uint_ge(count_slices(&trace, "started", &slice), 1);
        /* It had one state when the recording began, and was in it to its end. */
        ck_assert_uint_eq(count_on_track(&trace, SELF_SLICE_BEGIN, track), 1);
        ck_assert_uint_eq(count_on_track(&trace, SELF_SLICE_END, track), 1);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_reading_out_what_is_said_of_reading_ends) {
        FakeConsumer *self;
        bool more = true;
        Bytes trace = {};
        Slice slice;

        fixture_init(&f);
        self = fixture_start_session_with(&f, &everything, CONFIG_SELF);
        for (unsigned i = 0; i < 200; i++)
                ck_assert_int_eq(session_flush(self->session, 0, 0, NULL, NULL, f.now), 0);
        /* The smallest steps there are. */
        for (unsigned i = 0; more; i++) {
                ck_assert_uint_lt(i, 5000);
                ck_assert_int_eq(session_read(self->session, 1, &trace, &more, f.now), 0);
        }
        ck_assert_uint_gt(count_slices(&trace, "flush", &slice), 150);
        ck_assert_uint_eq(count_slices(&trace, "read this session", &slice), 0);
        bytes_deinit(&trace);
        fixture_stop_session(&f, self);
        trace = fixture_read(&f, self);
        ck_assert_uint_eq(count_slices(&trace, "read this session", &slice), 1);
        ck_assert_uint_gt(slice.bytes, 1000);
        ck_assert_uint_eq(count_slices(&trace, "read", &slice), 0);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_rows_are_described_again_before_a_ring_forgets_them) {
        FakeConsumer *self;
        Bytes trace;

        fixture_init(&f);
        self = fixture_start_session_with(&f, &everything, "buffers { size_kb: 128 } " SELF);
        for (unsigned i = 0; i < 20000; i++) {
                ck_assert_int_eq(session_flush(self->session, 0, 0, NULL, NULL, f.now), 0);
                if (i % 100 == 0)
                        fixture_advance(&f, 1 * S);
        }
        fixture_stop_session(&f, self);
        trace = fixture_read(&f, self);
        ck_assert_uint_gt(session_buffer_stats(self->session, 0)->chunks_overwritten, 100);
        ck_assert(has_row(&trace, "ingest"));
        ck_assert(has_session_row(&trace, session_id(self->session), ""));
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_sessions_are_shown_to_who_may_see_them) {
        const SessionOptions granted = { .owner = { .uid = 1000 }, .scope = SESSION_SCOPE_SYSTEM };
        FakeConsumer *self, *other;
        Bytes trace, read;
        uint64_t others;
        Slice slice;

        fixture_init(&f);
        other = fixture_start_session(&f, 1001, CONFIG_ONE("none"));
        others = session_id(other->session);
        self = fixture_start_session_with(&f, &granted, CONFIG_SELF);
        read = fixture_read(&f, other);
        fixture_stop_session(&f, other);
        fixture_free_session(other);
        fixture_stop_session(&f, self);
        trace = fixture_read(&f, self);
        ck_assert(!has_session_row(&trace, others, ""));
        ck_assert(has_session_row(&trace, session_id(self->session), ""));
        ck_assert_uint_eq(count_slices(&trace, "started", &slice), 1);
        ck_assert_uint_eq(count_slices(&trace, "flush", &slice), 1);
        /* That the service was busy is no secret. */
        ck_assert_uint_eq(count_slices(&trace, "read", &slice), 1);
        ck_assert_uint_eq(slice.bytes, read.n);
        ck_assert_uint_eq(slice.session, UINT64_MAX);
        bytes_deinit(&trace);
        bytes_deinit(&read);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_loop_latency_is_how_late_a_timer_is) {
        FakeConsumer *self;
        uint64_t deadline;
        Bytes trace;

        fixture_init(&f);
        self = fixture_start_session_with(&f, &everything, CONFIG_SELF "flush_period_ms: 1000");
        deadline = service_next_deadline(f.service);
        f.now = deadline + 5 * MS;
        service_tick(f.service, f.now);
        fixture_stop_session(&f, self);
        trace = fixture_read(&f, self);
        ck_assert_uint_ge(count_type(&trace, SELF_COUNTER), 1);
        for (size_t at = 0, n = 0; n == 0;) {
                TestPacket packet;
                WireField field;
                Slice slice;

                ck_assert(trace_next(&trace, &at, &packet));
                if (!read_slice(&packet, &slice) || slice.type != SELF_COUNTER)
                        continue;
                n++;
                ck_assert_uint_eq(slice.track, SELF_TRACK_LATENCY);
                ck_assert(packet_field(&packet, TRACK_EVENT, &field));
                packet = (TestPacket){ field.data, field.n_bytes };
                ck_assert_uint_ge(packet_uint(&packet, 30), 5000);
                ck_assert_uint_lt(packet_uint(&packet, 30), 6000);
        }
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

/* It is due at once, and has been so for an unknown time. */
START_TEST(test_what_a_program_leaves_to_do_by_going_is_not_late) {
        FakeProducer *app;
        FakeConsumer *self;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        self = fixture_start_session_with(&f, &everything, CONFIG_SELF);
        fixture_disconnect_producer(app);
        ck_assert_uint_eq(service_next_deadline(f.service), 0);
        service_tick(f.service, f.now);
        fixture_stop_session(&f, self);
        trace = fixture_read(&f, self);
        ck_assert_uint_eq(count_type(&trace, SELF_COUNTER), 0);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_it_is_data_of_the_whole_machine) {
        const SessionOptions own = { .owner = { .uid = 1000 } };
        FakeConsumer *consumer;

        fixture_init(&f);
        ck_assert_int_eq(fixture_try_session(&f, &consumer, &own, CONFIG_SELF), SESSION_E_CONFIG);
        ck_assert_ptr_nonnull(strstr(consumer->error.message, "scope \"system\""));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_nobody_else_may_offer_it) {
        FakeProducer *probes;

        fixture_init(&f);
        probes = fixture_connect_producer(&f, 0, "probes", "linux.sys_stats");
        ck_assert_int_eq(
                producer_add_source(probes->producer, "desktrace.self", &(SourceOptions){}, f.now),
                PRODUCER_E_RESERVED);
        ck_assert_uint_eq(service_n_producers(f.service), 1);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("self-trace",
          test_each_state_of_a_session_ends,
          test_service_shows_what_it_takes_flushes_reads_and_goes_through,
          test_its_packets_count_like_any_others,
          test_unrecorded_service_does_not_look_at_the_clock,
          test_reading_out_what_is_said_of_reading_ends,
          test_rows_are_described_again_before_a_ring_forgets_them,
          test_sessions_are_shown_to_who_may_see_them,
          test_loop_latency_is_how_late_a_timer_is,
          test_what_a_program_leaves_to_do_by_going_is_not_late,
          test_it_is_data_of_the_whole_machine,
          test_nobody_else_may_offer_it)
