/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tracks of one's own, and the names of threads and the program. What is said about a track stays for good, so without
 * fork each test has tracks of its own. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>

#include "track-world.h"

/* Of a track under the root with the name and id below. It never changes: other programs have the same. */
#define GLOBAL_UUID UINT64_C(0x6ccef553d740d1ed)

static TraceTrack *track_of(World *world, const char *event) {
        return trace_track(world->trace, trace_event(world->trace, INSTANT, event)->uuid);
}

START_TEST(test_a_track_says_what_it_was_described_with_in_every_session) {
        static const dt_track parent = DT_TRACK("described", 0);
        static const dt_track child = DT_TRACK_UNDER(&parent, "child", 1);
        const dt_track_details details = {
                .size = sizeof(details),
                .description = "What it shows",
                .child_order = DT_ORDER_BY_RANK,
                .merge = DT_MERGE_NONE,
        };
        const dt_track_details of_child = {
                .size = sizeof(of_child),
                .rank = -7,
                .merge = DT_MERGE_BY_KEY,
                .merge_key = "children",
        };
        World *world;

        ck_assert_int_eq(dt_track_describe(&parent, &details), 0); /* before dt_init() */
        world = world_new();
        ck_assert_int_eq(dt_track_describe(&child, &of_child), 0);
        for (unsigned i = 0; i < 2; i++) {
                uint64_t id = world_record(world, NULL, NULL);

                DT_INSTANT_ON(render, &child, "on child");
                world_read(world);
                ck_assert_int_eq(fake_stop(&world->fake, id), 0);
                ck_assert_str_eq(trace_track_named(world->trace, "described")->details,
                                 "14=What it shows 11=3 15=2");
                ck_assert_str_eq(trace_track_named(world->trace, "child")->details,
                                 "12=-7 15=3 16=children");
                ck_assert_uint_eq(trace_track_named(world->trace, "child")->n_described, i + 1);
        }
        world_free(world);
}
END_TEST

START_TEST(test_counters_say_their_unit_scale_and_categories) {
        static const dt_track counter = DT_COUNTER_TRACK("sizes", "ignored");
        const dt_track_details details = {
                .size = sizeof(details),
                .unit = DT_UNIT_SIZE_BYTES,
                .unit_multiplier = 1024,
                .y_axis = "memory",
                .categories = "render,net",
                .is_incremental = true, /* ignored: not of a thread */
        };
        World *world = world_new();

        ck_assert_int_eq(dt_track_describe(&counter, &details), 0);
        world_record(world, NULL, NULL);
        DT_COUNTER_ON(render, &counter, 5);
        DT_COUNTER_ON(render, &counter, 7);
        world_read(world);
        ck_assert_str_eq(trace_track_named(world->trace, "sizes")->details,
                         "8.2=render 8.2=net 8.3=3 8.4=1024 8.7=memory");
        ck_assert_str_eq(trace_track_named(world->trace, "sizes")->unit, "");
        ck_assert_int_eq(world->trace->events[1].int_value, 7);
        world_free(world);
}
END_TEST

START_TEST(test_differences_add_up_to_what_was_counted_also_after_a_new_start) {
        static const dt_track counter = DT_COUNTER_TRACK_UNDER(&dt_thread_track, "cpu time", "ns");
        static const double values[] = { 1e15, 1e15 + 7, 3.5, -4, 0, 9e15, 1 };
        const dt_track_details details = { .size = sizeof(details), .is_incremental = true };
        World *world = world_new();
        TraceEvent *events = world->trace->events;
        uint64_t id;

        ck_assert_int_eq(dt_track_describe(&counter, &details), 0);
        id = world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 7; i++)
                DT_COUNTER_DOUBLE_ON(render, &counter, values[i]);
        ck_assert_int_eq(fake_clear(&world->fake, id), 0);
        for (unsigned i = 0; i < 3; i++)
                DT_COUNTER_ON(render, &counter, INT64_C(1000000000000) + i);
        DT_INSTANT(render, "also", DT_ALSO_COUNT(&counter, 1000000000000));
        world_read(world);
        ck_assert(trace_track_named(world->trace, "cpu time")->is_incremental);
        for (unsigned i = 0; i < 7; i++)
                ck_assert_msg(events[i].double_value == values[i], "value %u", i);
        for (unsigned i = 0; i < 3; i++)
                ck_assert_int_eq(events[7 + i].int_value, INT64_C(1000000000000) + i);
        ck_assert_uint_lt(events[9].n_packet, events[7].n_packet);
        ck_assert_ptr_nonnull(strstr(trace_event(world->trace, INSTANT, "also")->args, "count=-2"));
        world_free(world);
}
END_TEST

START_TEST(test_descriptions_that_cannot_be_are_refused) {
        static const dt_track track = DT_TRACK("refused", 0), nameless = DT_TRACK(NULL, 0);
        dt_track_details details = { .size = sizeof(details), .rank = 1 }, other = details;
        struct {
                dt_track_details known;
                uint64_t newer;
        } newer = { .known = { .size = sizeof(newer), .rank = 1 }, .newer = 1 };

        ck_assert_int_eq(dt_track_describe(NULL, &details), -EINVAL);
        ck_assert_int_eq(dt_track_describe(&nameless, &details), -EINVAL);
        ck_assert_int_eq(dt_track_describe(&track, NULL), -EINVAL);
        for (size_t size = 0; size < offsetof(dt_track_details, is_incremental); size += 8) {
                other.size = size;
                ck_assert_int_eq(dt_track_describe(&track, &other), -EINVAL);
        }
        other.size = 1 << 20;
        ck_assert_int_eq(dt_track_describe(&track, &other), -EINVAL);
        other = (dt_track_details){ .size = sizeof(other), .child_order = 4 };
        ck_assert_int_eq(dt_track_describe(&track, &other), -EINVAL);
        other = (dt_track_details){ .size = sizeof(other), .merge = (dt_track_merge)-1 };
        ck_assert_int_eq(dt_track_describe(&track, &other), -EINVAL);
        other = (dt_track_details){ .size = sizeof(other), .unit = 77 };
        ck_assert_int_eq(dt_track_describe(&track, &other), -EINVAL);

        ck_assert_int_eq(dt_track_describe(&track, &details), 0);
        ck_assert_int_eq(dt_track_describe(&track, &newer.known), 0); /* of a newer header */
        other = (dt_track_details){ .size = sizeof(other), .rank = 2 };
        ck_assert_int_eq(dt_track_describe(&track, &other), -EEXIST);
}
END_TEST

START_TEST(test_texts_of_descriptions_are_copied_and_cut) {
        static const dt_track track = DT_TRACK("long", 0);
        static char longest[10 * DT_EVENT_BYTES_MAX];
        const dt_track_details details = {
                .size = sizeof(details),
                .description = longest,
                .merge_key = longest,
                .y_axis = longest,
                .categories = longest,
        };
        World *world = world_new();

        memset(longest, 'x', sizeof(longest) - 1);
        ck_assert_int_eq(dt_track_describe(&track, &details), 0);
        memset(longest, 'y', sizeof(longest) - 1);
        world_record(world, NULL, NULL);
        DT_INSTANT_ON(render, &track, "here");
        world_read(world);
        ck_assert_mem_eq(trace_track_named(world->trace, "long")->details, "14=xxx", 6);
        ck_assert_ptr_nonnull(trace_event(world->trace, INSTANT, "here"));
        world_free(world);
}
END_TEST

static void *emit_on_thread_tracks(void *userdata) {
        static const dt_track row = DT_TRACK_UNDER(&dt_thread_track, "row of a thread", 0);
        static const dt_track inner = DT_TRACK_UNDER(&row, "inner", 0);

        DT_INSTANT(render, userdata);
        DT_INSTANT_ON(render, &inner, userdata);
        DT_INSTANT_ON(render, &dt_thread_track, userdata);
        return NULL;
}

START_TEST(test_each_thread_has_its_own_tracks_below_its_own) {
        World *world = world_new();
        TraceEvent *events = world->trace->events;
        pthread_t thread;

        world_record(world, NULL, NULL);
        emit_on_thread_tracks((char *)"main");
        pthread_create(&thread, NULL, emit_on_thread_tracks, (char *)"other");
        pthread_join(thread, NULL);
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, 6);
        for (unsigned i = 0; i < 6; i += 3) {
                TraceTrack *inner = trace_track(world->trace, events[i + 1].uuid);
                TraceTrack *row = trace_track(world->trace, inner->parent);

                ck_assert_str_eq(inner->name, "inner");
                ck_assert_str_eq(row->name, "row of a thread");
                ck_assert_uint_eq(row->parent, events[i].uuid);
                ck_assert_uint_eq(events[i + 2].uuid, events[i].uuid); /* the thread's own */
        }
        ck_assert_uint_ne(events[1].uuid, events[4].uuid);
        world_free(world);
}
END_TEST

/* In any program: the numbers are part of what they have in common. */
START_TEST(test_tracks_of_the_whole_trace_are_the_same_for_all_programs) {
        static const dt_track global = DT_TRACK_UNDER(&dt_root_track, "the whole trace", 3);
        static const dt_track counter = DT_COUNTER_TRACK_UNDER(&global, "counter", "bytes");
        World *world = world_new();

        world_record(world, NULL, NULL);
        DT_INSTANT_ON(render, &global, "global");
        DT_COUNTER_ON(render, &counter, 1);
        DT_INSTANT_ON(render, &dt_root_track, "at the root");
        world_read(world);
        ck_assert_uint_eq(track_of(world, "global")->parent, 0);
        ck_assert_uint_eq(track_of(world, "global")->uuid, GLOBAL_UUID);
        ck_assert_uint_eq(trace_track_named(world->trace, "counter")->parent, GLOBAL_UUID);
        ck_assert_uint_eq(trace_event(world->trace, INSTANT, "at the root")->uuid, 0);
        world_free(world);
}
END_TEST

/*
 * Names
 */

static TraceTrack *process_track(World *world) {
        for (size_t i = 0; i < world->trace->n_tracks; i++)
                if (world->trace->tracks[i].process_pid > 0)
                        return &world->trace->tracks[i];
        ck_abort_msg("the program has no track");
        return NULL;
}

START_TEST(test_the_program_is_called_what_it_says_also_when_it_changes) {
        const char *labels[DT_PROCESS_LABELS_MAX + 2] = { "a document", NULL };
        World *world = world_new();

        for (unsigned i = 2; i < DT_PROCESS_LABELS_MAX + 2; i++)
                labels[i] = "x";
        dt_process_set_name("Before");
        world_record(world, NULL, NULL);
        DT_INSTANT(render, "one");
        world_read(world);
        ck_assert_str_eq(process_track(world)->details, "3.6=Before");

        errno = 55;
        dt_process_set_name("After");
        dt_process_set_labels(labels, DT_PROCESS_LABELS_MAX + 2);
        ck_assert_int_eq(errno, 55);
        world_read(world); /* without another event */
        ck_assert_str_eq(process_track(world)->details,
                         "3.6=After 3.8=a document 3.8= 3.8=x 3.8=x 3.8=x 3.8=x 3.8=x 3.8=x");
        dt_process_set_labels(NULL, 0);
        dt_process_set_name(NULL);
        world_record(world, NULL, NULL);
        DT_INSTANT(render, "two");
        world_read_all(world);
        ck_assert_str_eq(process_track(world)->details, "3.6=test-lib-tracks");
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "two"), 2);
        world_free(world);
}
END_TEST

START_TEST(test_a_name_that_finds_no_room_is_said_later_and_is_no_loss) {
        World *world = world_new();
        uint64_t n_emitted = 0, n_dropped;
        char text[1000] = "";

        memset(text, 'x', sizeof(text) - 1);
        world_record(world, NULL, NULL);
        for (; smb_n_dropped(&world->fake.area) == 0; n_emitted++)
                DT_INSTANT(render, "large", DT_STRING("text", text));
        for (unsigned i = 0; i < 500; i++, n_emitted++) /* until not even a stream's start fits */
                DT_INSTANT(render, "small");
        n_dropped = smb_n_dropped(&world->fake.area);
        dt_process_set_name("Without room");
        ck_assert_uint_eq(smb_n_dropped(&world->fake.area), n_dropped);
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events + n_dropped, n_emitted);
        DT_INSTANT(render, "two");
        world_read(world);
        ck_assert_str_eq(process_track(world)->details, "3.6=Without room");
        ck_assert_uint_eq(smb_n_dropped(&world->fake.area), n_dropped);
        dt_process_set_name(NULL);
        world_free(world);
}
END_TEST

static void *rename_process(void *userdata) {
        for (unsigned i = 0; i < 200; i++) {
                char name[32];

                snprintf(name, sizeof(name), "name %u", i);
                dt_process_set_name(name);
                DT_INSTANT(render, "named");
        }
        return NULL;
}

START_TEST(test_threads_may_name_the_program_at_once) {
        World *world = world_new();
        pthread_t threads[4];

        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 4; i++)
                pthread_create(&threads[i], NULL, rename_process, NULL);
        for (unsigned i = 0; i < 4; i++)
                pthread_join(threads[i], NULL);
        world_read(world);
        ck_assert_uint_gt(process_track(world)->n_described, 4);
        dt_process_set_name(NULL);
        world_free(world);
}
END_TEST

START_TEST(test_threads_and_programs_have_ranks_and_the_trace_is_told_to_use_them) {
        World *world = world_new();

        dt_thread_set_rank(-5);
        world_record(world, NULL, NULL);
        DT_INSTANT(render, "ranked");
        world_read(world);
        ck_assert_str_eq(track_of(world, "ranked")->details, "12=-5");
        ck_assert_str_eq(trace_track(world->trace, 0)->details, "19=1 20=1");
        dt_process_set_rank(3);
        world_read(world);
        ck_assert_str_eq(process_track(world)->details, "3.6=test-lib-tracks 12=3");
        dt_thread_set_rank(0);
        dt_process_set_rank(0);
        DT_INSTANT(render, "no longer");
        world_read(world);
        ck_assert_str_eq(track_of(world, "ranked")->details, "");
        world_free(world);
}
END_TEST

START_TEST(test_a_forked_child_says_nothing_and_waits_for_nothing) {
        static const dt_track track = DT_TRACK("of a child", 0);
        const dt_track_details details = { .size = sizeof(details) };
        World *world = world_new();
        int status;
        pid_t pid;

        world_record(world, NULL, NULL);
        pid = fork();
        if (pid == 0) {
                dt_process_set_name("child");
                dt_process_set_labels(NULL, 0);
                dt_process_set_rank(1);
                dt_thread_set_rank(1);
                _exit(dt_track_describe(&track, &details) == -ECANCELED &&
                                      !dt_category_enabled(
                                              dt_category_find_or_add("of a child", NULL, NULL))
                              ? 0
                              : 1);
        }
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
        world_free(world);
}
END_TEST

/*
 * Lanes
 */

START_TEST(test_things_that_overlap_have_lanes_which_are_used_again) {
        static const dt_track parent = DT_TRACK("parent of lanes", 0);
        dt_lanes lanes = DT_LANES("request");
        World *world = world_new();
        dt_track first, second, third;

        lanes.parent = &parent;
        lanes.id = 1000;
        world_record(world, NULL, NULL);
        first = dt_lane_take(&lanes);
        second = dt_lane_take(&lanes);
        ck_assert_uint_eq(first.id, 1000);
        ck_assert_uint_eq(second.id, 1001);
        ck_assert_str_eq(first.name, "request");
        DT_SLICE_BEGIN_ON(render, &first, "a");
        DT_SLICE_BEGIN_ON(render, &second, "b");
        DT_SLICE_END_ON(render, &first);
        dt_lane_return(&lanes, &first);
        third = dt_lane_take(&lanes);
        ck_assert_uint_eq(third.id, 1000);
        DT_SLICE_BEGIN_ON(render, &third, "c");
        world_read(world);
        ck_assert_uint_eq(trace_event(world->trace, BEGIN, "a")->uuid,
                          trace_event(world->trace, BEGIN, "c")->uuid);
        ck_assert_uint_ne(trace_event(world->trace, BEGIN, "a")->uuid,
                          trace_event(world->trace, BEGIN, "b")->uuid);
        world_free(world);
}
END_TEST

START_TEST(test_there_is_always_another_lane) {
        static dt_lanes lanes = DT_LANES("many");
        dt_track taken[DT_LANES_MAX + 10], again;

        for (unsigned i = 0; i < DT_LANES_MAX + 10; i++) {
                taken[i] = dt_lane_take(&lanes);
                ck_assert_uint_eq(taken[i].id, i);
        }
        for (unsigned i = DT_LANES_MAX + 10; i-- > 0;)
                dt_lane_return(&lanes, &taken[i]);
        again = dt_lane_take(&lanes);
        ck_assert_uint_eq(again.id, 0);
}
END_TEST

static dt_lanes shared_lanes = DT_LANES("shared");
static _Atomic bool is_used[DT_LANES_MAX];

static void *take_and_return(void *userdata) {
        for (unsigned i = 0; i < 20000; i++) {
                dt_track lane = dt_lane_take(&shared_lanes);

                if (is_used[lane.id])
                        return userdata;
                is_used[lane.id] = true;
                is_used[lane.id] = false;
                dt_lane_return(&shared_lanes, &lane);
        }
        return NULL;
}

START_TEST(test_no_two_threads_have_the_same_lane) {
        pthread_t threads[4];

        for (unsigned i = 0; i < 4; i++)
                pthread_create(&threads[i], NULL, take_and_return, &shared_lanes);
        for (unsigned i = 0; i < 4; i++) {
                void *failed;

                pthread_join(threads[i], &failed);
                ck_assert_ptr_null(failed);
        }
}
END_TEST

/* Last: descriptions are never forgotten. */
START_TEST(test_no_more_tracks_than_there_may_be_are_described) {
        const dt_track_details plain = { .size = sizeof(plain), .rank = 1 };
        const dt_track_details incremental = { .size = sizeof(plain), .is_incremental = true };
        unsigned n_plain = 0, n_incremental = 0;

        for (unsigned i = 0; i < 2 * DT_TRACKS_DESCRIBED_MAX; i++) {
                dt_track of_thread = DT_COUNTER_TRACK_UNDER(&dt_thread_track, "many", NULL);

                of_thread.id = i;
                n_incremental += dt_track_describe(&of_thread, &incremental) == 0;
        }
        for (unsigned i = 0; i < 2 * DT_TRACKS_DESCRIBED_MAX; i++) {
                dt_track track = DT_TRACK("many", i);
                int r = dt_track_describe(&track, &plain);

                ck_assert(r == 0 || r == -ENOSPC);
                n_plain += r == 0;
        }
        ck_assert_uint_gt(n_incremental, 32);
        ck_assert_uint_lt(n_incremental, 128);
        ck_assert_uint_gt(n_plain, DT_TRACKS_DESCRIBED_MAX / 2);
        ck_assert_uint_le(n_plain + n_incremental, DT_TRACKS_DESCRIBED_MAX);
}
END_TEST

TEST_MAIN("lib-tracks",
          test_a_track_says_what_it_was_described_with_in_every_session,
          test_counters_say_their_unit_scale_and_categories,
          test_differences_add_up_to_what_was_counted_also_after_a_new_start,
          test_descriptions_that_cannot_be_are_refused,
          test_texts_of_descriptions_are_copied_and_cut,
          test_each_thread_has_its_own_tracks_below_its_own,
          test_tracks_of_the_whole_trace_are_the_same_for_all_programs,
          test_the_program_is_called_what_it_says_also_when_it_changes,
          test_a_name_that_finds_no_room_is_said_later_and_is_no_loss,
          test_threads_may_name_the_program_at_once,
          test_threads_and_programs_have_ranks_and_the_trace_is_told_to_use_them,
          test_a_forked_child_says_nothing_and_waits_for_nothing,
          test_things_that_overlap_have_lanes_which_are_used_again,
          test_there_is_always_another_lane,
          test_no_two_threads_have_the_same_lane,
          test_no_more_tracks_than_there_may_be_are_described)
