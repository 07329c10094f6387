/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Chunks that Perfetto's writers have not returned. Those count a packet before they write it; when it is done they
 * count the next, and an empty fragment stands for that in the end.
 */

#include "fixture.h"

#define WRITER 1

static Fixture f;

/* One packet, 900: "payload", and the empty fragment behind it. */
static const uint8_t packet[] = { 10, 0xa2, 0x38, 7, 'p', 'a', 'y', 'l', 'o', 'a', 'd', 0 };

static SmbChunkHeader *chunk_header(const FakeProducer *producer) {
        return (SmbChunkHeader *)(smb_page(&producer->area, 0) + 1);
}

static void set_state(const FakeProducer *producer, SmbChunkState state) {
        atomic_store(&smb_page(&producer->area, 0)->state, (uint32_t)SMB_LAYOUT_DIV1 << 28 | state);
}

/* A writer that has counted its packet, and has written it. */
static FakeConsumer *start_writing(FakeProducer **ret_app) {
        FakeConsumer *consumer;
        FakeProducer *app;

        fixture_init(&f);
        app = *ret_app = fixture_connect_plain_producer(&f, 1000, "sdk", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        producer_register_writer(
                app->producer, WRITER, fake_instance(app, "track_event")->target_buffer);
        atomic_store(&chunk_header(app)->writer_id, WRITER);
        memcpy(chunk_header(app) + 1, packet, sizeof(packet));
        atomic_store(&chunk_header(app)->packets, 1);
        set_state(app, SMB_CHUNK_BEING_WRITTEN);
        return consumer;
}

static size_t flush_and_count(FakeConsumer *consumer) {
        Bytes trace;
        size_t n;

        ck_assert_int_eq(session_flush(consumer->session, 0, 0, NULL, NULL, f.now), 0);
        fixture_settle(&f);
        trace = fixture_read(&f, consumer);
        n = trace_count_text(&trace, "payload");
        bytes_deinit(&trace);
        return n;
}

static void commit(FakeProducer *app) {
        set_state(app, SMB_CHUNK_COMPLETE);
        producer_commit(app->producer, 0, 0, fake_instance(app, "track_event")->target_buffer);
}

START_TEST(test_packet_is_seen_once_when_the_next_is_counted) {
        FakeProducer *app;
        FakeConsumer *consumer = start_writing(&app);

        ck_assert_uint_eq(flush_and_count(consumer), 0);
        atomic_store(&chunk_header(app)->packets, 2);
        ck_assert_uint_eq(flush_and_count(consumer), 1);
        ck_assert_uint_eq(flush_and_count(consumer), 0);
        commit(app);
        ck_assert_uint_eq(flush_and_count(consumer), 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_packet_is_seen_when_its_chunk_is_returned) {
        FakeProducer *app;
        FakeConsumer *consumer = start_writing(&app);

        ck_assert_uint_eq(flush_and_count(consumer), 0);
        atomic_store(&chunk_header(app)->packets, 2);
        commit(app);
        ck_assert_uint_eq(flush_and_count(consumer), 1);
        ck_assert_uint_eq(flush_and_count(consumer), 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_stop_takes_what_is_not_returned) {
        FakeProducer *app;
        FakeConsumer *consumer = start_writing(&app);
        Bytes trace;

        atomic_store(&chunk_header(app)->packets, 2);
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "payload"), 1);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_disconnect_takes_what_is_not_returned) {
        FakeProducer *app;
        FakeConsumer *consumer = start_writing(&app);

        atomic_store(&chunk_header(app)->packets, 2);
        fixture_disconnect_producer(app);
        ck_assert_uint_eq(flush_and_count(consumer), 1);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("scrape",
          test_packet_is_seen_once_when_the_next_is_counted,
          test_packet_is_seen_when_its_chunk_is_returned,
          test_stop_takes_what_is_not_returned,
          test_disconnect_takes_what_is_not_returned)
