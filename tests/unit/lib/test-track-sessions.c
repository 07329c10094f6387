/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <time.h>
#include <unistd.h>

#include "test.h"
#include "track-world.h"

/* The n-th event of a sequence, or NULL. */
static const TraceEvent *event_of(const Trace *trace, unsigned sequence, unsigned n) {
        for (size_t i = 0; i < trace->n_events; i++)
                if (trace->events[i].sequence == sequence && n-- == 0)
                        return &trace->events[i];
        return NULL;
}

static unsigned n_events_of(const Trace *trace, unsigned sequence) {
        unsigned n = 0;

        while (event_of(trace, sequence, n))
                n++;
        return n;
}

/* The sequence of the n-th session in the order of their first events. */
static unsigned sequence_of(const Trace *trace, unsigned n) {
        uint64_t seen = 0;

        for (size_t i = 0; i < trace->n_events; i++) {
                unsigned sequence = trace->events[i].sequence;

                if (!(seen & UINT64_C(1) << sequence) && n-- == 0)
                        return sequence;
                seen |= UINT64_C(1) << sequence;
        }
        ck_abort_msg("no such sequence");
}

static void check_same_event(const TraceEvent *a, const TraceEvent *b) {
        ck_assert_ptr_nonnull(a);
        ck_assert_ptr_nonnull(b);
        ck_assert_uint_eq(a->type, b->type);
        ck_assert_uint_eq(a->ns, b->ns);
        ck_assert_uint_eq(a->uuid, b->uuid);
        ck_assert_str_eq(a->name, b->name);
        ck_assert_str_eq(a->category, b->category);
        ck_assert_str_eq(a->args, b->args);
}

START_TEST(test_two_sessions_record_what_each_wants) {
        World *world = world_new();
        uint64_t one = world_record(world, NULL, "net"), two = world_record(world, NULL, "render");

        DT_INSTANT(render, "r");
        DT_INSTANT(net, "n");
        ck_assert_int_eq(fake_stop(&world->fake, one), 0);
        DT_INSTANT(render, "r");
        DT_INSTANT(net, "n");
        ck_assert_int_eq(fake_stop(&world->fake, two), 0);
        DT_INSTANT(net, "n");
        fake_drain(&world->fake);
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "r"), 1);
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "n"), 2);
        ck_assert_uint_ne(trace_event(world->trace, INSTANT, "r")->sequence,
                          trace_event(world->trace, INSTANT, "n")->sequence);
        world_free(world);
}
END_TEST

START_TEST(test_sessions_that_want_the_same_get_the_same) {
        static const dt_track track = DT_TRACK("a track", 7);
        World *world = world_new();
        Trace *trace = world->trace;
        unsigned one, two;

        world_record(world, NULL, NULL);
        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 20; i++) {
                DT_SLICE_BEGIN(render, "slice", DT_INT("i", i));
                DT_INSTANT_ON(net, &track, i % 2 ? "odd" : "even", DT_STRING("text", "words"));
                DT_COUNTER(render, "count", i);
                DT_SLICE_END(render);
        }
        world_read_all(world);
        one = sequence_of(trace, 0);
        two = sequence_of(trace, 1);
        ck_assert_uint_eq(n_events_of(trace, one), 80);
        ck_assert_uint_eq(n_events_of(trace, two), 80);
        for (unsigned i = 0; i < 80; i++)
                check_same_event(event_of(trace, one, i), event_of(trace, two, i));
        ck_assert_uint_eq(trace_sequence(trace, one)->n_starts, 1);
        ck_assert_uint_eq(trace_sequence(trace, two)->n_starts, 1);
        world_free(world);
}
END_TEST

/* Each kind has a stream of its own: what one of them gets says nothing to the others. */
START_TEST(test_sessions_that_want_different_things_do_not_begin_again_for_each_other) {
        World *world = world_new();
        Trace *trace = world->trace;
        unsigned n_sequences = 0;

        world_record(world, NULL, "net");
        world_record(world, NULL, NULL);
        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 20; i++) {
                DT_INSTANT(render, "of all");
                DT_INSTANT(net, "of two");
        }
        world_read_all(world);
        ck_assert_uint_eq(trace_n_events(trace, INSTANT, "of all"), 60);
        ck_assert_uint_eq(trace_n_events(trace, INSTANT, "of two"), 40);
        for (unsigned i = 0; i < TRACE_SEQUENCES_MAX; i++) {
                if (!trace->sequences[i])
                        continue;
                ck_assert_uint_eq(trace->sequences[i]->n_starts, 1);
                n_sequences++;
        }
        ck_assert_uint_eq(n_sequences, 3);
        world_free(world);
}
END_TEST

START_TEST(test_a_session_that_comes_later_hears_the_time_but_no_ends_from_before) {
        World *world = world_new();
        Trace *trace = world->trace;
        unsigned one, two;

        world_record(world, NULL, NULL);
        DT_SLICE_BEGIN(render, "outer");
        world_record(world, NULL, NULL);
        DT_SLICE_BEGIN(render, "inner");
        DT_SLICE_END(render);
        DT_SLICE_END(render);
        DT_INSTANT(render, "last");
        world_read_all(world);
        one = sequence_of(trace, 0);
        two = sequence_of(trace, 1);
        ck_assert_uint_eq(n_events_of(trace, one), 5);
        ck_assert_uint_eq(n_events_of(trace, two), 3);
        check_same_event(event_of(trace, one, 1), event_of(trace, two, 0));
        check_same_event(event_of(trace, one, 2), event_of(trace, two, 1));
        check_same_event(event_of(trace, one, 4), event_of(trace, two, 2));
        world_free(world);
}
END_TEST

START_TEST(test_a_session_that_is_cleared_leaves_its_like_whole) {
        World *world = world_new();
        Trace *trace = world->trace;
        uint64_t first = world_record(world, NULL, NULL);

        world_record(world, NULL, NULL);
        DT_INSTANT(render, "before", DT_INT("i", 1));
        ck_assert_int_eq(fake_clear(&world->fake, first), 0);
        DT_INSTANT(render, "before", DT_INT("i", 2));
        DT_INSTANT(net, "after");
        world_read_all(world);
        ck_assert_uint_eq(trace_n_events(trace, INSTANT, "before"), 4);
        ck_assert_uint_eq(trace_n_events(trace, INSTANT, "after"), 2);
        for (unsigned i = 0; i < 3; i++)
                check_same_event(event_of(trace, sequence_of(trace, 0), i),
                                 event_of(trace, sequence_of(trace, 1), i));
        world_free(world);
}
END_TEST

START_TEST(test_sessions_that_lose_events_find_back_to_each_other) {
        World *world = world_new();
        Trace *trace = world->trace;
        unsigned n;

        world_record(world, NULL, NULL);
        world_record(world, NULL, NULL);
        world_record(world, NULL, "net");
        trace->only_last = true;
        for (unsigned round = 0; round < 5; round++) {
                for (unsigned i = 0; i < 20000; i++)
                        DT_INSTANT(render, "many", DT_INT("i", i));
                world_read_all(world);
        }
        trace->only_last = false;
        trace->n_events = 0;
        for (n = 0; n < 10; n++)
                DT_INSTANT(render, "found", DT_INT("i", n));
        world_read_all(world);
        ck_assert_uint_eq(trace_n_events(trace, INSTANT, "found"), 30);
        for (n = 0; n < 10; n++) {
                check_same_event(event_of(trace, sequence_of(trace, 0), n),
                                 event_of(trace, sequence_of(trace, 1), n));
                check_same_event(event_of(trace, sequence_of(trace, 0), n),
                                 event_of(trace, sequence_of(trace, 2), n));
        }
        for (n = 0; n < 3; n++)
                ck_assert_uint_gt(trace_sequence(trace, sequence_of(trace, n))->n_lost, 0);
        world_free(world);
}
END_TEST

static const TraceEvent *last_event(const Trace *trace) {
        return &trace->events[trace->n_events - 1];
}

START_TEST(test_events_of_several_sessions_are_as_short_as_those_of_one) {
        World *world = world_new();
        size_t n_packet;

        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 3; i++)
                DT_INSTANT(render, "known");
        world_read_all(world);
        n_packet = last_event(world->trace)->n_packet;
        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 3; i++)
                DT_INSTANT(render, "known");
        world_read_all(world);
        ck_assert_uint_lt(last_event(world->trace)->n_packet, n_packet + n_packet / 2);
        world_free(world);
}
END_TEST

/* The first event with a name takes the long way, and the next one's time counts from it. */
START_TEST(test_an_event_is_at_its_time_after_one_with_a_new_name) {
        World *world = world_new();
        struct timespec now;

        world_record(world, NULL, NULL);
        DT_INSTANT(render, "first");
        usleep(20000);
        DT_INSTANT(render, "new");
        DT_INSTANT(render, "first");
        clock_gettime(CLOCK_BOOTTIME, &now);
        world_read_all(world);
        ck_assert_str_eq(last_event(world->trace)->name, "first");
        ck_assert_uint_le(last_event(world->trace)->ns,
                          (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + 1000000);
        world_free(world);
}
END_TEST

START_TEST(test_more_sessions_than_there_is_room_for_are_refused) {
        World *world = world_new();

        for (unsigned i = 0; i < DT_SESSIONS_MAX; i++)
                world_record(world, NULL, NULL);
        ck_assert_int_lt(try_session(world, NULL, NULL), 0);
        ck_assert_ptr_nonnull(strstr(world->fake.error, "8 sessions"));
        DT_INSTANT(render, "in all");
        for (unsigned i = 1; i <= DT_SESSIONS_MAX; i++)
                ck_assert_int_eq(fake_stop(&world->fake, i), 0);
        fake_drain(&world->fake);
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "in all"), DT_SESSIONS_MAX);
        ck_assert_int_eq(try_session(world, NULL, NULL), 0);
        world_free(world);
}
END_TEST

TEST_MAIN("track-sessions",
          test_two_sessions_record_what_each_wants,
          test_sessions_that_want_the_same_get_the_same,
          test_sessions_that_want_different_things_do_not_begin_again_for_each_other,
          test_a_session_that_comes_later_hears_the_time_but_no_ends_from_before,
          test_a_session_that_is_cleared_leaves_its_like_whole,
          test_sessions_that_lose_events_find_back_to_each_other,
          test_events_of_several_sessions_are_as_short_as_those_of_one,
          test_an_event_is_at_its_time_after_one_with_a_new_name,
          test_more_sessions_than_there_is_room_for_are_refused)
