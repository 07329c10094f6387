/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Categories that are made at run time. They stay for good, so without fork each test has names of its own. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "track-world.h"

START_TEST(test_a_name_is_one_category) {
        const dt_category *category = dt_category_find_or_add("found.one", "Something", "gpu,x");
        char name[] = "found.one";

        ck_assert_ptr_nonnull(category);
        ck_assert_ptr_eq(dt_category_find_or_add(name, NULL, NULL), category);
        memset(name, 'x', 5);
        ck_assert_str_eq(category->name, "found.one");
        ck_assert_str_eq(category->description, "Something");
        ck_assert_str_eq(category->tags, "gpu,x");
        ck_assert_ptr_ne(dt_category_find_or_add("found.two", NULL, NULL), category);
}
END_TEST

START_TEST(test_found_categories_are_offered_with_description_and_tags) {
        World *world = world_new();
        FakeSource *source = fake_source(&world->fake, "track_event");

        dt_category_find_or_add("found.offered", "What it is", "some-tag");
        fake_run_offered(&world->fake, "track_event", "found.offered");
        ck_assert_ptr_nonnull(memmem(source->descriptor, source->n_descriptor, "What it is", 10));
        ck_assert_ptr_nonnull(memmem(source->descriptor, source->n_descriptor, "some-tag", 8));
        world_free(world);
}
END_TEST

START_TEST(test_sessions_that_run_switch_found_categories_on_at_once) {
        World *world = world_new();
        const dt_category *wanted, *other, *tagged;

        world_record(world, "wanted*", "*");
        wanted = dt_category_find_or_add("wanted.found", NULL, NULL);
        other = dt_category_find_or_add("not wanted", NULL, NULL);
        tagged = dt_category_find_or_add("wanted.tagged", NULL, "debug");
        ck_assert(dt_category_enabled(wanted));
        ck_assert(!dt_category_enabled(other));
        ck_assert(!dt_category_enabled(tagged));
        DT_INSTANT(*wanted, "on");
        DT_INSTANT(*other, "off");
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, 1);
        ck_assert_str_eq(world->trace->events[0].category, "wanted.found");
        world_free(world);
}
END_TEST

START_TEST(test_an_event_may_have_a_category_by_text) {
        World *world = world_new();

        world_record(world, NULL, NULL);
        DT_INSTANT(render, "here", DT_ALSO_CATEGORY_TEXT("of a plugin"));
        DT_INSTANT(render, NULL, DT_NAME("rare 4711"));
        world_read(world);
        ck_assert_str_eq(trace_event(world->trace, INSTANT, "here")->args, "also=of a plugin");
        ck_assert_str_eq(trace_event(world->trace, INSTANT, "here")->category, "render");
        ck_assert_ptr_nonnull(trace_event(world->trace, INSTANT, "rare 4711"));
        world_free(world);
}
END_TEST

START_TEST(test_names_that_are_none_are_never_on) {
        World *world = world_new();

        world_record(world, NULL, NULL);
        ck_assert(!dt_category_enabled(dt_category_find_or_add(NULL, NULL, NULL)));
        ck_assert(!dt_category_enabled(dt_category_find_or_add("", "d", "t")));
        DT_INSTANT(*dt_category_find_or_add("", NULL, NULL), "nowhere");
        world_read(world);
        ck_assert_uint_eq(world->trace->n_events, 0);
        world_free(world);
}
END_TEST

/* A name that is no UTF-8 would keep the whole program from being registered. */
START_TEST(test_hostile_names_are_cut_and_cleaned) {
        World *world = world_new();
        char longest[3 * DT_LABEL_BYTES_MAX];
        const dt_category *category;

        memset(longest, 'n', sizeof(longest));
        longest[sizeof(longest) - 1] = '\0';
        memcpy(longest + DT_LABEL_BYTES_MAX - 1, "ä", 2);
        category = dt_category_find_or_add(longest, longest, longest);
        ck_assert_uint_eq(strlen(category->name), DT_LABEL_BYTES_MAX - 1); /* no half character */
        ck_assert_uint_eq(strlen(category->description), sizeof(longest) - 1);
        ck_assert_ptr_eq(dt_category_find_or_add(longest, NULL, NULL), category);

        category = dt_category_find_or_add("bad\xff\nname", "\xc3", "\x80");
        ck_assert_str_eq(category->name, "bad? name");
        ck_assert_str_eq(category->description, "?");
        ck_assert_ptr_eq(dt_category_find_or_add("bad\xff\nname", NULL, NULL), category);
        fake_run_offered(&world->fake, "track_event", "bad? name");
        world_free(world);
}
END_TEST

#define N_THREADS 8
#define N_NAMES   20

typedef struct Finder {
        pthread_t thread;
        const dt_category *found[N_NAMES];
} Finder;

static void *find_all(void *userdata) {
        Finder *finder = userdata;

        for (unsigned round = 0; round < 50; round++)
                for (unsigned i = 0; i < N_NAMES; i++) {
                        const dt_category *category;
                        char name[32];

                        snprintf(name, sizeof(name), "of threads %u", i);
                        category = dt_category_find_or_add(name, NULL, NULL);
                        if (finder->found[i] && finder->found[i] != category)
                                return finder;
                        finder->found[i] = category;
                        DT_INSTANT(*category, "found");
                }
        return NULL;
}

START_TEST(test_threads_that_add_the_same_names_get_the_same_categories) {
        World *world = world_new();
        Finder finders[N_THREADS] = { 0 };

        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < N_THREADS; i++)
                pthread_create(&finders[i].thread, NULL, find_all, &finders[i]);
        for (unsigned i = 0; i < N_THREADS; i++) {
                void *failed;

                pthread_join(finders[i].thread, &failed);
                ck_assert_ptr_null(failed);
                ck_assert_mem_eq(finders[i].found, finders[0].found, sizeof(finders[0].found));
        }
        world_free(world);
}
END_TEST

/* Last: they are never freed. */
START_TEST(test_no_more_categories_than_there_may_be_are_ever_made) {
        const dt_category *last = NULL;
        World *world = world_new();

        world_record(world, NULL, NULL);
        for (unsigned i = 0; i < 4 * DT_CATEGORIES_FOUND_MAX; i++) {
                char name[32];

                snprintf(name, sizeof(name), "one of many %u", i);
                last = dt_category_find_or_add(name, NULL, NULL);
                ck_assert_ptr_nonnull(last);
        }
        ck_assert(!dt_category_enabled(last));
        ck_assert_ptr_eq(last, dt_category_find_or_add("", NULL, NULL)); /* nobody's */
        ck_assert(dt_category_enabled(dt_category_find_or_add("one of many 0", NULL, NULL)));
        DT_INSTANT(*last, "nowhere");
        world_free(world);
}
END_TEST

TEST_MAIN("lib-category",
          test_a_name_is_one_category,
          test_found_categories_are_offered_with_description_and_tags,
          test_sessions_that_run_switch_found_categories_on_at_once,
          test_an_event_may_have_a_category_by_text,
          test_names_that_are_none_are_never_on,
          test_hostile_names_are_cut_and_cleaned,
          test_threads_that_add_the_same_names_get_the_same_categories,
          test_no_more_categories_than_there_may_be_are_ever_made)
