/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a producer says that it lost is its word: told as such, and never more than can be. */

#include "fixture.h"

static Fixture f;
static FakeProducer *app;
static FakeConsumer *consumer;

static void begin(void) {
        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
}

static void say_lost(uint64_t n) {
        atomic_store(&app->area.control->n_dropped, n);
}

static void wait_for(uint64_t ns) {
        fixture_advance(&f, ns);
        service_tick(f.service, f.now);
}

static uint64_t n_lost(void) {
        SessionTotals totals;

        session_totals(consumer->session, &totals);
        return totals.packets_lost;
}

START_TEST(test_losses_that_can_be_are_believed) {
        begin();
        say_lost(1000);
        ck_assert_uint_eq(n_lost(), 1000);
        ck_assert_uint_eq(n_lost(), 1000);
        wait_for(1 * S);
        say_lost(1000 + PRODUCER_DROPS_PER_SECOND_MAX);
        ck_assert_uint_eq(n_lost(), 1000 + PRODUCER_DROPS_PER_SECOND_MAX);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_no_more_is_believed_than_time_allows) {
        static const uint64_t lies[] = { UINT64_MAX / 4, UINT64_MAX, UINT64_MAX / 2 };

        for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
                begin();
                wait_for(9 * S);
                say_lost(lies[i]);
                ck_assert_uint_le(n_lost(), 10 * PRODUCER_DROPS_PER_SECOND_MAX);
                fixture_deinit(&f);
        }
}
END_TEST

/* The rest of a lie is not believed later, either. */
START_TEST(test_lie_does_not_grow_by_waiting) {
        uint64_t n;

        begin();
        say_lost(UINT64_MAX / 4);
        n = n_lost();
        ck_assert_uint_le(n, PRODUCER_DROPS_PER_SECOND_MAX);
        wait_for(100 * S);
        ck_assert_uint_eq(n_lost(), n);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_losses_never_become_fewer) {
        begin();
        say_lost(500);
        ck_assert_uint_eq(n_lost(), 500);
        say_lost(3);
        ck_assert_uint_eq(n_lost(), 500);
        say_lost(5);
        ck_assert_uint_eq(n_lost(), 502);
        fixture_disconnect_producer(app);
        ck_assert_uint_eq(n_lost(), 502);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_counter_that_goes_back_and_forth_is_bounded) {
        begin();
        for (unsigned i = 0; i < 1000; i++) {
                say_lost(i % 2 ? 0 : UINT64_MAX);
                n_lost();
        }
        ck_assert_uint_le(n_lost(), PRODUCER_DROPS_PER_SECOND_MAX);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_losses_are_told_as_the_producers_word) {
        const List *at = NULL;
        NoteInfo note;

        begin();
        say_lost(42);
        fixture_stop_session(&f, consumer);
        ck_assert(session_next_note(consumer->session, &at, &note));
        ck_assert_str_eq(note.text, "it says it lost 42 packets");
        ck_assert_str_eq(note.producer, "app");
        ck_assert(!session_next_note(consumer->session, &at, &note));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_producer_that_lost_nothing_reports_nothing) {
        const List *at = NULL;
        NoteInfo note;

        begin();
        fixture_stop_session(&f, consumer);
        ck_assert(!session_next_note(consumer->session, &at, &note));
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("producer-losses",
          test_losses_that_can_be_are_believed,
          test_no_more_is_believed_than_time_allows,
          test_lie_does_not_grow_by_waiting,
          test_losses_never_become_fewer,
          test_counter_that_goes_back_and_forth_is_bounded,
          test_losses_are_told_as_the_producers_word,
          test_a_producer_that_lost_nothing_reports_nothing)
