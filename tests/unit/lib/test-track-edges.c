/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Failures around one event must not affect other events.
 */

#include <errno.h>
#include <sys/wait.h>

#include "test.h"
#include "track-world.h"

/*
 * Lost begins
 */

/* Until there is no room for an event of this size. */
static void fill(World *world, const char *text) {
        while (smb_n_dropped(&world->fake.area) == 0)
                DT_INSTANT(render, "filler", DT_STRING("text", text));
}

/* Of the events on the thread's track, as B, E and - for an instant that is no filler. */
static void shape(const Trace *trace, char *ret, size_t n) {
        for (size_t i = 0; i < trace->n_events && n > 1; i++) {
                const TraceEvent *event = &trace->events[i];

                if (streq(event->name, "filler"))
                        continue;
                *ret++ = event->type == BEGIN ? 'B' : event->type == END ? 'E' : '-';
                n--;
        }
        *ret = '\0';
}

START_TEST(test_the_end_of_a_slice_whose_begin_is_lost_ends_no_other) {
        World *world = world_new();
        static char text[3000];
        char shape_of[64];

        memset(text, 'x', sizeof(text) - 1);
        world_record(world, NULL, NULL);
        DT_SLICE_BEGIN(render, "outer");
        fill(world, text);
        DT_SLICE_BEGIN(render, "lost", DT_STRING("text", text));
        DT_SLICE_BEGIN(render, "lost", DT_STRING("text", text));
        fake_drain(&world->fake);
        DT_SLICE_BEGIN(render, "inner");
        DT_SLICE_END(render);
        DT_SLICE_END(render); /* both of what is lost */
        DT_SLICE_END(render);
        DT_INSTANT(render, "in outer");
        DT_SLICE_END(render);
        DT_SLICE_END(render); /* of nothing */
        DT_INSTANT(render, "in nothing");
        world_read(world);
        shape(world->trace, shape_of, sizeof(shape_of));
        ck_assert_str_eq(shape_of, "BBE-E-");
        world_free(world);
}
END_TEST

START_TEST(test_no_matter_how_many_are_lost_inside_each_other) {
        World *world = world_new();
        static char text[3000];
        char shape_of[64];

        memset(text, 'x', sizeof(text) - 1);
        world_record(world, NULL, NULL);
        DT_SLICE_BEGIN(render, "outer");
        fill(world, text);
        for (unsigned i = 0; i < 100; i++)
                DT_SLICE_BEGIN(render, "lost", DT_STRING("text", text));
        fake_drain(&world->fake);
        for (unsigned i = 0; i < 100; i++)
                DT_SLICE_END(render);
        DT_INSTANT(render, "in outer");
        DT_SLICE_END(render);
        world_read(world);
        shape(world->trace, shape_of, sizeof(shape_of));
        ck_assert_str_eq(shape_of, "B-E");
        world_free(world);
}
END_TEST

/*
 * Threads
 */

START_TEST(test_a_thread_that_was_named_before_its_program_became_a_daemon_is_the_childs) {
        const TraceTrack *thread;
        World *world;
        int status;
        pid_t pid;

        dt_thread_set_name("main");
        pid = fork();
        if (pid > 0) {
                ck_assert_int_eq(waitpid(pid, &status, 0), pid);
                ck_assert_int_eq(status, 0);
                return;
        }
        world = world_new();
        world_record(world, NULL, NULL);
        DT_INSTANT(render, "of the child");
        world_read(world);
        thread = trace_track(world->trace, world->trace->events[0].uuid);
        _exit(!streq(thread->thread_name, "main") || thread->tid != getpid());
}
END_TEST

START_TEST(test_the_name_of_a_thread_is_cut_at_the_end_of_a_character) {
        World *world = world_new();
        char name[80];

        memset(name, 'n', sizeof(name));
        memcpy(name + 62, "\xe2\x82\xac", 4);
        world_record(world, NULL, NULL);
        dt_thread_set_name(name);
        DT_INSTANT(render, "event");
        world_read(world);
        name[62] = '\0';
        ck_assert_str_eq(trace_track(world->trace, world->trace->events[0].uuid)->thread_name,
                         name);
        world_free(world);
}
END_TEST

/*
 * Categories
 */

START_TEST(test_categories_beyond_the_limit_are_named_when_an_event_is_also_of_them) {
        static dt_category many[DT_CATEGORIES_MAX];
        World *world = world_new();
        const TraceEvent *event;

        for (unsigned i = 0; i < DT_CATEGORIES_MAX; i++) {
                many[i].name = "too many";
                dt_category_register(&many[i]);
        }
        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 2; i++)
                DT_INSTANT(render, "event", DT_ALSO_CATEGORY(many[DT_CATEGORIES_MAX - 1]));
        world_read(world);
        event = &world->trace->events[1];
        ck_assert_str_eq(event->category, "render");
        ck_assert_msg(strstr(event->args, "too many"), "%s", event->args);
        ck_assert_uint_eq(world->trace->events[0].uuid, event->uuid);
        for (unsigned i = 0; i < DT_CATEGORIES_MAX; i++)
                dt_category_unregister(&many[i]);
        world_free(world);
}
END_TEST

/* As with plugins that come and go: each number is used again, and means the new category then. */
START_TEST(test_categories_that_come_and_go_have_their_own_names) {
        World *world = world_new();
        char name[32];

        world_record(world, NULL, NULL);
        world->trace->only_last = true;
        for (unsigned i = 0; i < DT_CATEGORIES_MAX + 20; i++) {
                dt_category plugin = { .name = name };

                snprintf(name, sizeof(name), "plugin %u", i);
                dt_category_register(&plugin);
                ck_assert(dt_category_enabled(&plugin));
                for (unsigned k = 0; k < 2; k++)
                        dt_instant(&plugin, NULL, "event", NULL, 0);
                dt_category_unregister(&plugin);
                ck_assert(!dt_category_enabled(&plugin));
                if (i % 16 != 0 && i < DT_CATEGORIES_MAX - 4)
                        continue;
                world_read(world);
                ck_assert_str_eq(world->trace->events[0].category, name);
        }
        world_free(world);
}
END_TEST

/*
 * Counters
 */

START_TEST(test_a_counter_of_differences_survives_values_that_are_no_numbers) {
        static const dt_track counter = DT_COUNTER_TRACK_UNDER(&dt_thread_track, "load", NULL);
        const dt_track_details details = { .size = sizeof(details), .is_incremental = true };
        World *world = world_new();
        const TraceEvent *events = world->trace->events;

        ck_assert_int_eq(dt_track_describe(&counter, &details), 0);
        world_record(world, NULL, NULL);
        DT_COUNTER_DOUBLE_ON(render, &counter, 5);
        DT_COUNTER_DOUBLE_ON(render, &counter, __builtin_nan(""));
        DT_COUNTER_DOUBLE_ON(render, &counter, -__builtin_inf());
        DT_COUNTER_DOUBLE_ON(render, &counter, 1e308);
        DT_COUNTER_DOUBLE_ON(render, &counter, -1e308);
        DT_COUNTER_DOUBLE_ON(render, &counter, 7);
        world_read(world);
        ck_assert(events[1].double_value == 5 && events[2].double_value == 5);
        ck_assert(events[5].double_value > -1e300 && events[5].double_value < 1e300);
        world_free(world);
}
END_TEST

START_TEST(test_a_counter_stays_one_of_differences_among_any_number_of_tracks) {
        static const dt_track counter = DT_COUNTER_TRACK_UNDER(&dt_thread_track, "load", NULL);
        const dt_track_details details = { .size = sizeof(details), .is_incremental = true };
        World *world = world_new();
        dt_track track = DT_TRACK("one of many", 0);

        ck_assert_int_eq(dt_track_describe(&counter, &details), 0);
        world_record(world, NULL, NULL);
        world->trace->only_last = true;
        for (; track.id < 1100; track.id++) { /* more than are remembered */
                DT_INSTANT_ON(render, &track, "event");
                if (track.id % 100 == 0)
                        fake_drain(&world->fake);
        }
        for (unsigned i = 0; i < 100; i++) {
                DT_COUNTER_ON(render, &counter, i);
                for (track.id = 0; track.id < 64; track.id++)
                        DT_INSTANT_ON(render, &track, "event");
                fake_drain(&world->fake);
        }
        world_read(world);
        ck_assert(trace_track_named(world->trace, "load")->is_incremental);
        ck_assert(trace_track_named(world->trace, "load")->sum == 99);
        world_free(world);
}
END_TEST

/*
 * Names
 */

START_TEST(test_a_program_may_be_called_anything) {
        static dt_category category = { .name = "caf\xe9" };
        char name[300] = "b\xc3\xbcro \xff\n";
        World *world;

        memset(name + 8, 'x', sizeof(name) - 9);
        program_invocation_short_name = name;
        dt_category_register(&category);
        world = world_new();
        ck_assert_uint_eq(strlen(world->fake.producer), 128);
        ck_assert_ptr_eq(strstr(world->fake.producer, "b?ro ??xxx"), world->fake.producer);
        ck_assert_ptr_nonnull(strstr(fake_source(&world->fake, "track_event")->categories, "caf?"));
        dt_category_unregister(&category);
        world_free(world);
}
END_TEST

START_TEST(test_a_program_may_be_called_nothing) {
        char name[] = "";
        World *world;

        program_invocation_short_name = name;
        world = world_new();
        ck_assert_str_eq(world->fake.producer, "?");
        world_free(world);
}
END_TEST

/*
 * Texts
 */

/* Names up to a length are remembered with their track. */
START_TEST(test_tracks_with_names_of_any_length_are_told_apart) {
        World *world = world_new();
        const TraceEvent *events = world->trace->events;
        char name[80], unit[24];
        unsigned n = 0;

        world_record(world, NULL, NULL);
        for (unsigned n_name = 40; n_name < sizeof(name); n_name++) {
                for (unsigned n_unit = 12; n_unit < sizeof(unit); n_unit += 2) {
                        dt_track track = DT_COUNTER_TRACK(name, unit);

                        memset(name, 'n', n_name);
                        memset(unit, 'u', n_unit);
                        name[n_name] = unit[n_unit] = '\0';
                        for (unsigned i = 0; i < 2; i++)
                                DT_COUNTER_ON(render, &track, n++);
                }
                world_read(world);
        }
        ck_assert_uint_eq(world->trace->n_events, n);
        for (unsigned i = 0; i < n; i += 2) {
                ck_assert_int_eq(events[i + 1].int_value, i + 1);
                ck_assert_uint_eq(events[i].uuid, events[i + 1].uuid);
                ck_assert(i == 0 || events[i].uuid != events[i - 1].uuid);
        }
        world_free(world);
}
END_TEST

START_TEST(test_more_places_than_can_be_numbered_are_written_out) {
        World *world = world_new();
        char place[32], expected[64];

        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 1200; i++) {
                snprintf(place, sizeof(place), "file.c:%u", i);
                DT_INSTANT(render, "here", dt_arg_text(DT_ARG_LOCATION, place, "function"));
                if (i % 50 == 0)
                        world_read(world);
        }
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, 1200);
        for (unsigned i = 0; i < 1200; i++) {
                snprintf(expected, sizeof(expected), "here=file.c@function:%u", i);
                ck_assert_str_eq(world->trace->events[i].args, expected);
        }
        world_free(world);
}
END_TEST

/*
 * Before a session
 */

START_TEST(test_bytes_without_end_are_not_copied) {
        static const char byte = 0;
        World *world;

        ck_assert_int_eq(dt_startup_record(NULL), 0);
        DT_INSTANT(render, "huge", DT_RAW(&byte, SIZE_MAX), DT_RAW(&byte, SIZE_MAX / 2 + 1));
        DT_INSTANT(render, "next");
        world = world_new();
        world_record(world, NULL, NULL);
        ck_assert_int_eq(fake_stop(&world->fake, world->n_sessions), 0);
        fake_drain(&world->fake);
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "huge"), 1);
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "next"), 1);
        world_free(world);
}
END_TEST

/*
 * Arguments
 */

/* Its fields would be fields of the argument, where they mean something else, or nothing. Times take more bytes or
 * less, but not as many as these. */
START_TEST(test_what_an_event_has_beside_its_arguments_is_left_out_of_a_dictionary) {
        World *world = world_new();
        const TraceEvent *events = world->trace->events;

        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 2; i++) {
                DT_INSTANT(render, "even", DT_DICT("size", DT_INT("width", 1)));
                DT_INSTANT(render,
                           "odd_",
                           DT_DICT("size",
                                   DT_INT("width", 1),
                                   DT_FLOW(1),
                                   DT_FLOW_END(2),
                                   DT_CORRELATION(3),
                                   DT_NAME("name")));
        }
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, 4);
        ck_assert_str_eq(events[3].name, "odd_");
        ck_assert_str_eq(events[3].args, events[2].args);
        ck_assert_uint_lt(events[3].n_packet, events[2].n_packet + 8);
        world_free(world);
}
END_TEST

TEST_MAIN_FORKED("track-edges",
                 test_the_end_of_a_slice_whose_begin_is_lost_ends_no_other,
                 test_no_matter_how_many_are_lost_inside_each_other,
                 test_a_thread_that_was_named_before_its_program_became_a_daemon_is_the_childs,
                 test_the_name_of_a_thread_is_cut_at_the_end_of_a_character,
                 test_categories_beyond_the_limit_are_named_when_an_event_is_also_of_them,
                 test_categories_that_come_and_go_have_their_own_names,
                 test_a_counter_of_differences_survives_values_that_are_no_numbers,
                 test_a_counter_stays_one_of_differences_among_any_number_of_tracks,
                 test_a_program_may_be_called_anything,
                 test_a_program_may_be_called_nothing,
                 test_tracks_with_names_of_any_length_are_told_apart,
                 test_more_places_than_can_be_numbered_are_written_out,
                 test_bytes_without_end_are_not_copied,
                 test_what_an_event_has_beside_its_arguments_is_left_out_of_a_dictionary)
