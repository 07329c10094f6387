/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Producers of Perfetto's protocol: what they say by message, and memory that they bring.
 */

#include "core/model/producer.h"
#include "core/model/quota.h"
#include "core/model/service.h"
#include "fixture.h"

static Fixture f;

/* Writes a chunk into page 0, as a producer of Perfetto does. */
static void plain_chunk(FakeProducer *producer,
                        uint16_t writer_id,
                        uint32_t chunk_id,
                        SmbChunkState state,
                        uint16_t packets,
                        const void *payload,
                        size_t n) {
        SmbPageHeader *page = smb_page(&producer->area, 0);
        SmbChunkHeader *header = (SmbChunkHeader *)(page + 1);

        atomic_store(&header->writer_id, writer_id);
        atomic_store(&header->chunk_id, chunk_id);
        atomic_store(&header->packets, packets);
        memcpy(header + 1, payload, n);
        atomic_store(&page->state, (uint32_t)SMB_LAYOUT_DIV1 << 28 | state);
}

static void plain_chunk_end(FakeProducer *producer, uint16_t packets) {
        SmbPageHeader *page = smb_page(&producer->area, 0);

        atomic_store(&((SmbChunkHeader *)(page + 1))->packets, packets);
        atomic_store(&page->state, (uint32_t)SMB_LAYOUT_DIV1 << 28 | SMB_CHUNK_COMPLETE);
}

/* Two packets: 900: "a", 900: "b". */
static const uint8_t two_packets[] = { 4, 0xa2, 0x38, 1, 'a', 4, 0xa2, 0x38, 1, 'b' };

static FakeConsumer *
start_plain_with(FakeProducer **ret_app, uint16_t *ret_buffer, const ProducerOptions *options) {
        FakeConsumer *consumer;

        fixture_init(&f);
        *ret_app = fixture_connect_producer_with(&f, 1000, "sdk", "track_event", options);
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        *ret_buffer = fake_instance(*ret_app, "track_event")->target_buffer;
        return consumer;
}

static FakeConsumer *start_plain(FakeProducer **ret_app, uint16_t *ret_buffer) {
        return start_plain_with(ret_app, ret_buffer, &(ProducerOptions){});
}

/* Stops, and has n_a and n_b of the two packets. */
static void check_end(FakeConsumer *consumer, size_t n_a, size_t n_b) {
        Bytes trace;

        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "a"), n_a);
        ck_assert_uint_eq(trace_count_text(&trace, "b"), n_b);
        ck_assert_uint_eq(trace_count(&trace, FIXTURE_TEXT_FIELD), n_a + n_b);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}

START_TEST(test_commits_by_message_are_taken_and_bad_ones_ignored) {
        FakeProducer *app;
        FakeConsumer *consumer;
        uint16_t buffer;

        consumer = start_plain(&app, &buffer);
        plain_chunk(app, 1, 0, SMB_CHUNK_COMPLETE, 2, two_packets, sizeof(two_packets));
        producer_commit(app->producer, 1000000, 0, buffer);
        producer_commit(app->producer, 0, 13, buffer);
        producer_commit(app->producer, 1, 0, buffer);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->chunks_written, 0);
        producer_commit(app->producer, 0, 0, buffer);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->chunks_written, 1);
        ck_assert_uint_eq(atomic_load(&smb_page(&app->area, 0)->state), 0);

        /* Nobody's buffer: refused, and yet the chunk is free again. */
        plain_chunk(app, 1, 1, SMB_CHUNK_COMPLETE, 2, two_packets, sizeof(two_packets));
        producer_commit(app->producer, 0, 0, (uint16_t)(buffer + 1));
        ck_assert_uint_eq(atomic_load(&smb_page(&app->area, 0)->state), 0);
        check_end(consumer, 1, 1);
}
END_TEST

START_TEST(test_last_fragment_of_an_unfinished_chunk_is_left_out) {
        FakeProducer *app;
        FakeConsumer *consumer;
        uint16_t buffer;

        consumer = start_plain(&app, &buffer);
        producer_register_writer(app->producer, 1, buffer);
        plain_chunk(app, 1, 0, SMB_CHUNK_BEING_WRITTEN, 2, two_packets, sizeof(two_packets));
        fixture_disconnect_producer(app);
        check_end(consumer, 1, 0);
}
END_TEST

START_TEST(test_unregistered_writers_are_not_scanned) {
        FakeProducer *app;
        FakeConsumer *consumer;
        uint16_t buffer;

        consumer = start_plain(&app, &buffer);
        producer_register_writer(app->producer, 0, buffer);
        producer_register_writer(app->producer, SMB_WRITER_MAX + 1, buffer);
        producer_register_writer(app->producer, 2, buffer);
        plain_chunk(app, 1, 0, SMB_CHUNK_COMPLETE, 2, two_packets, sizeof(two_packets));
        fixture_disconnect_producer(app);
        check_end(consumer, 0, 0);
}
END_TEST

START_TEST(test_patches_find_their_chunk_by_producer_writer_and_number) {
        /* One packet, 900: four bytes that are still to come. */
        static const uint8_t unpatched[] = { 7, 0xa2, 0x38, 4, 0, 0, 0, 0 };
        FakeProducer *app, *other;
        FakeConsumer *consumer;
        uint16_t buffer;
        Bytes trace;

        consumer = start_plain(&app, &buffer);
        other = fixture_connect_plain_producer(&f, 1000, "other", "track_event");
        plain_chunk(app,
                    7,
                    3,
                    SMB_CHUNK_COMPLETE,
                    1 | SMB_CHUNK_NEEDS_PATCHING << SMB_FLAGS_SHIFT,
                    unpatched,
                    sizeof(unpatched));
        producer_commit(app->producer, 0, 0, buffer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, 900), 0);
        bytes_deinit(&trace);

        producer_patch(other->producer, buffer, 7, 3, 4, (const uint8_t *)"evil", false);
        producer_patch(app->producer, buffer, 8, 3, 4, (const uint8_t *)"evil", false);
        producer_patch(app->producer, buffer, 7, 4, 4, (const uint8_t *)"evil", false);
        producer_patch(app->producer, buffer, 7, 3, 5, (const uint8_t *)"evil", false);
        producer_patch(
                app->producer, (uint16_t)(buffer + 1), 7, 3, 4, (const uint8_t *)"evil", false);
        producer_patch(app->producer, buffer, 7, 3, 4, (const uint8_t *)"good", false);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->patches_succeeded, 1);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->patches_failed, 4);
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "good"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "evil"), 0);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

/* The second packet of two may be half done: its writer has counted it, and nothing more. */
START_TEST(test_chunk_that_is_patched_in_place_is_read_once_it_is_complete) {
        /* 900: "a", and 900: four bytes whose place is kept; goes on in the next chunk. */
        static const uint8_t first[] = { 4, 0xa2, 0x38, 1, 'a', 3, 0xa2, 0x38, 0 };
        static const uint8_t second[] = { 4, 'g', 'o', 'o', 'd' };
        FakeProducer *app;
        FakeConsumer *consumer;
        uint16_t buffer;
        Bytes trace;

        consumer = start_plain(&app, &buffer);
        producer_register_writer(app->producer, 1, buffer);
        plain_chunk(app,
                    1,
                    0,
                    SMB_CHUNK_BEING_WRITTEN,
                    2 | (SMB_CHUNK_NEEDS_PATCHING | SMB_CHUNK_TO_BE_CONTINUED) << SMB_FLAGS_SHIFT,
                    first,
                    sizeof(first));
        ck_assert_int_eq(session_flush(consumer->session, 0, 0, NULL, NULL, f.now), 0);
        fixture_settle(&f);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, 900), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "a"), 1);
        bytes_deinit(&trace);

        /* The length comes into the chunk itself. */
        ((uint8_t *)smb_page(&app->area, 0))[16 + 8] = 4;
        plain_chunk_end(app, 2 | SMB_CHUNK_TO_BE_CONTINUED << SMB_FLAGS_SHIFT);
        producer_commit(app->producer, 0, 0, buffer);
        plain_chunk(app,
                    1,
                    1,
                    SMB_CHUNK_COMPLETE,
                    1 | SMB_CHUNK_CONTINUES << SMB_FLAGS_SHIFT,
                    second,
                    sizeof(second));
        producer_commit(app->producer, 0, 0, buffer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count(&trace, 900), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "good"), 1);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_producer_that_wants_no_scraping_is_left_alone) {
        FakeProducer *app;
        FakeConsumer *consumer;
        uint16_t buffer;

        consumer = start_plain_with(&app, &buffer, &(ProducerOptions){ .is_not_scanned = true });
        producer_register_writer(app->producer, 1, buffer);
        plain_chunk(app, 1, 0, SMB_CHUNK_COMPLETE, 2, two_packets, sizeof(two_packets));
        fixture_disconnect_producer(app);
        check_end(consumer, 0, 0);
}
END_TEST

START_TEST(test_writer_stays_with_the_buffer_that_it_was_registered_for) {
        FakeProducer *app;
        FakeConsumer *one, *other;
        uint16_t buffer;

        one = start_plain(&app, &buffer);
        other = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        producer_register_writer(app->producer, 1, buffer);
        plain_chunk(app, 1, 0, SMB_CHUNK_COMPLETE, 2, two_packets, sizeof(two_packets));
        producer_commit(app->producer, 0, 0, fake_instance(app, "track_event")->target_buffer);
        ck_assert_uint_eq(session_buffer_stats(one->session, 0)->chunks_written, 0);
        ck_assert_uint_eq(session_buffer_stats(other->session, 0)->chunks_written, 0);

        /* Until it is said to be gone: its number may be another writer's by then. */
        producer_register_writer(app->producer, 1, 0);
        plain_chunk(app, 1, 1, SMB_CHUNK_COMPLETE, 2, two_packets, sizeof(two_packets));
        producer_commit(app->producer, 0, 0, fake_instance(app, "track_event")->target_buffer);
        ck_assert_uint_eq(session_buffer_stats(one->session, 0)->chunks_written, 0);
        ck_assert_uint_eq(session_buffer_stats(other->session, 0)->chunks_written, 1);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_every_number_of_a_message_may_be_a_lie) {
        FakeProducer *app;
        FakeConsumer *consumer;
        uint16_t buffer;

        consumer = start_plain(&app, &buffer);
        producer_register_writer(app->producer, SMB_WRITER_MAX, buffer);
        producer_register_writer(app->producer, UINT32_MAX, buffer);
        producer_register_writer(app->producer, 1, UINT32_C(0x10000) | buffer);
        for (uint32_t bit = 16; bit < 32; bit++) {
                uint32_t wrong = buffer | UINT32_C(1) << bit;

                plain_chunk(app, 1, 0, SMB_CHUNK_COMPLETE, 2, two_packets, sizeof(two_packets));
                producer_commit(app->producer, 0, 0, wrong);
                ck_assert_uint_eq(atomic_load(&smb_page(&app->area, 0)->state), 0);
                producer_patch(app->producer, wrong, 1, 0, 0, (const uint8_t *)"evil", false);
                producer_patch(app->producer,
                               buffer,
                               1,
                               0,
                               UINT32_C(1) << bit,
                               (const uint8_t *)"evil",
                               false);
        }
        producer_commit(app->producer, UINT32_MAX, UINT32_MAX, UINT32_MAX);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->chunks_written, 0);
        check_end(consumer, 0, 0);
}
END_TEST

/* A chunk as it comes in a message, at an address that fits nothing. */
static void send_chunk(FakeProducer *app,
                       uint16_t writer_id,
                       uint32_t chunk_id,
                       uint16_t packets,
                       bool is_complete,
                       uint16_t buffer) {
        uint8_t message[1 + 8 + sizeof(two_packets)];
        uint8_t *chunk = message + 1;

        memcpy(chunk, &chunk_id, sizeof(chunk_id));
        memcpy(chunk + 4, &writer_id, sizeof(writer_id));
        memcpy(chunk + 6, &packets, sizeof(packets));
        memcpy(chunk + 8, two_packets, sizeof(two_packets));
        producer_commit_data(app->producer, chunk, sizeof(message) - 1, is_complete, buffer);
}

START_TEST(test_chunks_in_messages_are_as_good_as_those_in_memory) {
        FakeProducer *app;
        FakeConsumer *consumer;
        uint16_t buffer;
        Bytes trace;

        consumer = start_plain(&app, &buffer);
        send_chunk(app, 5, 0, 2, true, buffer);
        /* Incomplete: the last packet is not done. It comes when the chunk does. */
        send_chunk(app, 6, 0, 1, false, buffer);
        send_chunk(app, 6, 0, 2, false, buffer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "a"), 2);
        ck_assert_uint_eq(trace_count_text(&trace, "b"), 1);
        bytes_deinit(&trace);
        send_chunk(app, 6, 0, 2, true, buffer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "a"), 0);
        ck_assert_uint_eq(trace_count_text(&trace, "b"), 1);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_bad_chunks_in_messages_are_ignored) {
        static uint8_t bytes[SMB_PAGE_BYTES_MAX + 1];
        FakeProducer *app;
        FakeConsumer *consumer;
        uint16_t buffer;

        consumer = start_plain(&app, &buffer);
        send_chunk(app, 0, 0, 2, true, buffer);
        send_chunk(app, SMB_WRITER_MAX + 1, 0, 2, true, buffer);
        send_chunk(app, 1, 0, 2, true, (uint16_t)(buffer + 1));
        send_chunk(app, 1, 0, 2, true, 0);
        bytes[4] = 1;
        for (size_t n = 0; n < SMB_CHUNK_HEADER_BYTES; n++)
                producer_commit_data(app->producer, bytes, n, true, buffer);
        producer_commit_data(app->producer, bytes, sizeof(bytes), true, buffer);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->chunks_written, 0);

        /* Only a header: an empty chunk keeps its writer's numbers whole. */
        producer_commit_data(app->producer, bytes, SMB_CHUNK_HEADER_BYTES, true, buffer);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->chunks_written, 1);
        /* More packets than there are bytes. */
        send_chunk(app, 1, 1, SMB_COUNT_MASK, true, buffer);
        ck_assert_uint_eq(session_buffer_stats(consumer->session, 0)->abi_violations, 1);
        fixture_deinit(&f);
}
END_TEST

/*
 * Memory that the producer brings
 */

static FakeProducer *
bring_memory(uint8_t *memory, size_t n_bytes, uint32_t page_bytes, int outcome) {
        FakeProducer *app;

        fixture_init(&f);
        app = fixture_connect_plain_producer(&f, 1000, "sdk", NULL);
        ck_assert_int_eq(producer_adopt_memory(app->producer, memory, n_bytes, page_bytes),
                         outcome);
        return app;
}

START_TEST(test_memory_that_was_brought_is_used_and_no_other_made) {
        static _Alignas(4096) uint8_t memory[16384];
        FakeConsumer *consumer;
        FakeProducer *app;
        uint16_t buffer;
        Bytes trace;

        app = bring_memory(memory, sizeof(memory), 4096, 0);
        ck_assert_uint_eq(producer_memory_bytes(app->producer), sizeof(memory));
        smb_area_create_plain(&app->area, memory, sizeof(memory), 4096);
        /* Written before anybody asked for it. */
        plain_chunk(app, 1, 0, SMB_CHUNK_COMPLETE, 2, two_packets, sizeof(two_packets));
        fixture_add_source(app, "track_event", &(SourceOptions){});
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert_ptr_null(app->memory);
        buffer = fake_instance(app, "track_event")->target_buffer;
        producer_register_writer(app->producer, 1, buffer);
        producer_commit(app->producer, 0, 0, buffer);
        fixture_stop_session(&f, consumer);
        fixture_advance(&f, S);
        ck_assert_uint_eq(app->n_released, 0);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "b"), 1);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_memory_of_a_wrong_size_is_not_taken) {
        static const struct {
                size_t n_bytes;
                uint32_t page_bytes;
        } wrong[] = {
                { 0, 4096 },          { 4096, 0 },
                { 4096, 2048 },       { 4096, 8192 },
                { 61440, 20480 },     { 65536, 65536 },
                { 4096 + 512, 4096 }, { SMB_PAGES_BYTES_MAX + 4096, 4096 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
                const FakeProducer *app = bring_memory(
                        NULL, wrong[i].n_bytes, wrong[i].page_bytes, PRODUCER_E_INVALID);

                ck_assert_uint_eq(producer_memory_bytes(app->producer), 0);
                fixture_deinit(&f);
        }
}
END_TEST

START_TEST(test_memory_that_was_brought_is_taken_once_and_charged) {
        static _Alignas(4096) uint8_t memory[8192];
        FakeProducer *app = bring_memory(memory, sizeof(memory), 4096, 0);
        Charge charge;

        ck_assert_int_eq(producer_adopt_memory(app->producer, memory, sizeof(memory), 4096),
                         PRODUCER_E_INVALID);
        ck_assert_int_eq(quota_charge(&f.service->quota,
                                      &charge,
                                      1000,
                                      QUOTA_MEMORY_BYTES,
                                      quota_user_max(&f.service->quota, QUOTA_MEMORY_BYTES) -
                                              sizeof(memory)),
                         0);
        app = fixture_connect_plain_producer(&f, 1000, "more", NULL);
        ck_assert_int_eq(producer_adopt_memory(app->producer, memory, sizeof(memory), 4096),
                         PRODUCER_E_LIMIT);
        charge_deinit(&charge);
        ck_assert_int_eq(producer_adopt_memory(app->producer, memory, sizeof(memory), 4096), 0);
        fixture_deinit(&f);
}
END_TEST

/*
 * Answers: who gives which
 */

static FakeConsumer *start_silent(FakeProducer **ret_app, const void *descriptor, size_t n) {
        fixture_init(&f);
        *ret_app = fixture_connect_plain_producer(&f, 1000, "sdk", NULL);
        (*ret_app)->acks_start = (*ret_app)->acks_stop = false;
        fixture_add_source(*ret_app,
                           "app.own",
                           &(SourceOptions){ .descriptor = descriptor, .n_descriptor = n });
        return fixture_start_session(&f, 1000, CONFIG_ONE("app.own"));
}

START_TEST(test_a_source_that_does_not_report_starts_and_stops_is_not_waited_for) {
        static const uint8_t descriptor[] = "\x0a\x07"
                                            "app.own";
        FakeConsumer *consumer;
        FakeProducer *app;

        consumer = start_silent(&app, descriptor, sizeof(descriptor) - 1);
        ck_assert(fake_instance(app, "app.own")->start_asked);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_stop_session(&f, consumer);
        ck_assert(fake_instance(app, "app.own")->stop_asked);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_source_that_reports_starts_and_stops_is_waited_for) {
        static const uint8_t descriptor[] = "\x0a\x07"
                                            "app.own\x10\x01\x18\x01";
        FakeConsumer *consumer;
        FakeProducer *app;

        consumer = start_silent(&app, descriptor, sizeof(descriptor) - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTING);
        producer_source_started(app->producer, fake_instance(app, "app.own")->id, f.now);
        fixture_settle(&f);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        session_stop(consumer->session, "requested", f.now);
        fixture_settle(&f);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPING);
        producer_source_stopped(app->producer, fake_instance(app, "app.own")->id, f.now);
        fixture_settle(&f);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_source_that_is_taken_back_is_told_to_stop) {
        FakeConsumer *consumer;
        FakeProducer *app;
        uint16_t buffer;

        consumer = start_plain(&app, &buffer);
        ck_assert_int_eq(producer_remove_source(app->producer, "track_event", f.now), 0);
        ck_assert(fake_instance(app, "track_event")->stop_asked);
        fixture_settle(&f);
        fixture_stop_session(&f, consumer);
        fixture_deinit(&f);
}
END_TEST

/* It has no control area in which it could be told to ring. */
START_TEST(test_a_doorbell_of_who_has_none_is_not_heard) {
        FakeProducer *plain;

        fixture_init(&f);
        plain = fixture_connect_plain_producer(&f, 1000, "app", "track_event");
        producer_doorbell(plain->producer, f.now); /* nor before there is memory */
        fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        producer_doorbell(plain->producer, f.now);
        ck_assert_uint_gt(service_next_deadline(f.service), f.now);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("producer-foreign",
          test_a_doorbell_of_who_has_none_is_not_heard,
          test_commits_by_message_are_taken_and_bad_ones_ignored,
          test_last_fragment_of_an_unfinished_chunk_is_left_out,
          test_chunk_that_is_patched_in_place_is_read_once_it_is_complete,
          test_unregistered_writers_are_not_scanned,
          test_producer_that_wants_no_scraping_is_left_alone,
          test_patches_find_their_chunk_by_producer_writer_and_number,
          test_writer_stays_with_the_buffer_that_it_was_registered_for,
          test_every_number_of_a_message_may_be_a_lie,
          test_chunks_in_messages_are_as_good_as_those_in_memory,
          test_bad_chunks_in_messages_are_ignored,
          test_memory_that_was_brought_is_used_and_no_other_made,
          test_memory_of_a_wrong_size_is_not_taken,
          test_memory_that_was_brought_is_taken_once_and_charged,
          test_a_source_that_does_not_report_starts_and_stops_is_not_waited_for,
          test_a_source_that_reports_starts_and_stops_is_waited_for,
          test_source_that_is_taken_back_is_told_to_stop)
