/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "desktrace/track-event.h"
#include "track-world.h"
#include "wire/wire-reader.h"
#include "wire/wire-writer.h"

static uint64_t boottime_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

START_TEST(test_categories_are_offered) {
        World *world = world_new();
        FakeSource *source = fake_source(&world->fake, "track_event");
        WireReader reader, inner;
        WireField field, category;
        unsigned n = 0;

        ck_assert_ptr_nonnull(source);
        ck_assert_str_eq(source->categories, "render,net,render.noisy");
        ck_assert(source->no_flush); /* it is all in shared memory */
        ck_assert_uint_eq(source->n_packet_fields,
                          3); /* clock_snapshot, track_event, track_descriptor */
        wire_reader_init(&reader, source->descriptor, source->n_descriptor);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1)
                        ck_assert_int_eq(memcmp(field.data, "track_event", field.n_bytes), 0);
                if (field.number != 6)
                        continue;
                wire_reader_init_field(&inner, &field);
                while (wire_read(&inner, &category) > 0)
                        n++;
        }
        ck_assert_uint_eq(n, 3);
        world_free(world);
}
END_TEST

START_TEST(test_categories_are_on_as_the_session_says_and_while_it_runs) {
        World *world = world_new();
        uint64_t id;

        ck_assert(!dt_category_enabled(&render));
        id = world_record(world, NULL, NULL);
        ck_assert(dt_category_enabled(&render) && dt_category_enabled(&net));
        ck_assert(!dt_category_enabled(&noisy)); /* by its tag */
        ck_assert_int_eq(fake_stop(&world->fake, id), 0);
        ck_assert(!dt_category_enabled(&render) && !dt_category_enabled(&net));

        id = world_record(world, "render*", "*");
        ck_assert(dt_category_enabled(&render));
        ck_assert(!dt_category_enabled(&net));
        DT_INSTANT(net, "not recorded");
        DT_INSTANT(render, "recorded");
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, 1);
        ck_assert_int_eq(fake_stop(&world->fake, id), 0);
        world_free(world);
}
END_TEST

START_TEST(test_events_say_what_they_were_given) {
        const uint64_t before = boottime_ns();
        World *world = world_new();
        TraceEvent *event;

        world_record(world, NULL, NULL);
        errno = 55;
        DT_SLICE_BEGIN(render,
                       "frame",
                       DT_INT("n", -3),
                       DT_UINT("big", UINT64_MAX),
                       DT_DOUBLE("d", 0.5),
                       DT_BOOL("yes", 7),
                       DT_STRING("url", "a b"),
                       DT_STRING("null", NULL),
                       DT_POINTER("p", 0x10));
        DT_INSTANT(net, "packet", DT_FLOW(5), DT_FLOW_END(6));
        DT_SLICE_END(render);
        DT_COUNTER(render, "fps", 60);
        DT_COUNTER_DOUBLE(render, "load", 0.25);
        ck_assert_int_eq(errno, 55);
        world_read(world);

        ck_assert_uint_eq(world->trace->n_events, 5);
        event = trace_event(world->trace, BEGIN, "frame");
        ck_assert_ptr_nonnull(event);
        ck_assert_str_eq(event->category, "render");
        ck_assert_str_eq(event->args,
                         "n=-3 big=18446744073709551615 d=0.5 yes=true url=a b null=(null) p=0x10");
        ck_assert_uint_ge(event->ns, before);
        ck_assert_uint_le(event->ns, boottime_ns());
        event = trace_event(world->trace, INSTANT, "packet");
        ck_assert_str_eq(event->category, "net");
        ck_assert_str_eq(event->args, "flow=5 flow_end=6");
        ck_assert_ptr_nonnull(trace_event(world->trace, END, ""));
        ck_assert_int_eq(world->trace->events[3].int_value, 60);
        ck_assert(world->trace->events[4].double_value == 0.25);
        for (unsigned i = 1; i < 5; i++)
                ck_assert_uint_ge(world->trace->events[i].ns, world->trace->events[i - 1].ns);
        world_free(world);
}
END_TEST

START_TEST(test_arguments_nest) {
        World *world = world_new();

        world_record(world, NULL, NULL);
        DT_INSTANT(render,
                   "frame",
                   DT_INT("n", 1),
                   DT_DICT("size", DT_INT("w", 3), DT_ARRAY("v", DT_INT("", 1), DT_BOOL("", true))),
                   DT_STRING("after", "x"));
        world_read(world);
        ck_assert_str_eq(world->trace->events[0].args, "n=1 size={w=3 v=[1 true]} after=x");
        world_free(world);
}
END_TEST

START_TEST(test_arguments_that_nest_wrongly_are_closed_or_left_out) {
        const dt_arg open = dt_arg_text(DT_ARG_DICT, "d", NULL), close = DT_CLOSE;
        World *world = world_new();
        dt_arg args[2 * DT_ARGS_DEPTH_MAX + 5];
        size_t n = 0;

        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < DT_ARGS_DEPTH_MAX + 2; i++)
                args[n++] = open;
        args[n++] = DT_INT("too deep", 1);
        args[n++] = close;
        args[n++] = close;
        args[n++] = DT_INT("deep", 2);
        dt_instant(&render, NULL, "open", args, n);
        dt_instant(&render, NULL, "close", &close, 1);
        world_read(world);
        ck_assert_str_eq(world->trace->events[0].args, "d={d={d={d={d={d={d={d={deep=2}}}}}}}}");
        ck_assert_str_eq(world->trace->events[1].args, "");
        world_free(world);
}
END_TEST

START_TEST(test_events_say_when_where_and_to_what_they_belong) {
        static const dt_track memory = DT_COUNTER_TRACK("memory", "bytes");
        const uint64_t then = boottime_ns() - 5000;
        World *world = world_new();
        char expected[512];
        TraceTrack *track;
        unsigned line;

        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 2; i++) {
                line = __LINE__ + 1;
                DT_INSTANT(render, "late", DT_AT(then + i), DT_HERE, DT_STRING_INTERNED("s", "on"));
        }
        DT_INSTANT(net,
                   "request",
                   DT_CORRELATION(7),
                   DT_ALSO_CATEGORY(render),
                   DT_ALSO_COUNT(&memory, -5),
                   DT_ALSO_COUNT_DOUBLE(&memory, 0.5));
        DT_INSTANT(net, "text", DT_CORRELATION_TEXT("id 7"), DT_LOG(DT_LOG_WARNING, "low on it"));
        DT_INSTANT(net, "raw", DT_RAW("\x9a\x3f", 2), DT_RAW("\x02ok", 3));
        world_read(world);

        snprintf(expected, sizeof(expected), "here=%s@%s:%u s=#on", __FILE__, __func__, line);
        for (unsigned i = 0; i < 2; i++) {
                ck_assert_uint_eq(world->trace->events[i].ns, then + i);
                ck_assert_str_eq(world->trace->events[i].args, expected);
        }
        ck_assert_uint_gt(world->trace->events[2].ns, then + 5000);
        track = trace_track_named(world->trace, "memory");
        ck_assert(track && track->is_counter);
        snprintf(expected,
                 sizeof(expected),
                 "correlation=7 also=render on=%" PRIx64 " count=-5 on=%" PRIx64 " count=0.5",
                 track->uuid,
                 track->uuid);
        ck_assert_str_eq(world->trace->events[2].args, expected);
        ck_assert_str_eq(world->trace->events[3].args, "correlation=id 7 log=5:low on it");
        ck_assert_str_eq(world->trace->events[4].args, "field1011=0");
        world_free(world);
}
END_TEST

START_TEST(test_a_slice_may_say_more_at_its_end) {
        World *world = world_new();

        world_record(world, NULL, NULL);
        DT_SLICE_BEGIN(render, "frame");
        DT_SLICE_END_WITH(render, DT_INT("drawn", 3));
        world_read(world);
        ck_assert_str_eq(trace_event(world->trace, END, "")->args, "drawn=3");
        world_free(world);
}
END_TEST

START_TEST(test_states_are_a_track_of_their_own_kind) {
        static const dt_track player = DT_TRACK("player", 0);
        World *world = world_new();

        world_record(world, NULL, NULL);
        DT_STATE(render, &player, "buffering", DT_INT("n", 1));
        DT_STATE(render, &player, "");
        DT_STATE(render, NULL, "nobody's");
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, 2);
        ck_assert_ptr_nonnull(trace_event(world->trace, STATE, "buffering"));
        ck_assert_ptr_nonnull(trace_event(world->trace, STATE, ""));
        ck_assert(trace_track_named(world->trace, "player")->is_states);
        world_free(world);
}
END_TEST

START_TEST(test_events_are_on_tracks_of_threads_and_programs) {
        World *world = world_new();
        TraceTrack *thread, *process, *counter;

        prctl(PR_SET_NAME, "kernel name");
        world_record(world, NULL, NULL);
        DT_INSTANT(render, "here");
        DT_COUNTER(render, "fps", 60);
        dt_thread_set_name("a name of its own, longer than the kernel's");
        DT_INSTANT(render, "there");
        world_read(world);

        thread = trace_track(world->trace, trace_event(world->trace, INSTANT, "here")->uuid);
        ck_assert_ptr_nonnull(thread);
        ck_assert_int_eq(thread->pid, getpid());
        ck_assert_int_eq(thread->tid, gettid());
        ck_assert_str_eq(thread->thread_name, "a name of its own, longer than the kernel's");
        ck_assert_uint_eq(thread->n_described, 2); /* once with each name */
        process = trace_track(world->trace, thread->parent);
        ck_assert_ptr_nonnull(process);
        ck_assert_int_eq(process->process_pid, getpid());
        ck_assert_uint_gt(process->n_cmdline, 0);
        counter = trace_track_named(world->trace, "fps");
        ck_assert_ptr_nonnull(counter);
        ck_assert(counter->is_counter);
        ck_assert_uint_eq(counter->parent, process->uuid);
        ck_assert_uint_eq(trace_event(world->trace, COUNTER, "")->uuid, counter->uuid);
        dt_thread_set_name("");
        world_free(world);
}
END_TEST

START_TEST(test_own_tracks_are_described_once_under_their_parents) {
        static const dt_track gpu = DT_TRACK("gpu", 0), memory = DT_COUNTER_TRACK("memory", "MiB");
        const dt_track queue = { "queue", NULL, 1, &gpu }, other = { "queue", NULL, 2, &gpu };
        World *world = world_new();
        TraceTrack *parent;

        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 3; i++) {
                DT_SLICE_BEGIN_ON(render, &queue, "job", DT_INT("i", i));
                DT_SLICE_BEGIN_ON(render, &other, "job");
                DT_SLICE_END_ON(render, &queue);
                DT_SLICE_END_ON(render, &other);
                DT_COUNTER_ON(render, &memory, i);
                DT_COUNTER_DOUBLE_ON(render, &memory, i);
                DT_INSTANT_ON(render, &gpu, "tick");
        }
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, 21);
        parent = trace_track_named(world->trace, "gpu");
        ck_assert_ptr_nonnull(parent);
        ck_assert_uint_eq(parent->n_described, 1);
        ck_assert_uint_eq(trace_track_named(world->trace, "queue")->parent, parent->uuid);
        ck_assert_str_eq(trace_track_named(world->trace, "memory")->unit, "MiB");
        ck_assert_uint_ne(world->trace->events[0].uuid, world->trace->events[1].uuid);
        ck_assert_uint_eq(world->trace->events[0].uuid, world->trace->events[2].uuid);
        world_free(world);
}
END_TEST

START_TEST(test_events_that_say_nothing_new_are_small) {
        World *world = world_new();
        TraceEvent *last;

        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 3; i++) {
                DT_SLICE_BEGIN(render, "a slice with a rather long name", DT_INT("argument", i));
                DT_SLICE_END(render);
        }
        world_read(world);
        last = &world->trace->events[world->trace->n_events - 1];
        ck_assert_uint_le(last->n_packet, 12);
        ck_assert_str_eq(last[-1].name, "a slice with a rather long name");
        ck_assert_uint_le(last[-1].n_packet, 24);
        world_free(world);
}
END_TEST

/* Short events are encoded in shared memory, others are copied there: with texts of all lengths they take turns. */
START_TEST(test_events_of_all_sizes_are_whole_and_in_order) {
        enum { N_LENGTHS = 150, N_ROUNDS = 20 };
        World *world = world_new();
        char text[N_LENGTHS], expected[2 * N_LENGTHS];
        uint64_t ns = 0;

        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < N_LENGTHS * N_ROUNDS; i++) {
                memset(text, 'a' + (char)(i % 26), sizeof(text));
                text[i % N_LENGTHS] = '\0';
                DT_INSTANT(render, "sized", DT_INT("i", i), DT_STRING("text", text));
                if (i % N_LENGTHS == 0)
                        world_read(world);
        }
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, N_LENGTHS * N_ROUNDS);
        for (unsigned i = 0; i < N_LENGTHS * N_ROUNDS; i++) {
                memset(text, 'a' + (char)(i % 26), sizeof(text));
                text[i % N_LENGTHS] = '\0';
                snprintf(expected, sizeof(expected), "i=%u text=%s", i, text);
                ck_assert_str_eq(world->trace->events[i].args, expected);
                ck_assert_uint_ge(world->trace->events[i].ns, ns);
                ns = world->trace->events[i].ns;
        }
        world_free(world);
}
END_TEST

/* A text may change in its place, and what lies where it did last time may be another track. */
START_TEST(test_a_track_that_changes_in_its_place_is_another) {
        World *world = world_new();
        char name[] = "one", unit[] = "ms";
        dt_track parent = DT_TRACK("parent", 0), track = DT_COUNTER_TRACK(name, unit);
        TraceEvent *events;

        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 2; i++)
                DT_COUNTER_ON(render, &track, 1);
        strcpy(name, "two");
        for (unsigned i = 0; i < 2; i++)
                DT_COUNTER_ON(render, &track, 1);
        strcpy(unit, "s");
        for (unsigned i = 0; i < 2; i++)
                DT_COUNTER_ON(render, &track, 1);
        track.id = 16; /* at the same place as 0 */
        for (unsigned i = 0; i < 2; i++)
                DT_COUNTER_ON(render, &track, 1);
        track.parent = &parent;
        for (unsigned i = 0; i < 2; i++)
                DT_COUNTER_ON(render, &track, 1);
        strcpy(name, "one");
        strcpy(unit, "ms");
        track = (dt_track)DT_COUNTER_TRACK(name, unit);
        for (unsigned i = 0; i < 2; i++)
                DT_COUNTER_ON(render, &track, 1);
        world_read(world);
        events = world->trace->events;
        ck_assert_uint_eq(world->trace->n_events, 12);
        for (unsigned i = 0; i < 12; i += 2) {
                ck_assert_uint_eq(events[i].uuid, events[i + 1].uuid);
                for (unsigned j = 0; j < i; j++)
                        ck_assert((events[i].uuid == events[j].uuid) == (i == 10 && j < 2));
        }
        world_free(world);
}
END_TEST

START_TEST(test_more_names_than_can_be_numbered_are_written_out) {
        World *world = world_new();
        char name[32];

        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 1500; i++) {
                snprintf(name, sizeof(name), "name %u", i);
                DT_INSTANT(render, name);
                if (i % 100 == 0)
                        world_read(world);
        }
        DT_INSTANT(render, "name 7");
        world_read(world);
        for (unsigned i = 0; i < 1500; i++) {
                snprintf(name, sizeof(name), "name %u", i);
                ck_assert_str_eq(world->trace->events[i].name, name);
        }
        ck_assert_str_eq(world->trace->events[1500].name, "name 7");
        world_free(world);
}
END_TEST

START_TEST(test_cleared_state_is_written_again) {
        World *world = world_new();
        uint64_t id = world_record(world, NULL, NULL);
        unsigned sequence;

        DT_INSTANT(render, "before");
        ck_assert_int_eq(fake_clear(&world->fake, id), 0);
        DT_INSTANT(render, "before");
        DT_COUNTER(render, "fps", 1);
        DT_INSTANT(render, "before");
        world_read(world); /* fails if a name is used that was not given again */
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "before"), 3);
        sequence = world->trace->events[0].sequence;
        ck_assert_uint_eq(trace_sequence(world->trace, sequence)->n_starts, 2);
        ck_assert_uint_eq(trace_sequence(world->trace, sequence)->n_first, 1);
        ck_assert_uint_eq(trace_sequence(world->trace, sequence)->n_lost, 0);
        world_free(world);
}
END_TEST

START_TEST(test_lost_events_are_marked_and_the_rest_makes_sense) {
        World *world = world_new();
        static char text[3000];
        unsigned sequence;

        memset(text, 'x', sizeof(text) - 1);
        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 200; i++) {
                DT_SLICE(render, "filler", DT_STRING("text", text));
                DT_INSTANT(net, "also");
        }
        ck_assert_uint_gt(smb_n_dropped(&world->fake.area), 0);
        fake_drain(&world->fake);
        DT_SLICE_BEGIN(render, "after");
        DT_SLICE_END(render);
        world_read(world);
        sequence = world->trace->events[0].sequence;
        ck_assert_ptr_nonnull(trace_event(world->trace, BEGIN, "after"));
        ck_assert_uint_gt(trace_sequence(world->trace, sequence)->n_lost, 0);
        ck_assert_uint_eq(trace_sequence(world->trace, sequence)->n_starts,
                          trace_sequence(world->trace, sequence)->n_lost + 1);
        world_free(world);
}
END_TEST

START_TEST(test_slices_end_with_their_block) {
        World *world = world_new();

        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 2; i++) {
                DT_SLICE(render, "outer", DT_INT("i", i));
                DT_SLICE(render, "inner");
                if (i == 1)
                        break;
        }
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, 8);
        for (unsigned i = 0; i < 8; i++)
                ck_assert_uint_eq(world->trace->events[i].type, i % 4 < 2 ? BEGIN : END);
        world_free(world);
}
END_TEST

START_TEST(test_the_end_of_a_slice_from_before_the_session_is_not_mentioned) {
        World *world = world_new();

        DT_SLICE_BEGIN(render, "before");
        world_record(world, NULL, NULL);
        DT_SLICE_END(render);
        DT_SLICE_BEGIN(render, "in it");
        DT_SLICE_END(render);
        DT_SLICE_END(render);
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, 2);
        world_free(world);
}
END_TEST

START_TEST(test_too_much_for_an_event_is_left_out) {
        static char huge[3 * DT_TEXT_BYTES_MAX];
        World *world = world_new();
        TraceEvent *cut;

        memset(huge, 'y', sizeof(huge) - 1);
        memcpy(huge + DT_TEXT_BYTES_MAX - 2,
               "\xe2\x82\xac",
               3); /* a character that does not fit whole */
        world_record(world, NULL, NULL);
        DT_INSTANT(render, "cut", DT_STRING("s", huge));
        DT_INSTANT(render,
                   "bare",
                   DT_STRING("a", huge),
                   DT_STRING("b", huge),
                   DT_STRING("c", huge),
                   DT_STRING("d", huge));
        DT_INSTANT(render, "next", DT_INT("a", 1));
        world_read(world);
        cut = trace_event(world->trace, INSTANT, "cut");
        ck_assert_uint_gt(cut->n_packet, DT_TEXT_BYTES_MAX - 2);
        ck_assert_uint_lt(cut->n_packet, DT_TEXT_BYTES_MAX + 100);
        ck_assert_uint_eq(cut->n_text, DT_TEXT_BYTES_MAX - 2);
        ck_assert_str_eq(trace_event(world->trace, INSTANT, "bare")->args, "");
        ck_assert_str_eq(trace_event(world->trace, INSTANT, "next")->args, "a=1");
        world_free(world);
}
END_TEST

static void *work(void *userdata) {
        dt_thread_set_name(userdata);
        for (unsigned i = 0; i < 50; i++) {
                DT_SLICE(render, "work", DT_INT("i", i));
                DT_COUNTER(render, "done", i);
        }
        return NULL;
}

START_TEST(test_threads_have_their_own_tracks_and_leave_nothing_behind) {
        static char names[][16] = { "worker one", "worker two" };
        World *world = world_new();
        pthread_t threads[2];

        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 2; i++)
                ck_assert_int_eq(pthread_create(&threads[i], NULL, work, names[i]), 0);
        for (unsigned i = 0; i < 2; i++)
                pthread_join(threads[i], NULL);
        fake_drain(&world->fake); /* without flush: the threads' ends returned their chunks */
        ck_assert_uint_eq(trace_n_events(world->trace, BEGIN, "work"), 100);
        ck_assert_uint_eq(trace_n_events(world->trace, END, ""), 100);
        ck_assert_uint_ne(trace_track_named(world->trace, names[0])->uuid,
                          trace_track_named(world->trace, names[1])->uuid);
        ck_assert_ptr_nonnull(trace_track_named(world->trace, "done"));
        world_free(world);
}
END_TEST

static _Atomic bool stop_working;

static void *work_on(void *userdata) {
        while (!stop_working)
                work(userdata);
        return NULL;
}

START_TEST(test_sessions_start_and_stop_around_busy_threads) {
        static char names[][16] = { "worker one", "worker two" };
        World *world = world_new();
        pthread_t threads[2];

        world->trace->only_last = true;
        stop_working = false;
        for (unsigned i = 0; i < 2; i++)
                ck_assert_int_eq(pthread_create(&threads[i], NULL, work_on, names[i]), 0);
        for (unsigned i = 0; i < 10; i++) {
                uint64_t id = world_record(world, NULL, NULL);

                ck_assert_int_eq(fake_clear(&world->fake, id), 0);
                do {
                        ck_assert_int_eq(fake_flush(&world->fake, id), 0);
                        fake_drain(&world->fake);
                } while (world->trace->n_events == 0);
                ck_assert_int_eq(fake_stop(&world->fake, id), 0);
                fake_drain(&world->fake);
                world->trace->n_events = 0;
        }
        stop_working = true;
        for (unsigned i = 0; i < 2; i++)
                pthread_join(threads[i], NULL);
        world_free(world);
}
END_TEST

enum { N_COUNTING = 3, N_COUNTED = 20000 };

static _Atomic unsigned n_counting;

static void *count_up(void *userdata) {
        for (unsigned i = 0; i < N_COUNTED; i++)
                DT_INSTANT(render, "counted", DT_INT("i", i));
        n_counting--;
        return NULL;
}

START_TEST(test_what_is_written_is_read_or_counted_as_lost) {
        World *world = world_new();
        pthread_t threads[N_COUNTING];

        world->trace->only_last = true;
        world_record(world, NULL, NULL);
        /* The memory is emptied while they write, or only when they are gone: much is lost then. */
        for (unsigned round = 1; round <= 2; round++) {
                n_counting = N_COUNTING;
                for (unsigned i = 0; i < N_COUNTING; i++)
                        ck_assert_int_eq(pthread_create(&threads[i], NULL, count_up, NULL), 0);
                while (round == 1 && n_counting > 0)
                        fake_drain(&world->fake);
                for (unsigned i = 0; i < N_COUNTING; i++)
                        pthread_join(threads[i], NULL);
                fake_drain(&world->fake);
                ck_assert_uint_eq(world->trace->n_seen + smb_n_dropped(&world->fake.area),
                                  (size_t)N_COUNTING * N_COUNTED * round);
        }
        ck_assert_uint_gt(smb_n_dropped(&world->fake.area), 0);
        world_free(world);
}
END_TEST

START_TEST(test_a_category_that_comes_late_is_on_at_once) {
        static dt_category late = { .name = "late" };
        World *world = world_new();

        world_record(world, NULL, NULL);
        world->fake.n_sources = 0;
        dt_category_register(&late);
        dt_category_register(&late);
        ck_assert(dt_category_enabled(&late));
        fake_run(&world->fake, 1, 0);
        ck_assert_ptr_nonnull(strstr(fake_source(&world->fake, "track_event")->categories, "late"));
        DT_INSTANT(late, "seen");
        dt_category_unregister(&late);
        ck_assert(!dt_category_enabled(&late));
        DT_INSTANT(late, "not seen");
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, 1);
        ck_assert_str_eq(world->trace->events[0].category, "late");
        world_free(world);
}
END_TEST

START_TEST(test_events_of_a_forked_child_go_nowhere) {
        World *world = world_new();
        int status;
        pid_t pid;

        world_record(world, NULL, NULL);
        DT_INSTANT(render, "parent");
        pid = fork();
        if (pid == 0) {
                DT_INSTANT(render, "child");
                dt_thread_set_name("child");
                _exit(dt_init(NULL) == -ECANCELED ? 0 : 1);
        }
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
        DT_INSTANT(render, "parent");
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, 2);
        world_free(world);
}
END_TEST

START_TEST(test_recording_goes_on_with_the_next_service) {
        World *world = world_new();

        world_record(world, NULL, NULL);
        DT_INSTANT(render, "lost");
        world_free(world);

        world = world_new();
        world_record(world, NULL, NULL);
        DT_INSTANT(render, "found");
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, 1);
        ck_assert_str_eq(world->trace->events[0].name, "found");
        world_free(world);
}
END_TEST

TEST_MAIN("track-event",
          test_categories_are_offered,
          test_categories_are_on_as_the_session_says_and_while_it_runs,
          test_events_say_what_they_were_given,
          test_arguments_nest,
          test_arguments_that_nest_wrongly_are_closed_or_left_out,
          test_events_say_when_where_and_to_what_they_belong,
          test_a_slice_may_say_more_at_its_end,
          test_states_are_a_track_of_their_own_kind,
          test_events_are_on_tracks_of_threads_and_programs,
          test_own_tracks_are_described_once_under_their_parents,
          test_events_that_say_nothing_new_are_small,
          test_events_of_all_sizes_are_whole_and_in_order,
          test_a_track_that_changes_in_its_place_is_another,
          test_more_names_than_can_be_numbered_are_written_out,
          test_cleared_state_is_written_again,
          test_lost_events_are_marked_and_the_rest_makes_sense,
          test_slices_end_with_their_block,
          test_the_end_of_a_slice_from_before_the_session_is_not_mentioned,
          test_too_much_for_an_event_is_left_out,
          test_threads_have_their_own_tracks_and_leave_nothing_behind,
          test_sessions_start_and_stop_around_busy_threads,
          test_what_is_written_is_read_or_counted_as_lost,
          test_a_category_that_comes_late_is_on_at_once,
          test_events_of_a_forked_child_go_nowhere,
          test_recording_goes_on_with_the_next_service)
