/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "report/report-findings.h"
#include "world.h"

#include "test.h"

#define MS     INT64_C(1000000)
#define FRAMES 20
#define SLOW   7 /* the frame that is */
#define MARKUP "<img src=x onerror=alert(1)>"

static char *tell(const Answer *answer) {
        char *text;

        ck_assert_int_ge(asprintf(&text, "Asked: %s.\nMore.\n", answer->def->name), 0);
        return text;
}

/* NUL-terminated. */
static Bytes find(const World *world, ReportTell how) {
        ReportContent content;
        Bytes page = { 0 };

        ck_assert_int_eq(report_content_init(&content, world->store), 0);
        ck_assert_int_eq(report_findings(&page, &content, NULL, how), 0);
        ck_assert_int_eq(bytes_append(&page, "", 1), 0);
        report_content_deinit(&content);
        return page;
}

static bool says(const Bytes *page, const char *text) {
        return strstr((const char *)page->data, text) != NULL;
}

/* Frames with a slice inside; in the slow one the thread waits for a CPU behind another, for 30 ms. */
static void make_frames(World *world, const char *rival_name) {
        uint32_t upid = world_process(world, 100, "game");
        uint32_t utid = world_thread(world, 100, "main", upid);
        uint32_t rival = world_thread(world, 200, rival_name, upid);
        uint32_t track = world_track(world, utid);
        TraceTable *slices = trace_store_table(world->store, TRACE_TABLE_SLICE);

        for (int i = 0; i < FRAMES; i++) {
                int64_t at = i * 100 * MS, took = i == SLOW ? 40 * MS : 10 * MS;
                uint32_t outer = world_slice(world, track, "frame", at, took), inner;

                inner = world_slice(world, track, "draw", at + MS, took - 2 * MS);
                trace_table_set(slices, SLICE_DEPTH, outer, 0);
                trace_table_set(slices, SLICE_DEPTH, inner, 1);
                world_runs(world, 0, utid, at, 5 * MS);
                if (i == SLOW) {
                        world_state(world, utid, RUNNABLE, at + 5 * MS, 30 * MS, TRACE_NONE);
                        world_runs(world, 0, rival, at + 5 * MS, 30 * MS);
                }
                world_runs(world, 0, utid, at + took - 5 * MS, 5 * MS);
                world_state(world, utid, SLEEPING, at + took, 100 * MS - took, TRACE_NONE);
        }
}

START_TEST(test_the_slowest_comes_with_its_cause) {
        _cleanup_(world_deinit) World world;
        _cleanup_(bytes_deinit) Bytes page = { 0 };

        world_init(&world);
        make_frames(&world, "rival");
        page = find(&world, tell);
        ck_assert(says(&page, "data-from=\"700000000\" data-to=\"740000000\" data-track="));
        ck_assert(says(&page,
                       ">Asked: slowest.</a> More. Most of it: waited for a CPU behind rival 200, "
                       "30.00 ms."));
        ck_assert(says(&page, "Asked: cpu."));
}
END_TEST

/* In the slow one the thread sleeps until a worker wakes it, which waits for a CPU for 20 ms. */
static void make_waits(World *world) {
        uint32_t upid = world_process(world, 100, "game");
        uint32_t utid = world_thread(world, 100, "main", upid);
        uint32_t worker = world_thread(world, 101, MARKUP, upid);
        uint32_t track = world_track(world, utid);

        for (int i = 0; i < FRAMES; i++) {
                int64_t at = i * 100 * MS, took = i == SLOW ? 40 * MS : 10 * MS;

                world_slice(world, track, "frame", at, took);
                world_runs(world, 0, utid, at, 5 * MS);
                world_state(world, utid, SLEEPING, at + 5 * MS, took - 7 * MS, TRACE_NONE);
                world_state(world, utid, RUNNABLE, at + took - 2 * MS, MS, worker);
                world_runs(world, 0, utid, at + took - MS, MS);
                world_state(world, utid, SLEEPING, at + took, 100 * MS - took, TRACE_NONE);
                if (i != SLOW)
                        continue;
                world_runs(world, 1, worker, at, 3 * MS);
                world_state(world, worker, RUNNABLE, at + 3 * MS, 20 * MS, TRACE_NONE);
                world_runs(world, 1, worker, at + 23 * MS, 16 * MS);
                world_state(world, worker, SLEEPING, at + 39 * MS, 10 * MS, TRACE_NONE);
        }
}

START_TEST(test_the_thread_that_is_waited_for_is_reported_too) {
        _cleanup_(world_deinit) World world;
        _cleanup_(bytes_deinit) Bytes page = { 0 };

        world_init(&world);
        make_waits(&world);
        page = find(&world, tell);
        ck_assert(
                says(&page,
                     "<a href=\"#picture\" data-from=\"700000000\" data-to=\"740000000\" "
                     "data-who=\"&lt;img src=x onerror=alert(1)&gt; 101\">Meanwhile &lt;img src=x "
                     "onerror=alert(1)&gt; 101 ran for 19.00 ms, waited for a CPU for 20.00 ms, "
                     "and was blocked or asleep for 1.00 ms.</a>"));
        ck_assert(!says(&page, "<img"));
}
END_TEST

START_TEST(test_what_is_inside_of_the_slowest_is_not_told_again) {
        _cleanup_(world_deinit) World world;
        _cleanup_(bytes_deinit) Bytes page = { 0 };
        const char *first;

        world_init(&world);
        make_frames(&world, "rival");
        page = find(&world, tell);
        first = strstr((const char *)page.data, "Asked: slowest.");
        ck_assert_ptr_nonnull(first);
        ck_assert_ptr_null(strstr(first + 1, "Asked: slowest."));
}
END_TEST

START_TEST(test_the_longest_wait_leads_to_its_thread) {
        _cleanup_(world_deinit) World world;
        _cleanup_(bytes_deinit) Bytes page = { 0 };

        world_init(&world);
        make_frames(&world, "rival");
        page = find(&world, tell);
        ck_assert(says(&page,
                       "data-from=\"705000000\" data-to=\"735000000\" data-who=\"main 100\">Asked: "
                       "waits."));
}
END_TEST

START_TEST(test_names_in_causes_are_text) {
        _cleanup_(world_deinit) World world;
        _cleanup_(bytes_deinit) Bytes page = { 0 };

        world_init(&world);
        make_frames(&world, MARKUP);
        page = find(&world, tell);
        ck_assert(says(&page, "behind &lt;img src=x onerror=alert(1)&gt; 200"));
        ck_assert(!says(&page, "<img"));
}
END_TEST

START_TEST(test_a_loss_is_told_with_what_it_means) {
        _cleanup_(world_deinit) World world;
        _cleanup_(bytes_deinit) Bytes page = { 0 }, whole = { 0 };

        world_init(&world);
        whole = find(&world, tell);
        ck_assert(says(&whole, "Yes: nothing was lost"));
        trace_store_count(world.store, "trace_file_damaged", -1, 3);
        page = find(&world, tell);
        ck_assert(says(&page,
                       "No: trace_file_damaged (3). This means: the rest of the file is missing."));
        ck_assert(says(&page, "Asked: losses."));
        ck_assert(!says(&page, "Yes: nothing"));
}
END_TEST

START_TEST(test_without_words_there_are_no_answers) {
        _cleanup_(world_deinit) World world;
        _cleanup_(bytes_deinit) Bytes page = { 0 };

        world_init(&world);
        make_frames(&world, "rival");
        page = find(&world, NULL);
        ck_assert(!says(&page, "Asked"));
        ck_assert(says(&page, "frame of game took 40.00 ms"));
}
END_TEST

TEST_MAIN("findings",
          test_the_slowest_comes_with_its_cause,
          test_the_thread_that_is_waited_for_is_reported_too,
          test_what_is_inside_of_the_slowest_is_not_told_again,
          test_the_longest_wait_leads_to_its_thread,
          test_names_in_causes_are_text,
          test_a_loss_is_told_with_what_it_means,
          test_without_words_there_are_no_answers)
