/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Clones: what is in them, what they do to the original, who pays, and what may happen on the way. */

#include "core/events/service-packets.h"
#include "core/model/session-names.h"
#include "core/model/session.h"
#include "core/requests/flush.h"
#include "fixture.h"

static Fixture f;

/* A running session of uid 1000 with one program's writer. */
typedef struct World {
        FakeProducer *app;
        FakeConsumer *source;
        SmbWriter *writer;
} World;

static World world_new(const char *config) {
        World world;

        fixture_init(&f);
        world.app = fixture_connect_producer(&f, 1000, "app", "track_event");
        world.source = fixture_start_session(&f, 1000, config);
        world.writer = fake_writer_new(world.app, fake_instance(world.app, "track_event"));
        return world;
}

static void world_free(World *world) {
        free(world->writer);
        fixture_deinit(&f);
}

static size_t count_text_of(FakeConsumer *consumer, const char *text) {
        Bytes trace = fixture_read(&f, consumer);
        size_t n = trace_count_text(&trace, text);

        bytes_deinit(&trace);
        return n;
}

static uint64_t trace_uuid_half(const Bytes *trace, uint32_t half) {
        TestPacket packet = trace_packet(trace, PACKET_TRACE_UUID, 0), uuid;
        WireField field;

        ck_assert(packet_field(&packet, PACKET_TRACE_UUID, &field));
        uuid = (TestPacket){ .data = field.data, .n = field.n_bytes };
        return packet_uint(&uuid, half);
}

START_TEST(test_clone_has_the_data_and_the_original_keeps_it) {
        World w = world_new(CONFIG_ONE("track_event"));
        FakeConsumer *clone;
        Bytes cloned, original;

        fake_write(w.writer, "before");
        clone = fixture_clone(&f, w.source);
        ck_assert_int_eq(session_state(clone->session), SESSION_STOPPED);
        ck_assert_uint_eq(session_stopped_at(clone->session), f.now);
        ck_assert_uint_eq(session_stopped_at(w.source->session), 0);
        ck_assert_uint_eq(session_cloned_from(clone->session), session_id(w.source->session));
        ck_assert_uint_ne(session_id(clone->session), session_id(w.source->session));
        ck_assert_int_eq(session_state(w.source->session), SESSION_STARTED);

        fake_write(w.writer, "after");
        cloned = fixture_read(&f, clone);
        ck_assert_uint_eq(trace_count_text(&cloned, "before"), 1);
        ck_assert_uint_eq(trace_count_text(&cloned, "after"), 0);
        fixture_stop_session(&f, w.source);
        original = fixture_read(&f, w.source);
        ck_assert_uint_eq(trace_count_text(&original, "before"), 1);
        ck_assert_uint_eq(trace_count_text(&original, "after"), 1);
        bytes_deinit(&original);
        bytes_deinit(&cloned);
        ck_assert_uint_eq(count_text_of(clone, "before"), 0); /* read to its end */
        world_free(&w);
}
END_TEST

START_TEST(test_both_have_the_service_packets_and_half_of_the_uuid_differs) {
        World w = world_new(CONFIG_ONE("track_event") "trace_uuid_msb: 1 trace_uuid_lsb: 2");
        FakeConsumer *clone;
        Bytes cloned, original;

        clone = fixture_clone(&f, w.source);
        cloned = fixture_read(&f, clone);
        original = fixture_read(&f, w.source);
        for (size_t i = 0; i < 2; i++) {
                const Bytes *trace = i ? &cloned : &original;

                ck_assert_uint_eq(trace_count(trace, PACKET_TRACE_CONFIG), 1);
                ck_assert_uint_eq(trace_count(trace, PACKET_SYSTEM_INFO), 1);
                ck_assert_uint_eq(trace_count(trace, PACKET_CLOCK_SNAPSHOT), 1);
                ck_assert(trace_has_event(trace, EVENT_TRACING_STARTED, NULL));
                ck_assert_uint_eq(trace_uuid_half(trace, 2), 2);
        }
        ck_assert_uint_eq(trace_uuid_half(&original, 1), 1);
        ck_assert_uint_eq(trace_uuid_half(&cloned, 1), UINT64_C(0x5a5a5a5a5a5a5a5a));
        ck_assert_uint_eq(trace_count(&cloned, PACKET_TRACE_STATS), 1);
        bytes_deinit(&original);
        bytes_deinit(&cloned);
        world_free(&w);
}
END_TEST

START_TEST(test_clone_of_a_session_that_was_read_begins_like_any_trace) {
        World w = world_new(CONFIG_ONE("track_event"));
        FakeConsumer *clone;
        Bytes trace;

        fake_write(w.writer, "read");
        fake_ring(w.app);
        ck_assert_uint_eq(count_text_of(w.source, "read"), 1);
        fake_write(w.writer, "unread");
        clone = fixture_clone(&f, w.source);
        trace = fixture_read(&f, clone);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACE_CONFIG), 1);
        ck_assert_uint_eq(trace_count(&trace, PACKET_CLOCK_SNAPSHOT), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "read"), 0);
        ck_assert_uint_eq(trace_count_text(&trace, "unread"), 1);
        bytes_deinit(&trace);
        world_free(&w);
}
END_TEST

START_TEST(test_sequences_keep_their_numbers) {
        World w = world_new(CONFIG_ONE("track_event"));
        SmbWriter *other = fake_writer_new(w.app, fake_instance(w.app, "track_event"));
        FakeConsumer *clone;
        uint64_t sequence;
        TestPacket packet;
        Bytes trace;

        fake_write(other, "first of other");
        fake_ring(w.app);
        trace = fixture_read(&f, w.source);
        packet = trace_text(&trace, "first of other");
        sequence = packet_uint(&packet, PACKET_SEQUENCE_ID);
        bytes_deinit(&trace);

        fake_write(w.writer, "first of writer");
        fake_write(other, "second of other");
        clone = fixture_clone(&f, w.source);
        trace = fixture_read(&f, clone);
        packet = trace_text(&trace, "second of other");
        ck_assert_uint_eq(packet_uint(&packet, PACKET_SEQUENCE_ID), sequence);
        packet = trace_text(&trace, "first of writer");
        ck_assert_uint_ne(packet_uint(&packet, PACKET_SEQUENCE_ID), sequence);
        bytes_deinit(&trace);
        free(other);
        world_free(&w);
}
END_TEST

START_TEST(test_clone_waits_for_a_flush_that_says_why) {
        World w = world_new(CONFIG_ONE("track_event"));
        const CloneOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *clone;

        w.app->acks_flush = false;
        clone = fixture_ask_clone(&f, w.source, &options);
        fixture_advance(&f, 1 * S);
        ck_assert(!clone->is_cloned);
        ck_assert_uint_eq(w.app->n_flushes, 1);
        ck_assert_uint_eq(w.app->flush_flags & 0xf, FLUSH_REASON_CLONE);
        fake_write(w.writer, "held until the flush");
        producer_flushed(w.app->producer, w.app->flush_id, f.now);
        ck_assert(clone->is_cloned);
        ck_assert_int_eq(clone->outcome, 0);
        ck_assert_uint_eq(count_text_of(clone, "held until the flush"), 1);
        world_free(&w);
}
END_TEST

static uint64_t final_flush_of(FakeConsumer *consumer) {
        Bytes trace = fixture_read(&f, consumer);
        TestPacket packet = trace_packet(&trace, PACKET_TRACE_STATS, 0), stats;
        WireField field;
        uint64_t outcome;

        ck_assert(packet_field(&packet, PACKET_TRACE_STATS, &field));
        stats = (TestPacket){ .data = field.data, .n = field.n_bytes };
        outcome = packet_uint(&stats, 15);
        bytes_deinit(&trace);
        return outcome;
}

START_TEST(test_clone_comes_without_a_silent_producer) {
        World w = world_new(CONFIG_ONE("track_event") "flush_timeout_ms: 700");
        const CloneOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *clone;

        clone = fixture_clone(&f, w.source);
        ck_assert_uint_eq(final_flush_of(clone), 1);
        w.app->acks_flush = false;
        clone = fixture_ask_clone(&f, w.source, &options);
        fixture_advance(&f, 699 * MS);
        ck_assert(!clone->is_cloned);
        fixture_advance(&f, 1 * MS);
        ck_assert(clone->is_cloned);
        ck_assert_int_eq(clone->outcome, 0);
        ck_assert_uint_eq(final_flush_of(clone), 2);
        world_free(&w);
}
END_TEST

START_TEST(test_clone_is_gone_when_the_original_is_freed_first) {
        World w = world_new(CONFIG_ONE("track_event"));
        const CloneOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *clone;

        w.app->acks_flush = false;
        clone = fixture_ask_clone(&f, w.source, &options);
        fixture_free_session(w.source);
        ck_assert(clone->is_cloned);
        ck_assert_int_eq(clone->outcome, SESSION_E_STATE);
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
        /* What was charged for it is given back. */
        for (unsigned i = 0; i < SERVICE_SESSIONS_PER_USER_MAX; i++)
                fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        world_free(&w);
}
END_TEST

START_TEST(test_cancelled_clone_never_comes) {
        World w = world_new(CONFIG_ONE("track_event"));
        const CloneOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *clone;

        w.app->acks_flush = false;
        clone = fixture_ask_clone(&f, w.source, &options);
        session_clone_cancel(w.source->session, clone);
        producer_flushed(w.app->producer, w.app->flush_id, f.now);
        fixture_advance(&f, 10 * S);
        ck_assert(!clone->is_cloned);
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
        world_free(&w);
}
END_TEST

START_TEST(test_stopped_session_is_cloned_at_once) {
        World w = world_new(CONFIG_ONE("track_event"));
        const CloneOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *clone;
        unsigned n_flushes;

        fake_write(w.writer, "one");
        fixture_stop_session(&f, w.source);
        n_flushes = w.app->n_flushes;
        clone = fixture_ask_clone(&f, w.source, &options);
        ck_assert(clone->is_cloned);
        ck_assert_uint_eq(w.app->n_flushes, n_flushes);
        ck_assert_uint_eq(count_text_of(clone, "one"), 1);
        clone = fixture_clone(&f, clone); /* which was read: a clone of a clone has what that has */
        ck_assert_uint_eq(count_text_of(clone, "one"), 0);
        ck_assert_uint_eq(count_text_of(w.source, "one"), 1);
        world_free(&w);
}
END_TEST

START_TEST(test_clone_outlives_the_original) {
        World w = world_new(CONFIG_ONE("track_event"));
        FakeConsumer *clone;

        fake_write(w.writer, "one");
        clone = fixture_clone(&f, w.source);
        fixture_free_session(w.source);
        fixture_disconnect_producer(w.app);
        ck_assert_uint_eq(count_text_of(clone, "one"), 1);
        world_free(&w);
}
END_TEST

START_TEST(test_clone_has_its_own_name) {
        World w = world_new(CONFIG_ONE("track_event") "unique_session_name: \"recorder\"");
        const CloneOptions options = { .owner = { .uid = 1000 }, .name = "crash 1" };
        FakeConsumer *plain, *named;

        plain = fixture_clone(&f, w.source);
        named = fixture_ask_clone(&f, w.source, &options);
        fixture_settle(&f);
        ck_assert_str_eq(session_name(plain->session), "");
        ck_assert_str_eq(session_name(named->session), "crash 1");
        ck_assert_ptr_eq(session_find_own(f.service, 1000, "recorder"), w.source->session);
        world_free(&w);
}
END_TEST

/*
 * Buffers that are moved, or emptied first
 */

#define CONFIG_MOVED                                                                 \
        "buffers { size_kb: 256 } buffers { size_kb: 256 transfer_on_clone: true } " \
        "data_sources { config { name: \"track_event\" target_buffer: 0 } } "        \
        "data_sources { config { name: \"moved\" target_buffer: 1 } } "

static World
world_new_moved_with(const char *config, FakeProducer **ret_other, SmbWriter **ret_writer) {
        const SessionOptions options = {
                .owner = { .uid = 1000 },
                .has_output = strstr(config, "write_into_file"),
        };
        World world;

        fixture_init(&f);
        world.app = fixture_connect_producer(&f, 1000, "app", "track_event");
        *ret_other = fixture_connect_producer(&f, 1000, "other", "moved");
        world.source = fixture_start_session_with(&f, &options, config);
        world.writer = fake_writer_new(world.app, fake_instance(world.app, "track_event"));
        *ret_writer = fake_writer_new(*ret_other, fake_instance(*ret_other, "moved"));
        return world;
}

static World world_new_moved(FakeProducer **ret_other, SmbWriter **ret_writer) {
        return world_new_moved_with(CONFIG_MOVED, ret_other, ret_writer);
}

START_TEST(test_transferred_buffer_is_empty_in_the_original) {
        FakeProducer *other;
        SmbWriter *moved;
        World w = world_new_moved(&other, &moved);
        FakeConsumer *clone;
        SessionTotals before, after;
        TestPacket packet;
        Bytes trace;

        fake_write(w.writer, "copied");
        fake_write(moved, "moved 1");
        fake_ring(w.app);
        fake_ring(other);
        session_totals(w.source->session, &before);
        clone = fixture_clone(&f, w.source);
        session_totals(w.source->session, &after);
        ck_assert_uint_eq(after.bytes_written, before.bytes_written);

        fake_write(moved, "moved 2");
        trace = fixture_read(&f, clone);
        ck_assert_uint_eq(trace_count_text(&trace, "copied"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "moved 1"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "moved 2"), 0);
        bytes_deinit(&trace);
        fixture_stop_session(&f, w.source);
        trace = fixture_read(&f, w.source);
        ck_assert_uint_eq(trace_count_text(&trace, "copied"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "moved 1"), 0);
        ck_assert_uint_eq(trace_count_text(&trace, "moved 2"), 1);
        packet = trace_text(&trace, "moved 2");
        ck_assert_uint_eq(packet_uint(&packet, PACKET_PREVIOUS_DROPPED), 0);
        bytes_deinit(&trace);
        free(moved);
        world_free(&w);
}
END_TEST

START_TEST(test_writers_to_a_transferred_buffer_start_over) {
        FakeProducer *other;
        SmbWriter *moved;
        SourceOptions clears = { .descriptor = "\x0a\x05moved\x20\x01", .n_descriptor = 9 };
        World w;

        fixture_init(&f);
        w.app = fixture_connect_producer(&f, 1000, "app", "track_event");
        other = fixture_connect_producer(&f, 1000, "other", NULL);
        fixture_add_source(other, "moved", &clears);
        w.source = fixture_start_session(&f, 1000, CONFIG_MOVED);
        w.writer = fake_writer_new(w.app, fake_instance(w.app, "track_event"));
        moved = fake_writer_new(other, fake_instance(other, "moved"));
        fixture_clone(&f, w.source);
        ck_assert_uint_eq(fake_instance(other, "moved")->n_clears, 1);
        free(moved);
        world_free(&w);
}
END_TEST

START_TEST(test_slow_sources_of_transferred_buffers_do_not_age_the_others) {
        const CloneOptions options = { .owner = { .uid = 1000 } };
        FakeProducer *other;
        SmbWriter *moved;
        World w = world_new_moved(&other, &moved);
        FakeConsumer *clone;
        Bytes trace;

        other->acks_flush = false;
        fake_write(w.writer, "before");
        fake_write(moved, "moved before");
        clone = fixture_ask_clone(&f, w.source, &options);
        fixture_settle(&f);
        ck_assert_uint_eq(w.app->n_flushes, 1);
        ck_assert_uint_eq(other->n_flushes, 1);
        ck_assert(!clone->is_cloned);

        /* The first group is complete, whatever comes while the second is awaited. */
        fake_write(w.writer, "between");
        fake_write(moved, "moved between");
        fixture_advance(&f, 1 * S);
        producer_flushed(other->producer, other->flush_id, f.now);
        ck_assert(clone->is_cloned);
        trace = fixture_read(&f, clone);
        ck_assert_uint_eq(trace_count_text(&trace, "before"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "between"), 0);
        ck_assert_uint_eq(trace_count_text(&trace, "moved before"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "moved between"), 1);
        bytes_deinit(&trace);
        free(moved);
        world_free(&w);
}
END_TEST

/* The clone's output begins with what the original's output contains at the time of the clone. */
START_TEST(test_clone_of_a_stream_repeats_nothing_that_was_written_meanwhile) {
        const CloneOptions options = { .owner = { .uid = 1000 } };
        static const char *const texts[] = { "copied", "moved" };
        FakeProducer *other;
        SmbWriter *moved;
        World w = world_new_moved_with(
                CONFIG_MOVED "write_into_file: true file_write_period_ms: 100", &other, &moved);
        FakeConsumer *clone;
        Bytes written, cloned;

        other->acks_flush = false;
        fake_write(w.writer, "copied");
        fake_write(moved, "moved");
        clone = fixture_ask_clone(&f, w.source, &options);
        fixture_settle(&f);
        ck_assert_uint_eq(w.app->n_flushes, 1);
        ck_assert(!clone->is_cloned);
        fake_ring(w.app);
        fake_ring(other);
        written = fixture_read(&f, w.source);
        ck_assert_uint_eq(trace_count_text(&written, "copied"), 1);
        producer_flushed(other->producer, other->flush_id, f.now);
        ck_assert(clone->is_cloned);
        cloned = fixture_read(&f, clone);
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                ck_assert_uint_eq(trace_count_text(&written, texts[i]) +
                                          trace_count_text(&cloned, texts[i]),
                                  1);
        bytes_deinit(&written);
        bytes_deinit(&cloned);
        free(moved);
        world_free(&w);
}
END_TEST

START_TEST(test_cleared_buffer_has_only_what_the_flush_brings) {
        World w = world_new("buffers { size_kb: 256 clear_before_clone: true } "
                            "data_sources { config { name: \"track_event\" } }");
        const CloneOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *clone;
        Bytes trace;

        fake_write(w.writer, "old");
        fake_ring(w.app);
        w.app->acks_flush = false;
        clone = fixture_ask_clone(&f, w.source, &options);
        fake_write(w.writer, "of the flush");
        producer_flushed(w.app->producer, w.app->flush_id, f.now);
        trace = fixture_read(&f, clone);
        ck_assert_uint_eq(trace_count_text(&trace, "old"), 0);
        ck_assert_uint_eq(trace_count_text(&trace, "of the flush"), 1);
        bytes_deinit(&trace);
        world_free(&w);
}
END_TEST

/*
 * Lifecycle events
 */

/* The values of the packets' buffer_cloned. */
static size_t trace_cloned_buffers(const Bytes *trace, uint64_t *ret, uint64_t *ret_ns) {
        TestPacket packet, event;
        size_t at = 0, n = 0;
        WireField field;

        while (trace_next(trace, &at, &packet)) {
                if (!packet_field(&packet, PACKET_SERVICE_EVENT, &field))
                        continue;
                event = (TestPacket){ .data = field.data, .n = field.n_bytes };
                if (!packet_field(&event, EVENT_BUFFER_CLONED, &field))
                        continue;
                ret[n] = field.value;
                ret_ns[n++] = packet_uint(&packet, PACKET_TIMESTAMP);
        }
        return n;
}

START_TEST(test_clone_says_when_it_was_asked_for_and_when_each_buffer_was_taken) {
        const CloneOptions options = { .owner = { .uid = 1000 } };
        FakeProducer *other;
        SmbWriter *moved;
        World w = world_new_moved(&other, &moved);
        uint64_t asked_at = f.now, buffers[4], times[4], ns;
        FakeConsumer *clone;
        Bytes trace;

        w.app->acks_flush = other->acks_flush = false;
        clone = fixture_ask_clone(&f, w.source, &options);
        fixture_advance(&f, 1 * S);
        producer_flushed(w.app->producer, w.app->flush_id, f.now);
        fixture_advance(&f, 1 * S);
        producer_flushed(other->producer, other->flush_id, f.now);
        trace = fixture_read(&f, clone);
        ck_assert(trace_has_event(&trace, EVENT_CLONE_STARTED, &ns));
        ck_assert_uint_eq(ns, asked_at);
        ck_assert_uint_eq(trace_cloned_buffers(&trace, buffers, times), 2);
        ck_assert_uint_eq(buffers[0], 0);
        ck_assert_uint_eq(times[0], asked_at + 1 * S);
        ck_assert_uint_eq(buffers[1], 1);
        ck_assert_uint_eq(times[1], asked_at + 2 * S);
        ck_assert(trace_has_event(&trace, EVENT_TRACING_DISABLED, &ns));
        ck_assert_uint_eq(ns, f.now);
        bytes_deinit(&trace);
        trace = fixture_read(&f, w.source);
        ck_assert(!trace_has_event(&trace, EVENT_CLONE_STARTED, NULL));
        ck_assert(!trace_has_event(&trace, EVENT_TRACING_DISABLED, NULL));
        bytes_deinit(&trace);
        free(moved);
        world_free(&w);
}
END_TEST

/*
 * Limits
 */

START_TEST(test_clone_counts_as_a_session_of_who_asked) {
        World w = world_new(CONFIG_ONE("track_event"));
        const CloneOptions root = { .owner = { .uid = 0 } };
        FakeConsumer *clone;

        for (unsigned i = 1; i < SERVICE_SESSIONS_PER_USER_MAX; i++)
                fixture_clone(&f, w.source);
        clone = fixture_ask_clone(&f, w.source, &(CloneOptions){ .owner = { .uid = 1000 } });
        ck_assert_int_eq(clone->outcome, SESSION_E_LIMIT);
        ck_assert_ptr_nonnull(strstr(clone->error.message, "SERVICE_SESSIONS_PER_USER_MAX"));
        clone = fixture_ask_clone(&f, w.source, &root);
        fixture_settle(&f);
        ck_assert(clone->is_cloned);
        ck_assert_uint_eq(session_options(clone->session)->owner.uid, 0);
        world_free(&w);
}
END_TEST

START_TEST(test_clone_is_charged_for_all_bytes_before_anything_happens) {
        World w = world_new("buffers { size_kb: 2500000 clear_before_clone: true } "
                            "data_sources { config { name: \"track_event\" } }");
        FakeConsumer *clone;

        fake_write(w.writer, "kept");
        fake_ring(w.app);
        clone = fixture_ask_clone(&f, w.source, &(CloneOptions){ .owner = { .uid = 1000 } });
        ck_assert_int_eq(clone->outcome, SESSION_E_LIMIT);
        ck_assert_ptr_nonnull(strstr(clone->error.message, "SERVICE_BUFFER_BYTES_PER_USER_MAX"));
        ck_assert_uint_eq(w.app->n_flushes, 0);
        ck_assert_uint_eq(count_text_of(w.source, "kept"), 1);
        world_free(&w);
}
END_TEST

/*
 * What is older than asked for
 */

static void write_until_ring_turns(World *w, const char *text, size_t n_bytes) {
        static char line[3001];

        memset(line, '.', sizeof(line) - 1);
        memcpy(line, text, strlen(text));
        for (size_t n = 0; n < n_bytes; n += sizeof(line)) {
                fake_write(w->writer, line);
                fake_ring(w->app);
        }
}

static size_t count_lines_of(FakeConsumer *consumer, const char *text) {
        char line[3001];

        memset(line, '.', sizeof(line) - 1);
        line[sizeof(line) - 1] = 0;
        memcpy(line, text, strlen(text));
        return count_text_of(consumer, line);
}

static FakeConsumer *clone_since(FakeConsumer *source, uint64_t before_ns) {
        const CloneOptions options = { .owner = { .uid = 1000 }, .before_ns = before_ns };
        FakeConsumer *clone = fixture_ask_clone(&f, source, &options);

        fixture_settle(&f);
        ck_assert_int_eq(clone->outcome, 0);
        return clone;
}

START_TEST(test_clone_leaves_out_what_is_older_than_asked_for) {
        World w = world_new("buffers { size_kb: 4096 } "
                            "incremental_state_config { clear_period_ms: 1000 } "
                            "data_sources { config { name: \"track_event\" } }");
        FakeConsumer *clone;

        write_until_ring_turns(&w, "old", 1 << 20);
        fixture_advance(&f, 5 * S);
        write_until_ring_turns(&w, "new", 64 << 10);
        fixture_advance(&f, 500 * MS);

        clone = clone_since(w.source, 2 * S);
        ck_assert_uint_ge(count_lines_of(clone, "new"), (64 << 10) / 3001);
        clone = clone_since(w.source, 2 * S);
        ck_assert_uint_lt(count_lines_of(clone, "old"), (1 << 20) / 3001 / 2);
        clone = clone_since(w.source, 60 * S); /* longer than it records */
        ck_assert_uint_ge(count_lines_of(clone, "old"), (1 << 20) / 3001);
        clone = fixture_clone(&f, w.source);
        ck_assert_uint_ge(count_lines_of(clone, "old"), (1 << 20) / 3001);
        world_free(&w);
}
END_TEST

START_TEST(test_clone_keeps_everything_where_no_restart_tells_what_is_needed) {
        World w = world_new("buffers { size_kb: 4096 } "
                            "data_sources { config { name: \"track_event\" } }");
        FakeConsumer *clone;

        write_until_ring_turns(&w, "old", 512 << 10);
        fixture_advance(&f, 60 * S);
        write_until_ring_turns(&w, "new", 64 << 10);
        clone = clone_since(w.source, 1 * S);
        ck_assert_uint_ge(count_lines_of(clone, "old"), (512 << 10) / 3001);
        world_free(&w);
}
END_TEST

/* Each number that the trace of the original would say has its place in that of the clone. */
START_TEST(test_clone_takes_over_all_that_was_counted) {
        FakeConsumer *consumer, *clone;
        Session *session;

        fixture_init(&f);
        fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        session = consumer->session;
        session->producers_dropped = 10;
        session->reader.n_invalid = 20;
        session->chunks_discarded = 30;
        session->patches_discarded = 40;
        session->flushes_requested = 50;
        session->flushes_succeeded = 60;
        session->flushes_failed = 70;
        clone = fixture_clone(&f, consumer);
        ck_assert_uint_eq(clone->session->producers_dropped, 10);
        ck_assert_uint_eq(clone->session->reader.n_invalid, 20);
        ck_assert_uint_eq(clone->session->chunks_discarded, 30);
        ck_assert_uint_eq(clone->session->patches_discarded, 40);
        ck_assert_uint_eq(clone->session->flushes_requested, session->flushes_requested);
        ck_assert_uint_eq(clone->session->flushes_succeeded, session->flushes_succeeded);
        ck_assert_uint_eq(clone->session->flushes_failed, 70);
        ck_assert_uint_ge(clone->session->flushes_requested, 50);
        ck_assert_uint_eq(session_stopped_at(clone->session), f.now);
        ck_assert_uint_eq(clone->session->uuid[1], session->uuid[1]);
        ck_assert_int_eq(clone->session->final_flush, FINAL_FLUSH_SUCCEEDED);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session-clone",
          test_clone_takes_over_all_that_was_counted,
          test_clone_has_the_data_and_the_original_keeps_it,
          test_both_have_the_service_packets_and_half_of_the_uuid_differs,
          test_clone_of_a_session_that_was_read_begins_like_any_trace,
          test_sequences_keep_their_numbers,
          test_clone_waits_for_a_flush_that_says_why,
          test_clone_comes_without_a_silent_producer,
          test_clone_is_gone_when_the_original_is_freed_first,
          test_cancelled_clone_never_comes,
          test_stopped_session_is_cloned_at_once,
          test_clone_outlives_the_original,
          test_clone_has_its_own_name,
          test_transferred_buffer_is_empty_in_the_original,
          test_writers_to_a_transferred_buffer_start_over,
          test_slow_sources_of_transferred_buffers_do_not_age_the_others,
          test_clone_of_a_stream_repeats_nothing_that_was_written_meanwhile,
          test_cleared_buffer_has_only_what_the_flush_brings,
          test_clone_says_when_it_was_asked_for_and_when_each_buffer_was_taken,
          test_clone_counts_as_a_session_of_who_asked,
          test_clone_is_charged_for_all_bytes_before_anything_happens,
          test_clone_leaves_out_what_is_older_than_asked_for,
          test_clone_keeps_everything_where_no_restart_tells_what_is_needed)
