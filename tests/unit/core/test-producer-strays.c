/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Chunks that no buffer takes: whose losses they are not. Foreign ones are in test-producer.c. */

#include "core/model/session.h"
#include "fixture.h"

static Fixture f;

static FakeConsumer *start_with_writer(FakeProducer **ret_app, SmbWriter **ret_writer) {
        FakeConsumer *consumer;

        fixture_init(&f);
        *ret_app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        *ret_writer = fake_writer_new(*ret_app, fake_instance(*ret_app, "track_event"));
        return consumer;
}

START_TEST(test_chunks_for_a_freed_session_are_no_loss_of_another) {
        FakeConsumer *freed, *other;
        SessionTotals totals;
        FakeProducer *app;
        SmbWriter *writer;

        freed = start_with_writer(&app, &writer);
        other = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        fake_write(writer, "for the first");
        fixture_free_session(freed);
        fake_ring(app);
        fixture_settle(&f);
        session_totals(other->session, &totals);
        ck_assert_uint_eq(totals.chunks_lost, 0);
        ck_assert_uint_eq(other->session->chunks_discarded, 0);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_nor_are_chunks_for_a_stopped_one) {
        FakeConsumer *stopped, *other;
        FakeProducer *app;
        SmbWriter *writer;

        stopped = start_with_writer(&app, &writer);
        other = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        fixture_stop_session(&f, stopped);
        fake_write(writer, "too late");
        fake_ring(app);
        fixture_settle(&f);
        ck_assert_uint_eq(other->session->chunks_discarded, 0);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

/* A buffer that is nobody's: which session the patch was meant for is not known. */
START_TEST(test_stray_patches_are_counted_in_each_session_of_their_producer) {
        FakeConsumer *first, *second;
        FakeProducer *app;
        SmbWriter *writer;

        first = start_with_writer(&app, &writer);
        second = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        producer_patch(app->producer, 60000, 1, 0, 0, (const uint8_t *)"evil", false);
        producer_patch(app->producer, 60000, 1, 0, 0, (const uint8_t *)"evil", false);
        ck_assert_uint_eq(first->session->patches_discarded, 2);
        ck_assert_uint_eq(second->session->patches_discarded, 2);
        ck_assert_uint_eq(first->session->chunks_discarded, 0);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("producer-strays",
          test_stray_patches_are_counted_in_each_session_of_their_producer,
          test_chunks_for_a_freed_session_are_no_loss_of_another,
          test_nor_are_chunks_for_a_stopped_one)
