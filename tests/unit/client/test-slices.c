/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Slices of Chromium's older format, and slices that are not in order in their file. */

#include "client/trace-state.h"
#include "trace-builder.h"

static void legacy_event(TraceBuilder *builder, uint64_t at_ns, char phase) {
        WireWriter *w = trace_packet(builder, at_ns);
        size_t event = wire_begin(w, 11), legacy = wire_begin(w, 6);

        wire_put_uint(w, 2, (uint8_t)phase);
        wire_end(w, legacy);
        wire_put_uint(w, 11, 900);
        wire_put_string(w, 23, "old");
        wire_end(w, event);
        trace_packet_end(builder, 3, 77, 0);
}

START_TEST(test_events_with_a_phase_in_place_of_a_type_are_counted) {
        _cleanup_(freep) TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;

        legacy_event(builder, 1000, 'B');
        legacy_event(builder, 1100, 'R');
        legacy_event(builder, 1200, 'I');
        legacy_event(builder, 1300, '?');
        legacy_event(builder, 1500, 'E');
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert_uint_eq(find_slice(summary, "old")->total_ns, 500);
        ck_assert_uint_eq(find_slice(summary, "old")->n_slices, 1);
        ck_assert_uint_eq(find_slice(summary, "old")->n_instants, 2);
}
END_TEST

typedef struct LegacyEvent {
        char phase;
        const char *name, *category, *scope;
        uint32_t id_field;
        uint64_t id;
        int64_t duration_us;
} LegacyEvent;

static void put_legacy(TraceBuilder *builder, uint64_t at_ns, uint64_t track, LegacyEvent event) {
        WireWriter *w = trace_packet(builder, at_ns);
        size_t outer = wire_begin(w, 11), legacy = wire_begin(w, 6);

        wire_put_uint(w, 2, (uint8_t)event.phase);
        if (event.duration_us)
                wire_put_int(w, 3, event.duration_us);
        if (event.id_field)
                wire_put_uint(w, event.id_field, event.id);
        if (event.scope)
                wire_put_string(w, 7, event.scope);
        wire_end(w, legacy);
        wire_put_uint(w, 11, track);
        if (event.category)
                wire_put_string(w, 22, event.category);
        if (event.name)
                wire_put_string(w, 23, event.name);
        wire_end(w, outer);
        trace_packet_end(builder, 3, 77, 0);
}

START_TEST(test_complete_events_have_their_duration_with_them) {
        _cleanup_(freep) TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;

        trace_thread_track(builder, 3, 900, 77, 78, "painter");
        put_legacy(builder, 5000, 900, (LegacyEvent){ 'X', "whole", "ui", .duration_us = 3 });
        put_legacy(builder, 1000, 900, (LegacyEvent){ 'X', "whole", "ui", .duration_us = 1 });
        put_legacy(builder, 1000, 900, (LegacyEvent){ 'X', "whole", "ui", .duration_us = -1 });
        put_legacy(
                builder, 1000, 900, (LegacyEvent){ 'X', "whole", "ui", .duration_us = INT64_MAX });
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert_ptr_nonnull(find_slice(summary, "whole"));
        ck_assert_uint_eq(find_slice(summary, "whole")->n_slices, 4);
        ck_assert_uint_eq(find_slice(summary, "whole")->total_ns, 4000);
        ck_assert_uint_eq(find_slice(summary, "whole")->max_ns, 3000);
        ck_assert_str_eq(find_slice(summary, "whole")->category, "ui");
        ck_assert_uint_eq(find_thread(summary, 78)->n_slices, 4);
}
END_TEST

/* That is no loss on the way, but who looks at the recording should know of it. */
START_TEST(test_what_sources_say_they_left_out_is_counted) {
        _cleanup_(freep) TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;

        put_legacy(builder, 1000, 900, (LegacyEvent){ 'i', "lost" });
        put_legacy(builder, 2000, 900, (LegacyEvent){ 'i', "lost" });
        put_legacy(builder, 3000, 900, (LegacyEvent){ 'i', "lost", "of a program's own" });
        put_legacy(builder, 4000, 900, (LegacyEvent){ 'B', "lost" });
        put_legacy(builder, 5000, 900, (LegacyEvent){ 'i', "found" });
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert_uint_eq(summary->n_left_out, 2);
}
END_TEST

START_TEST(test_asynchronous_events_belong_together_by_their_id) {
        _cleanup_(freep) TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;

        trace_thread_track(builder, 3, 900, 77, 78, "one");
        trace_thread_track(builder, 3, 901, 77, 79, "another of its process");
        trace_thread_track(builder, 3, 902, 80, 81, "of another process");
        /* They overlap, and end on another thread than they began. */
        put_legacy(builder, 1000, 900, (LegacyEvent){ 'b', "load", "net", NULL, 6, 1 });
        put_legacy(builder, 2000, 900, (LegacyEvent){ 'b', "load", "net", NULL, 6, 2 });
        put_legacy(builder, 2500, 900, (LegacyEvent){ 'n', "load", "net", NULL, 6, 2 });
        put_legacy(builder, 3000, 901, (LegacyEvent){ 'e', "load", "net", NULL, 6, 1 });
        put_legacy(builder, 6000, 901, (LegacyEvent){ 'e', "load", "net", NULL, 6, 2 });
        /* A global id is one for all processes, a local one is not, and a scope parts them, too. */
        put_legacy(builder, 1000, 900, (LegacyEvent){ 'b', "global", "net", NULL, 11, 1 });
        put_legacy(builder, 2000, 902, (LegacyEvent){ 'e', NULL, "net", NULL, 11, 1 });
        put_legacy(builder, 1000, 900, (LegacyEvent){ 'b', "local", "net", NULL, 10, 1 });
        put_legacy(builder, 2000, 902, (LegacyEvent){ 'e', NULL, "net", NULL, 10, 1 });
        put_legacy(builder, 1000, 900, (LegacyEvent){ 'b', "scoped", "net", "a", 6, 1 });
        put_legacy(builder, 2000, 900, (LegacyEvent){ 'e', NULL, "net", "b", 6, 1 });
        put_legacy(builder, 2000, 900, (LegacyEvent){ 'e', NULL, "cpu", "a", 6, 1 });
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert_ptr_nonnull(find_slice(summary, "load"));
        ck_assert_uint_eq(find_slice(summary, "load")->n_slices, 2);
        ck_assert_uint_eq(find_slice(summary, "load")->n_instants, 1);
        ck_assert_uint_eq(find_slice(summary, "load")->total_ns, 2000 + 4000);
        ck_assert_uint_eq(find_slice(summary, "global")->n_slices, 1);
        ck_assert_uint_eq(find_slice(summary, "local")->n_slices, 0);
        ck_assert_uint_eq(find_slice(summary, "scoped")->n_slices, 1);
        ck_assert_uint_eq(find_slice(summary, "scoped")->total_ns, 1000);
        ck_assert_uint_eq(summary->n_unmatched_ends, 2);
}
END_TEST

/*
 * More slices than are put in order at a time
 */

static void add_slice_event(TraceSummary *summary, uint64_t at_ns, uint64_t type, uint64_t track) {
        uint8_t memory[128];
        WireWriter w;
        size_t event;

        wire_writer_init(&w, memory, sizeof(memory));
        wire_put_uint(&w, 8, at_ns);
        event = wire_begin(&w, 11);
        wire_put_uint(&w, 9, type);
        wire_put_uint(&w, 11, track);
        wire_put_string(&w, 23, "many");
        wire_end(&w, event);
        wire_put_int(&w, 3, 1000);
        wire_put_uint(&w, 10, 3);
        trace_summary_add(summary, memory, wire_writer_size(&w));
}

/* Slices of 500 ns, one a microsecond. */
static void add_slices(TraceSummary *summary, uint64_t since_ns, size_t n, uint64_t track) {
        for (size_t i = 0; i < n; i++) {
                add_slice_event(summary, since_ns + i * 1000, 1, track);
                add_slice_event(summary, since_ns + i * 1000 + 500, 2, track);
        }
}

#define SLICES_WINDOW (TRACE_EVENT_WINDOW / 2)

START_TEST(test_a_track_that_comes_late_in_the_file_is_in_order) {
        _cleanup_(trace_summary_freep) TraceSummary *summary = trace_summary_new();

        add_slices(summary, 1000000, SLICES_WINDOW + 10, 900);
        add_slices(summary, 1000, 10, 901);
        trace_summary_finish(summary, TRACE_END_COMPLETE, 0);
        ck_assert_uint_eq(find_slice(summary, "many")->n_slices, SLICES_WINDOW + 20);
        ck_assert_uint_eq(find_slice(summary, "many")->max_ns, 500);
        ck_assert_uint_eq(summary->n_misordered, 0);
}
END_TEST

/* The end of the slice that began first comes after the begin of the next one, and after the window was full. */
START_TEST(test_events_over_the_edge_of_a_window_are_put_in_order) {
        _cleanup_(trace_summary_freep) TraceSummary *summary = trace_summary_new();
        const uint64_t edge_ns = 1000000 + UINT64_C(1000) * SLICES_WINDOW;

        add_slices(summary, 1000000, SLICES_WINDOW - 1, 900);
        add_slice_event(summary, edge_ns, 1, 900);
        add_slice_event(summary, edge_ns + 400, 1, 900);
        add_slice_event(summary, edge_ns + 300, 2, 900);
        add_slice_event(summary, edge_ns + 700, 2, 900);
        trace_summary_finish(summary, TRACE_END_COMPLETE, 0);
        ck_assert_uint_eq(find_slice(summary, "many")->n_slices, SLICES_WINDOW + 1);
        ck_assert_uint_eq(find_slice(summary, "many")->max_ns, 500);
        ck_assert_uint_eq(summary->n_misordered, 0);
}
END_TEST

START_TEST(test_what_comes_too_late_to_be_put_in_order_is_counted) {
        _cleanup_(trace_summary_freep) TraceSummary *summary = trace_summary_new();

        add_slices(summary, 1000000, SLICES_WINDOW + 10, 900);
        add_slices(summary, 1000, 10, 900);
        trace_summary_finish(summary, TRACE_END_COMPLETE, 0);
        ck_assert_uint_eq(summary->n_misordered, 20);
}
END_TEST

/* Writers of different speed, whose packets are in the file by turns. */
START_TEST(test_many_runs_are_put_in_order) {
        enum { WRITERS = 7, TURNS = 11 };
        _cleanup_(trace_summary_freep) TraceSummary *summary = trace_summary_new();
        uint64_t at_ns[WRITERS] = { 0 };
        size_t n_slices = 0;

        for (size_t turn = 0; turn < TURNS; turn++)
                for (size_t i = WRITERS; i-- > 0;) {
                        add_slices(summary, 1000000 + at_ns[i], (i + turn) % 5, 900 + i % 3);
                        at_ns[i] += (i + turn) % 5 * 1000;
                        n_slices += (i + turn) % 5;
                }
        trace_summary_finish(summary, TRACE_END_COMPLETE, 0);
        ck_assert_uint_eq(find_slice(summary, "many")->n_slices, n_slices);
        ck_assert_uint_eq(find_slice(summary, "many")->total_ns, n_slices * 500);
        ck_assert_uint_eq(summary->n_misordered, 0);
        ck_assert_uint_eq(summary->n_unmatched_ends, 0);
}
END_TEST

/* Its end is in another run than its begin. */
START_TEST(test_events_of_one_time_stay_in_the_order_of_the_file) {
        _cleanup_(trace_summary_freep) TraceSummary *summary = trace_summary_new();

        add_slice_event(summary, 1000, 1, 900);
        add_slice_event(summary, 500, 1, 901);
        add_slice_event(summary, 600, 2, 901);
        add_slice_event(summary, 1000, 2, 900);
        trace_summary_finish(summary, TRACE_END_COMPLETE, 0);
        ck_assert_uint_eq(find_slice(summary, "many")->n_slices, 2);
        ck_assert_uint_eq(find_slice(summary, "many")->total_ns, 100);
        ck_assert_uint_eq(summary->n_unmatched_ends, 0);
}
END_TEST

TEST_MAIN("slices",
          test_events_with_a_phase_in_place_of_a_type_are_counted,
          test_complete_events_have_their_duration_with_them,
          test_what_sources_say_they_left_out_is_counted,
          test_asynchronous_events_belong_together_by_their_id,
          test_a_track_that_comes_late_in_the_file_is_in_order,
          test_events_over_the_edge_of_a_window_are_put_in_order,
          test_what_comes_too_late_to_be_put_in_order_is_counted,
          test_many_runs_are_put_in_order,
          test_events_of_one_time_stay_in_the_order_of_the_file)
