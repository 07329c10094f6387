/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Shared memory is there for as long as a producer records, and a little longer. */

#include <stdio.h>

#include "fixture.h"

static Fixture f;

START_TEST(test_memory_is_given_back_a_while_after_the_last_instance) {
        FakeProducer *app, *idle;
        FakeConsumer *first, *second;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        idle = fixture_connect_producer(&f, 1000, "idle", "app.other");
        first = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        second = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert_uint_gt(producer_memory_bytes(app->producer), 0);
        fixture_stop_session(&f, first);
        fixture_advance(&f, 10 * PRODUCER_KEEP_MEMORY_NS);
        ck_assert_uint_eq(app->n_released, 0);
        fixture_stop_session(&f, second);
        fixture_advance(&f, PRODUCER_KEEP_MEMORY_NS - 1);
        ck_assert_uint_eq(app->n_released, 0);
        fixture_advance(&f, 1);
        ck_assert_uint_eq(app->n_released, 1);
        ck_assert_uint_eq(producer_memory_bytes(app->producer), 0);
        ck_assert_uint_eq(idle->n_released, 0);
        ck_assert_uint_eq(service_next_deadline(f.service), UINT64_MAX);

        /* A doorbell that still rings finds nothing, and nobody. */
        producer_doorbell(app->producer, f.now);
        fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert_uint_gt(producer_memory_bytes(app->producer), 0);
        fixture_deinit(&f);
}
END_TEST

/* Otherwise the next look would be into memory that is no longer there. */
START_TEST(test_a_producer_that_rings_before_its_memory_goes_is_not_looked_at_afterwards) {
        FakeProducer *app;
        FakeConsumer *consumer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        fixture_stop_session(&f, consumer);
        fixture_advance(&f, PRODUCER_KEEP_MEMORY_NS - 1);
        producer_doorbell(app->producer, f.now);
        ck_assert_uint_lt(service_next_deadline(f.service), f.now + PRODUCER_DRAIN_INTERVAL_NS + 1);
        fixture_advance(&f, 1);
        ck_assert_uint_eq(app->n_released, 1);
        ck_assert_uint_eq(service_next_deadline(f.service), UINT64_MAX);
        fixture_advance(&f, 2 * PRODUCER_DRAIN_INTERVAL_NS);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_memory_that_is_used_again_in_time_stays) {
        FakeProducer *app;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        for (unsigned i = 0; i < 5; i++) {
                FakeConsumer *consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));

                fixture_advance(&f, 2 * PRODUCER_KEEP_MEMORY_NS);
                fixture_stop_session(&f, consumer);
                fixture_free_session(consumer);
                fixture_advance(&f, PRODUCER_KEEP_MEMORY_NS - 1);
        }
        ck_assert_uint_eq(app->n_released, 0);
        fixture_advance(&f, 1);
        ck_assert_uint_eq(app->n_released, 1);
        fixture_deinit(&f);
}
END_TEST

/* Writer ids and chunk numbers are the same in each memory. */
START_TEST(test_session_does_not_mix_what_came_through_two_memories) {
        FakeProducer *app;
        FakeConsumer *consumer;
        TestPacket first, second;
        SmbWriter *writer;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        for (unsigned i = 0; i < 12; i++) {
                char text[32];

                snprintf(text, sizeof(text), "memory %u", i);
                writer = fake_writer_new(app, fake_instance(app, "track_event"));
                ck_assert_uint_eq(writer->writer_id, 1);
                ck_assert_uint_eq(writer->next_chunk_id, 0);
                fake_write(writer, text);
                ck_assert(fake_ring(app));
                free(writer);
                ck_assert_int_eq(producer_remove_source(app->producer, "track_event", f.now), 0);
                fixture_advance(&f, PRODUCER_KEEP_MEMORY_NS);
                ck_assert_uint_eq(app->n_released, i + 1);
                fixture_add_source(app, "track_event", &(SourceOptions){});
        }
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        for (unsigned i = 0; i < 12; i++) {
                char text[32];

                snprintf(text, sizeof(text), "memory %u", i);
                ck_assert_msg(trace_count_text(&trace, text) == 1, "%s", text);
        }
        first = trace_text(&trace, "memory 0");
        second = trace_text(&trace, "memory 1");
        ck_assert_uint_ne(packet_uint(&first, 10), packet_uint(&second, 10)); /* sequences */
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_producer_may_leave_while_its_memory_waits_to_be_given_back) {
        FakeProducer *app;
        FakeConsumer *consumer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        fixture_stop_session(&f, consumer);
        fixture_disconnect_producer(app);
        fixture_advance(&f, 2 * PRODUCER_KEEP_MEMORY_NS);
        ck_assert_uint_eq(service_next_deadline(f.service), UINT64_MAX);
        fixture_deinit(&f);
}
END_TEST

/* Perfetto's protocol knows no way to take it back. */
START_TEST(test_memory_of_perfettos_producers_stays) {
        FakeProducer *app;
        FakeConsumer *consumer;

        fixture_init(&f);
        app = fixture_connect_plain_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        fixture_stop_session(&f, consumer);
        fixture_advance(&f, 2 * PRODUCER_KEEP_MEMORY_NS);
        ck_assert_uint_eq(app->n_released, 0);
        ck_assert_uint_gt(producer_memory_bytes(app->producer), 0);
        fixture_deinit(&f);
}
END_TEST

#define HUGE_CONFIG(name) \
        "producers { producer_name: \"" name "\" shm_size_kb: 8192 page_size_kb: 32 } "

static size_t fill(FakeProducer *producer) {
        SmbWriter *writer = fake_writer_new(producer, fake_instance(producer, "track_event"));
        static char packet[32000];
        size_t n = 0;

        while (smb_writer_write(writer, packet, sizeof(packet)) == 0)
                n++;
        smb_writer_deinit(writer);
        free(writer);
        return n;
}

static uint64_t written(const FakeConsumer *consumer) {
        SessionTotals totals;

        session_totals(consumer->session, &totals);
        return totals.bytes_written;
}

/* Others are served in between, and each producer has its turn. */
START_TEST(test_much_data_is_taken_in_pieces) {
        FakeProducer *apps[2];
        FakeConsumer *consumer;
        uint64_t before = 0;

        fixture_init(&f);
        apps[0] = fixture_connect_producer(&f, 1000, "a", "track_event");
        apps[1] = fixture_connect_producer(&f, 1000, "b", "track_event");
        consumer = fixture_start_session(&f,
                                         1000,
                                         "buffers { size_kb: 65536 } data_sources { config { name: "
                                         "\"track_event\" } } " HUGE_CONFIG("a") HUGE_CONFIG("b"));
        for (size_t i = 0; i < 2; i++) {
                ck_assert_uint_gt(fill(apps[i]), 200);
                producer_doorbell(apps[i]->producer, f.now);
                ck_assert_uint_le(written(consumer) - before, PRODUCER_RING_BYTES + (64u << 10));
                before = written(consumer);
        }
        while (service_next_deadline(f.service) <= f.now) {
                service_tick(f.service, f.now);
                ck_assert_uint_le(written(consumer) - before, SERVICE_LOOK_BYTES + (64u << 10));
                before = written(consumer);
        }
        ck_assert_uint_gt(before, 2 * 200 * 32000);
        fixture_deinit(&f);
}
END_TEST

/* A reader gets all of the data, also when a look has left off in the middle. */
START_TEST(test_a_flush_takes_all_at_once) {
        FakeConsumer *consumer;
        FakeProducer *app;
        uint64_t before;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "a", "track_event");
        consumer = fixture_start_session(&f,
                                         1000,
                                         "buffers { size_kb: 65536 } data_sources { config { name: "
                                         "\"track_event\" } } " HUGE_CONFIG("a"));
        for (unsigned i = 0; i < 4; i++) {
                before = written(consumer);
                fill(app);
                if (i & 1)
                        atomic_store(&app->area.control->rescan, 1);
                producer_doorbell(app->producer, f.now);
                fill(app);
                ck_assert_int_eq(session_flush(consumer->session, 0, 0, NULL, NULL, f.now), 0);
                fixture_settle(&f);
                ck_assert_uint_gt(written(consumer) - before, 220 * 32000);
        }
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("producer-memory",
          test_memory_is_given_back_a_while_after_the_last_instance,
          test_a_producer_that_rings_before_its_memory_goes_is_not_looked_at_afterwards,
          test_memory_that_is_used_again_in_time_stays,
          test_session_does_not_mix_what_came_through_two_memories,
          test_producer_may_leave_while_its_memory_waits_to_be_given_back,
          test_memory_of_perfettos_producers_stays,
          test_much_data_is_taken_in_pieces,
          test_a_flush_takes_all_at_once)
