/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "client/inspect.h"
#include "trace-builder.h"
#include "trace/trace-reader.h"

static bool has_loss(const TraceSummary *summary, const char *kind, uint64_t n) {
        for (guint i = 0; i < summary->losses->len; i++) {
                const TraceLoss *loss = &g_array_index(summary->losses, TraceLoss, i);

                if (streq(loss->kind, kind))
                        return loss->n == n;
        }
        return false;
}

/* A small recording of an app with nothing wrong. */
static TraceBuilder *app_recording(void) {
        TraceBuilder *builder = trace_builder_new();

        trace_clock(builder);
        trace_sequence_start(builder, 3, 77, 900);
        trace_thread_track(builder, 3, 900, 77, 78, "painter");
        trace_track_event(builder, 3, 2000, 1, 0);
        trace_track_event(builder, 3, 2100, 1, 0);
        trace_track_event(builder, 3, 2400, 2, 0);
        trace_track_event(builder, 3, 3000, 2, 0);
        trace_track_event(builder, 3, 3100, 3, 0);
        return builder;
}

START_TEST(test_slices_are_matched_and_named) {
        _cleanup_(freep) TraceBuilder *builder = app_recording();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;
        TraceSlice *slice;

        trace_stats(builder, 0, 0);
        summary = trace_summary_of(builder, SIZE_MAX);
        slice = find_slice(summary, "draw");
        ck_assert_ptr_nonnull(slice);
        ck_assert_str_eq(slice->category, "ui");
        ck_assert_uint_eq(slice->n_slices, 2);
        ck_assert_uint_eq(slice->n_instants, 1);
        ck_assert_uint_eq(slice->total_ns, 1300);
        ck_assert_uint_eq(slice->max_ns, 1000);
        ck_assert_str_eq(find_thread(summary, 78)->name, "painter");
        ck_assert_int_eq(find_thread(summary, 78)->pid, 77);
        ck_assert_uint_eq(find_thread(summary, 78)->n_slices, 2);
        ck_assert_uint_eq(summary->n_track_events, 5);
        ck_assert_uint_eq(trace_summary_n_undecodable(summary), 0);
        ck_assert_uint_eq(trace_summary_start_realtime_ns(summary), 5000001000);
}
END_TEST

START_TEST(test_slices_of_one_track_from_two_threads_are_put_in_order) {
        _cleanup_(freep) TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;

        /* The file has all of the one thread's packets first: both begins, then both ends. */
        trace_sequence_start(builder, 3, 77, 900);
        trace_track_event(builder, 3, 1000, 1, 0);
        trace_track_event(builder, 3, 3000, 1, 0);
        trace_sequence_start(builder, 4, 77, 900);
        trace_track_event(builder, 4, 2000, 2, 0);
        trace_track_event(builder, 4, 3001, 2, 0);
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert_uint_eq(find_slice(summary, "draw")->max_ns, 1000);
        ck_assert_uint_eq(find_slice(summary, "draw")->total_ns, 1001);
        ck_assert_uint_eq(summary->n_unmatched_ends, 0);
}
END_TEST

static void counter_value(TraceBuilder *builder, uint64_t track, uint64_t value) {
        WireWriter *w = trace_packet(builder, 3000);
        size_t event = wire_begin(w, 11);

        wire_put_uint(w, 9, 4);
        wire_put_uint(w, 11, track);
        wire_put_uint(w, 30, value);
        wire_end(w, event);
        trace_packet_end(builder, 3, 77, 0);
}

static const TraceCounter *find_counter(const TraceSummary *summary, const char *name) {
        GHashTableIter iter;
        gpointer counter;

        g_hash_table_iter_init(&iter, summary->counters);
        while (g_hash_table_iter_next(&iter, NULL, &counter))
                if (streq(((const TraceCounter *)counter)->name, name))
                        return counter;
        return NULL;
}

START_TEST(test_counters_of_one_name_are_told_apart_by_their_groups) {
        static const char *const names[] = { "Units/a.slice/CPU time",
                                             "Units/CPU time",
                                             "CPU time" };
        _cleanup_(freep) TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;

        trace_named_track(builder, 1, 0, "Units", false);
        trace_named_track(builder, 2, 1, "a.slice", false);
        trace_named_track(builder, 11, 2, "CPU time", true);
        trace_named_track(builder, 12, 1, "CPU time", true);
        trace_named_track(builder, 13, 99, "CPU time", true); /* in what is not described */
        for (uint64_t track = 11; track <= 13; track++)
                counter_value(builder, track, track);
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert_uint_eq(g_hash_table_size(summary->counters), 3);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                const TraceCounter *counter = find_counter(summary, names[i]);

                ck_assert_msg(counter, "%s", names[i]);
                ck_assert_double_eq(counter->last, 11.0 + (double)i);
        }
}
END_TEST

/* What a snapshot cuts off: the packet says that it builds on others, and they are not there. */
static void track_event_in_state(TraceBuilder *builder, uint32_t sequence, uint64_t timestamp) {
        WireWriter *w = trace_packet(builder, timestamp);
        size_t event;

        wire_put_uint(w, 13, 2);
        event = wire_begin(w, 11);
        wire_put_uint(w, 9, 2);
        wire_end(w, event);
        trace_packet_end(builder, sequence, 77, 0);
}

START_TEST(test_times_that_build_on_what_is_not_in_the_file_are_not_believed) {
        _cleanup_(freep) TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;

        track_event_in_state(builder, 3, 17); /* ns after something */
        trace_sequence_start(builder, 3, 77, 900);
        trace_track_event(builder, 3, 5000, 1, 0);
        track_event_in_state(builder, 3, 6000);
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert_uint_eq(summary->first_ns, 5000);
        ck_assert_uint_eq(summary->last_ns, 6000);
        ck_assert_uint_eq(trace_summary_n_undecodable(summary), 1);
        ck_assert_uint_eq(find_slice(summary, "draw")->total_ns, 1000);
}
END_TEST

/* The first packet of each of Chromium's writers: no boot clock, and a clock of its own that counts on from a time of
 * the monotonic clock. The packet itself has a time by that clock, too. */
static void chromium_sequence(TraceBuilder *builder, uint32_t sequence, uint64_t monotonic_ns) {
        WireWriter *w = trace_packet(builder, 0);
        size_t defaults, snapshot, clock, event;

        wire_put_uint(w, 8, 0);
        wire_put_uint(w, 13, 1);
        defaults = wire_begin(w, 59);
        wire_put_uint(w, 58, 64);
        event = wire_begin(w, 11);
        wire_put_uint(w, 11, 900);
        wire_end(w, event);
        wire_end(w, defaults);
        snapshot = wire_begin(w, 6);
        clock = wire_begin(w, 1);
        wire_put_uint(w, 1, 3);
        wire_put_uint(w, 2, monotonic_ns);
        wire_end(w, clock);
        clock = wire_begin(w, 1);
        wire_put_uint(w, 1, 64);
        wire_put_uint(w, 2, monotonic_ns);
        wire_put_bool(w, 3, true);
        wire_put_uint(w, 4, 1);
        wire_end(w, clock);
        wire_end(w, snapshot);
        trace_packet_end(builder, sequence, 77, 0);
}

/* An event, with its name in it; clock 0 is the sequence's own. */
static void chromium_event(TraceBuilder *builder,
                           uint32_t sequence,
                           uint32_t clock,
                           uint64_t timestamp,
                           uint32_t type) {
        WireWriter *w = trace_packet(builder, timestamp);
        size_t event;

        wire_put_uint(w, 13, 2);
        if (clock)
                wire_put_uint(w, 58, clock);
        event = wire_begin(w, 11);
        wire_put_uint(w, 9, type);
        if (type != 2)
                wire_put_string(w, 23, "paint");
        wire_end(w, event);
        trace_packet_end(builder, sequence, 77, 0);
}

static TraceBuilder *chromium_recording(void) {
        TraceBuilder *builder = trace_builder_new();

        trace_clock(builder); /* MONOTONIC is 600 ns behind BOOTTIME */
        chromium_sequence(builder, 3, 5000);
        chromium_event(builder, 3, 0, 10, 1); /* 5010 */
        chromium_event(builder, 3, 0, 90, 2); /* 5100 */
        chromium_event(builder, 3, 3, 5200, 1);
        chromium_event(builder, 3, 0, 200, 2); /* 5300 */
        chromium_sequence(builder, 3, 7000);
        chromium_event(builder, 3, 0, 1, 3); /* 7001 */
        trace_stats(builder, 0, 0);
        return builder;
}

START_TEST(test_slices_of_chromium_have_times_by_its_own_clock) {
        _cleanup_(freep) TraceBuilder *builder = chromium_recording();
        _cleanup_(trace_summary_freep) TraceSummary *summary = trace_summary_of(builder, SIZE_MAX);
        const TraceSlice *slice = find_slice(summary, "paint");

        ck_assert_ptr_nonnull(slice);
        ck_assert_uint_eq(slice->n_slices, 2);
        ck_assert_uint_eq(slice->n_instants, 1);
        ck_assert_uint_eq(slice->total_ns, 190);
        ck_assert_uint_eq(summary->first_data_ns, 5610);
        ck_assert_uint_eq(summary->last_ns, 9000); /* of the statistics */
        ck_assert_int_eq(summary->verdict, TRACE_VERDICT_NONE);
        ck_assert_uint_eq(trace_summary_start_realtime_ns(summary), 5000001000);
}
END_TEST

START_TEST(test_events_of_an_unknown_clock_are_no_good_recording) {
        _cleanup_(freep) TraceBuilder *builder = chromium_recording();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;

        chromium_event(builder, 3, 65, 10, 1);
        chromium_event(builder, 4, 64, 10, 2); /* it is of another sequence */
        chromium_event(builder, 3, 0, 1, 3);
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert_int_eq(summary->verdict, TRACE_VERDICT_LOST);
        ck_assert(has_loss(summary, "events_without_clock", 1));
        ck_assert(has_loss(summary, "events_without_names", 1)); /* its sequence never began */
        ck_assert_uint_eq(find_slice(summary, "paint")->n_instants, 2);
}
END_TEST

START_TEST(test_events_without_their_names_are_no_good_recording) {
        _cleanup_(freep) TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;

        trace_clock(builder);
        trace_track_event(builder, 3, 2000, 1, 0);
        trace_stats(builder, 0, 0);
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert_int_eq(summary->verdict, TRACE_VERDICT_LOST);
        ck_assert(has_loss(summary, "events_without_names", 1));
}
END_TEST

static void clone_event(TraceBuilder *builder) {
        WireWriter *w = trace_packet(builder, 1000);
        size_t event = wire_begin(w, 69);

        wire_put_bool(w, 10, true);
        wire_end(w, event);
        trace_packet_end(builder, 1, 0, 0);
}

START_TEST(test_what_a_snapshot_left_out_is_not_missed) {
        _cleanup_(freep) TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;

        trace_clock(builder);
        clone_event(builder);
        chromium_event(builder, 3, 0, 5, 2);
        chromium_sequence(builder, 3, 5000);
        chromium_event(builder, 3, 0, 5, 3);
        trace_stats(builder, 0, 0);
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert_int_eq(summary->verdict, TRACE_VERDICT_NONE);
        ck_assert_uint_eq(summary->n_forgotten, 1);
        ck_assert_uint_eq(find_slice(summary, "paint")->n_instants, 1);
}
END_TEST

/* It may have been anything that came between. */
START_TEST(test_what_was_lost_is_missed_in_a_snapshot_too) {
        _cleanup_(freep) TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;

        trace_clock(builder);
        clone_event(builder);
        trace_sequence_start(builder, 3, 77, 900);
        trace_track_event(builder, 3, 2000, 1, PACKET_LOSS_PRESENT | 256);
        trace_stats(builder, 0, 0);
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert(has_loss(summary, "events_without_names", 1));
        ck_assert(has_loss(summary, "packets_after_loss", 1));
}
END_TEST

START_TEST(test_trace_time_may_be_another_clock) {
        _cleanup_(freep) TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;
        WireWriter *w = trace_packet(builder, 0);
        size_t snapshot = wire_begin(w, 6);

        wire_put_uint(w, 2, 3); /* primary_trace_clock */
        wire_end(w, snapshot);
        trace_packet_end(builder, 1, 0, 0);
        trace_clock(builder); /* at 1000, now of that clock */
        trace_compact_sched(builder, 0, 2600, 42, "worker", 500, false);
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert_uint_eq(summary->first_data_ns, 2000);
        ck_assert_uint_eq(summary->last_ns, 2500);
        ck_assert_uint_eq(find_thread(summary, 42)->cpu_ns, 500);
        ck_assert_uint_eq(trace_summary_of_boottime(summary, 2600), 2000);
}
END_TEST

START_TEST(test_cpu_time_comes_from_switches) {
        _cleanup_(freep) TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;
        g_autoptr(GPtrArray) counts = NULL;
        const TraceNameCount *switches;

        trace_compact_sched(builder, 0, 2000, 42, "worker", 500, false);
        trace_compact_sched(builder, 1, 2100, 42, "worker", 30, false);
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert_uint_eq(find_thread(summary, 42)->cpu_ns, 530);
        ck_assert_uint_eq(find_thread(summary, 42)->n_switches, 2);
        ck_assert_str_eq(find_thread(summary, 42)->name, "worker");
        ck_assert_uint_eq(trace_summary_n_kernel_events(summary), 4);
        ck_assert_uint_eq(g_hash_table_size(summary->kernel_events), 1);
        counts = trace_summary_sorted(summary->kernel_events, inspect_compare_counts);
        switches = g_ptr_array_index(counts, 0);
        ck_assert_str_eq(switches->name, "sched_switch");
}
END_TEST

static void put_unit(TraceBuilder *builder, uint32_t field, const char *unit) {
        WireWriter *w = trace_packet(builder, 1000);
        size_t tree = wire_begin(w, 2), process = wire_begin(w, 1);

        wire_put_int(w, 1, 77);
        wire_put_string(w, 3, "/usr/bin/app");
        wire_put_string(w, field, unit);
        wire_end(w, process);
        wire_end(w, tree);
        trace_packet_end(builder, 2, 5, 0);
}

START_TEST(test_processes_have_the_unit_that_was_said_last) {
        _cleanup_(freep) TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;
        const TraceProcess *process;
        int32_t pid = 77;

        put_unit(builder, 1900, "old.service");
        put_unit(builder, 1905, "org.example.App");
        summary = trace_summary_of(builder, SIZE_MAX);
        process = g_hash_table_lookup(summary->processes, &pid);
        ck_assert_str_eq(process->name, "app");
        ck_assert_str_eq(process->app_id, "org.example.App");
        ck_assert_ptr_null(process->unit);
}
END_TEST

START_TEST(test_no_losses_is_said_only_when_proven) {
        _cleanup_(freep) TraceBuilder *builder = app_recording();
        _cleanup_(trace_summary_freep) TraceSummary *without = trace_summary_of(builder, SIZE_MAX);
        _cleanup_(trace_summary_freep) TraceSummary *with = NULL;

        ck_assert_int_eq(without->verdict, TRACE_VERDICT_UNKNOWN);
        trace_stats(builder, 0, 0);
        with = trace_summary_of(builder, SIZE_MAX);
        ck_assert_int_eq(with->verdict, TRACE_VERDICT_NONE);
}
END_TEST

START_TEST(test_kernel_events_need_the_kernels_counters_for_a_proof) {
        _cleanup_(freep) TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *without = NULL, *with = NULL;

        trace_kernel_stats(builder, 1, 5);
        trace_compact_sched(builder, 0, 2000, 42, "worker", 500, false);
        trace_stats(builder, 0, 0);
        without = trace_summary_of(builder, SIZE_MAX);
        ck_assert_int_eq(without->verdict, TRACE_VERDICT_UNKNOWN);
        trace_kernel_stats(builder, 2, 5);
        with = trace_summary_of(builder, SIZE_MAX);
        ck_assert_int_eq(with->verdict, TRACE_VERDICT_NONE);
}
END_TEST

START_TEST(test_each_sign_of_a_loss_is_reported) {
        static const struct {
                uint32_t field;
                const char *kind;
        } cases[] = {
                { 18, "chunks_discarded" },
                { 19, "writer_losses" },
                { 6, "patches_failed" },
                { 9, "abi_violations" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(freep) TraceBuilder *builder = app_recording();
                _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;

                trace_stats(builder, cases[i].field, 7);
                summary = trace_summary_of(builder, SIZE_MAX);
                ck_assert_int_eq(summary->verdict, TRACE_VERDICT_LOST);
                ck_assert_msg(has_loss(summary, cases[i].kind, 7), "%s", cases[i].kind);
        }
}
END_TEST

START_TEST(test_marks_in_packets_and_bundles_are_losses) {
        _cleanup_(freep) TraceBuilder *builder = app_recording();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;

        trace_track_event(builder, 3, 4000, 1, PACKET_LOSS_PRESENT | 256);
        trace_compact_sched(builder, 0, 2000, 42, "worker", 500, true);
        trace_kernel_stats(builder, 1, 5);
        trace_kernel_stats(builder, 2, 9);
        trace_stats(builder, 0, 0);
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert(has_loss(summary, "packets_after_loss", 1));
        ck_assert(has_loss(summary, "kernel_bundles_lost", 1));
        ck_assert(has_loss(summary, "kernel_events_overrun", 4));
        ck_assert_uint_eq(trace_summary_n_undecodable(summary),
                          1); /* its names were in what may be lost */
}
END_TEST

START_TEST(test_a_ring_that_overwrote_has_lost_nothing_unless_it_was_streamed) {
        _cleanup_(freep) TraceBuilder *builder = app_recording();
        _cleanup_(trace_summary_freep) TraceSummary *ring = NULL, *streamed = NULL;
        WireWriter *w;
        size_t config;

        trace_track_event(builder, 3, 4000, 1, PACKET_LOSS_PRESENT | PACKET_LOSS_OVERWRITE);
        trace_stats(builder, 3, 11);
        ring = trace_summary_of(builder, SIZE_MAX);
        ck_assert_int_eq(ring->verdict, TRACE_VERDICT_NONE);
        ck_assert_uint_eq(ring->n_overwritten, 11);

        w = trace_packet(builder, 0);
        config = wire_begin(w, 33);
        wire_put_bool(w, 8, true);
        wire_end(w, config);
        trace_packet_end(builder, 1, 0, 0);
        streamed = trace_summary_of(builder, SIZE_MAX);
        ck_assert(has_loss(streamed, "chunks_overwritten", 11));
        ck_assert(has_loss(streamed, "packets_after_loss", 1));
}
END_TEST

START_TEST(test_a_file_cut_anywhere_is_read_up_to_the_cut) {
        _cleanup_(freep) TraceBuilder *builder = app_recording();
        size_t n_all = wire_writer_size(&builder->writer), n_last = 0;

        for (size_t n = 0; n <= n_all; n++) {
                _cleanup_(trace_summary_freep) TraceSummary *summary = trace_summary_of(builder, n);

                ck_assert_uint_ge(summary->n_packets, n_last);
                ck_assert_uint_eq(summary->n_malformed, 0);
                ck_assert_uint_le(summary->end_offset, n);
                if (summary->end == TRACE_END_COMPLETE)
                        ck_assert_uint_eq(summary->end_offset, n);
                else
                        ck_assert_int_eq(summary->verdict, TRACE_VERDICT_LOST);
                n_last = summary->n_packets;
        }
        ck_assert_uint_eq(n_last, 8);
}
END_TEST

START_TEST(test_garbage_neither_crashes_nor_passes) {
        _cleanup_(freep) TraceBuilder *builder = app_recording();
        uint32_t seed = 12345;

        trace_compact_sched(builder, 0, 2000, 42, "worker", 500, false);
        trace_stats(builder, 0, 0);
        for (int round = 0; round < 2000; round++) {
                _cleanup_(freep) TraceBuilder *broken = trace_builder_new();
                _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;

                memcpy(broken->memory, builder->memory, wire_writer_size(&builder->writer));
                broken->writer.at += wire_writer_size(&builder->writer);
                for (int i = 0; i < 8; i++) {
                        seed = seed * 1664525 + 1013904223;
                        broken->memory[(seed >> 8) % wire_writer_size(&builder->writer)] =
                                (uint8_t)seed;
                }
                summary = trace_summary_of(broken, SIZE_MAX);
                ck_assert_uint_le(summary->n_malformed, summary->n_packets);
        }
}
END_TEST

START_TEST(test_a_length_that_lies_costs_no_memory) {
        static const uint8_t bytes[] = {
                0x0a, 0xff, 0xff, 0xff, 0x7f, 1, 2, 3
        }; /* claims 256 MiB */
        _cleanup_(trace_reader_deinit) TraceReader reader;
        const uint8_t *packet;
        size_t n_packet;
        int fd = trace_memfd(bytes, sizeof(bytes));

        lseek(fd, 0, SEEK_SET);
        trace_reader_init(&reader, fd);
        ck_assert_int_eq(trace_reader_next(&reader, &packet, &n_packet), TRACE_READER_E_TRUNCATED);
        ck_assert_uint_le(reader.buffer.n_allocated, 1u << 20);
        close(fd);
}
END_TEST

START_TEST(test_packets_larger_than_the_read_buffer_are_whole) {
        static uint8_t data[900000];
        TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;
        WireWriter *w = trace_packet(builder, 5);

        wire_put_bytes(w, 900, data, sizeof(data));
        trace_packet_end(builder, 1, 0, 0);
        trace_clock(builder);
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert_uint_eq(summary->n_packets, 2);
        ck_assert_int_eq(summary->end, TRACE_END_COMPLETE);
        ck_assert_uint_eq(summary->n_clocks, 3);
        free(builder);
}
END_TEST

START_TEST(test_names_cannot_drive_a_terminal) {
        _cleanup_(freep) TraceBuilder *builder = trace_builder_new();
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;

        trace_thread_track(builder, 3, 900, 77, 78, "\033[2Jx\xff\n");
        summary = trace_summary_of(builder, SIZE_MAX);
        ck_assert_str_eq(find_thread(summary, 78)->name, "?[2Jx\xef\xbf\xbd?");
}
END_TEST

START_TEST(test_a_file_cannot_make_tables_grow_without_bound) {
        const size_t n_threads = TRACE_SUMMARY_ENTRIES_MAX + 1000, n_bytes = n_threads * 8 + 64;
        _cleanup_(trace_summary_freep) TraceSummary *summary = trace_summary_new();
        uint8_t *memory = malloc(n_bytes);
        size_t tree, thread;
        WireWriter w;

        wire_writer_init(&w, memory, n_bytes);
        tree = wire_begin(&w, 2);
        for (size_t i = 1; i <= n_threads; i++) {
                thread = wire_begin(&w, 2);
                wire_put_uint(&w, 1, i);
                wire_end(&w, thread);
        }
        wire_end(&w, tree);
        ck_assert(!wire_writer_failed(&w));
        trace_summary_add(summary, memory, wire_writer_size(&w));
        trace_summary_finish(summary, TRACE_END_COMPLETE, 0);
        ck_assert_uint_le(g_hash_table_size(summary->threads), TRACE_SUMMARY_ENTRIES_MAX);
        ck_assert_uint_ge(summary->n_omitted, 1000);
        free(memory);
}
END_TEST

START_TEST(test_json_quotes_what_it_must) {
        _cleanup_(json_writer_deinit) JsonWriter writer = { 0 };

        json_writer_init(&writer, JSON_SHORT);
        json_begin_object(&writer, NULL);
        json_string(&writer, "a\"b", "x\\\n\x01");
        json_begin_array(&writer, "list");
        json_int(&writer, NULL, -1);
        json_double(&writer, NULL, 0.5);
        json_double(&writer, NULL, 1.0 / 0.0);
        json_end_array(&writer);
        json_string(&writer, "n", NULL);
        json_end_object(&writer);
        ck_assert_str_eq(writer.text->str,
                         "{\"a\\\"b\":\"x\\\\\\u000a\\u0001\",\"list\":[-1,0.5,null],\"n\":null}");
}
END_TEST

TEST_MAIN("trace",
          test_slices_are_matched_and_named,
          test_slices_of_one_track_from_two_threads_are_put_in_order,
          test_counters_of_one_name_are_told_apart_by_their_groups,
          test_times_that_build_on_what_is_not_in_the_file_are_not_believed,
          test_slices_of_chromium_have_times_by_its_own_clock,
          test_events_of_an_unknown_clock_are_no_good_recording,
          test_events_without_their_names_are_no_good_recording,
          test_what_a_snapshot_left_out_is_not_missed,
          test_what_was_lost_is_missed_in_a_snapshot_too,
          test_trace_time_may_be_another_clock,
          test_cpu_time_comes_from_switches,
          test_processes_have_the_unit_that_was_said_last,
          test_no_losses_is_said_only_when_proven,
          test_kernel_events_need_the_kernels_counters_for_a_proof,
          test_each_sign_of_a_loss_is_reported,
          test_marks_in_packets_and_bundles_are_losses,
          test_a_ring_that_overwrote_has_lost_nothing_unless_it_was_streamed,
          test_a_file_cut_anywhere_is_read_up_to_the_cut,
          test_garbage_neither_crashes_nor_passes,
          test_a_length_that_lies_costs_no_memory,
          test_packets_larger_than_the_read_buffer_are_whole,
          test_names_cannot_drive_a_terminal,
          test_a_file_cannot_make_tables_grow_without_bound,
          test_json_quotes_what_it_must)
