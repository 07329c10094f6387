/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "report-world.h"
#include "report/report-content.h"
#include "report/report-stacks.h"

#include "test.h"

#define ROWS_MAX 64

typedef struct Rows {
        ReportRow rows[ROWS_MAX];
        size_t n;
} Rows;

typedef struct Values {
        double values[ROWS_MAX];
        size_t n;
} Values;

static void keep_row(void *userdata, const ReportRow *row) {
        Rows *rows = userdata;

        ck_assert_uint_lt(rows->n, ROWS_MAX);
        rows->rows[rows->n++] = *row;
}

static void keep_value(void *userdata, int64_t at_ns, double value) {
        Values *values = userdata;

        ck_assert_uint_lt(values->n, ROWS_MAX);
        values->values[values->n++] = value;
}

static TraceStore *make_store(void) {
        TraceStore *store;

        ck_assert_int_eq(trace_store_new(&store, STORE_BYTES_MAX), 0);
        return store;
}

/* The rows of the line of a track's slices, at this grain. */
static Rows thin(const TraceStore *store, uint32_t line, int64_t grain_ns) {
        ReportContent content;
        Rows rows = { .n = 0 };
        size_t n;

        ck_assert_int_eq(report_content_init(&content, store), 0);
        content.grain_ns = grain_ns;
        n = report_content_rows(&content, REPORT_SLICES, line, keep_row, &rows);
        ck_assert_uint_eq(n, rows.n);
        ck_assert_uint_eq(report_content_rows(&content, REPORT_SLICES, line, NULL, NULL), n);
        report_content_deinit(&content);
        return rows;
}

START_TEST(test_each_depth_of_a_track_is_a_line) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        uint32_t first = add_track(store, "first", TRACK_KIND_SLICE);
        uint32_t second = add_track(store, "second", TRACK_KIND_SLICE);
        ReportContent content;

        add_slice(store, first, 0, 100, 50, "outer");
        add_slice(store, first, 1, 110, 10, "inner");
        add_slice(store, second, 0, 120, 10, "other");
        add_slice(store, first, 0, 200, 50, "outer");
        add_slice(store, second + 1, 0, 300, 10, "of no track");
        ck_assert_int_eq(report_content_init(&content, store), 0);
        ck_assert_uint_eq(content.lines[REPORT_SLICES].n_lines, 3);
        ck_assert(report_lines_has(&content.lines[REPORT_SLICES], first));
        ck_assert(!report_lines_has(&content.lines[REPORT_SLICES], second + 1));
        report_content_deinit(&content);
        ck_assert_uint_eq(thin(store, 0, 0).n, 2);
        ck_assert_uint_eq(thin(store, 1, 0).n, 1);
        ck_assert_int_eq(thin(store, 1, 0).rows[0].start_ns, 110);
        ck_assert_uint_eq(thin(store, 2, 0).n, 1);
}
END_TEST

START_TEST(test_without_a_grain_each_row_is_there) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        uint32_t track = add_track(store, "t", TRACK_KIND_SLICE);
        Rows rows;

        for (int i = 0; i < 10; i++)
                add_slice(store, track, 0, i, 0, "instant");
        rows = thin(store, 0, 0);
        ck_assert_uint_eq(rows.n, 10);
        for (size_t i = 0; i < rows.n; i++)
                ck_assert_uint_eq(rows.rows[i].n, 1);
}
END_TEST

START_TEST(test_short_neighbours_become_one) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        uint32_t track = add_track(store, "t", TRACK_KIND_SLICE);
        Rows rows;

        add_slice(store, track, 0, 1000, 10, "a");
        add_slice(store, track, 0, 1020, 30, "b");
        add_slice(store, track, 0, 1060, 10, "a");
        add_slice(store, track, 0, 2000, 500, "long");
        add_slice(store, track, 0, 2510, 10, "a");
        rows = thin(store, 0, 100);
        ck_assert_uint_eq(rows.n, 3);
        ck_assert_int_eq(rows.rows[0].start_ns, 1000);
        ck_assert_int_eq(rows.rows[0].duration_ns, 70);
        ck_assert_uint_eq(rows.rows[0].n, 3);
        ck_assert_str_eq(trace_pool_text(&store->pool, rows.rows[0].what), "b");
        ck_assert_int_eq(rows.rows[1].duration_ns, 500);
        ck_assert_uint_eq(rows.rows[1].n, 1);
        ck_assert_uint_eq(rows.rows[2].n, 1);
}
END_TEST

START_TEST(test_one_does_not_grow_past_some_grains) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        uint32_t track = add_track(store, "t", TRACK_KIND_SLICE);
        Rows rows;

        for (int i = 0; i < 100; i++)
                add_slice(store, track, 0, i * 10, 10, "busy");
        rows = thin(store, 0, 20);
        for (size_t i = 0; i < rows.n; i++)
                ck_assert_int_lt(rows.rows[i].duration_ns, REPORT_GRAINS_MERGED * 20);
        ck_assert_uint_lt(rows.n, 20);
        ck_assert_int_eq(rows.rows[rows.n - 1].start_ns + rows.rows[rows.n - 1].duration_ns, 1000);
}
END_TEST

START_TEST(test_what_does_not_end_stays_alone) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        uint32_t track = add_track(store, "t", TRACK_KIND_SLICE);
        Rows rows;

        add_slice(store, track, 0, 10, 1, "a");
        add_slice(store, track, 0, 12, -1, "open");
        rows = thin(store, 0, 1000);
        ck_assert_uint_eq(rows.n, 2);
        ck_assert_int_eq(rows.rows[1].duration_ns, -1);
}
END_TEST

START_TEST(test_times_may_be_anything) {
        static const int64_t times[] = { INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX };
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        uint32_t track = add_track(store, "t", TRACK_KIND_SLICE);

        for (size_t i = 0; i < ARRAY_SIZE(times); i++)
                for (size_t j = 0; j < ARRAY_SIZE(times); j++)
                        add_slice(store, track, 0, times[i], times[j], "wild");
        for (int64_t grain_ns = 1; grain_ns > 0 && grain_ns < INT64_MAX / 8; grain_ns *= 8)
                ck_assert_uint_gt(thin(store, 0, grain_ns).n, 0);
        ck_assert_uint_gt(thin(store, 0, INT64_MAX).n, 0);
}
END_TEST

START_TEST(test_of_values_the_extremes_stay) {
        static const double values[] = { 5, 6, 1, 7, 9, 3, 4 };
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        uint32_t track = add_track(store, "c", TRACK_KIND_COUNTER);
        Values kept = { .n = 0 };
        ReportContent content;

        for (size_t i = 0; i < ARRAY_SIZE(values); i++)
                add_value(store, track, (int64_t)i, values[i]);
        ck_assert_int_eq(report_content_init(&content, store), 0);
        ck_assert_uint_eq(
                report_thin_values(&content.lines[REPORT_VALUES], 0, 100, keep_value, &kept), 4);
        ck_assert_double_eq(kept.values[0], 5);
        ck_assert_double_eq(kept.values[1], 1);
        ck_assert_double_eq(kept.values[2], 9);
        ck_assert_double_eq(kept.values[3], 4);
        ck_assert_uint_eq(report_thin_values(&content.lines[REPORT_VALUES], 0, 0, NULL, NULL),
                          ARRAY_SIZE(values));
        report_content_deinit(&content);
}
END_TEST

/* A stack of `n` functions, each called by the one before; the row of the innermost. */
static uint32_t add_stack(TraceStore *store, unsigned n) {
        TraceTable *callsites = trace_store_table(store, TRACE_TABLE_CALLSITE);
        uint32_t row = TRACE_NONE;

        for (unsigned i = 0; i < n; i++) {
                uint32_t parent = row;

                row = trace_table_add(callsites);
                trace_table_set(callsites, CALLSITE_PARENT, row, parent);
        }
        return row;
}

START_TEST(test_a_stack_is_told_once_and_from_outside) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        uint32_t first = add_stack(store, 4), second = add_stack(store, 2);
        ReportStacks stacks;

        ck_assert_int_eq(report_stacks_init(&stacks, store), 0);
        ck_assert_uint_eq(report_stacks_number(&stacks, TRACE_NONE), 0);
        ck_assert_uint_eq(report_stacks_number(&stacks, first - 1), 3);
        ck_assert_uint_eq(report_stacks_number(&stacks, second), 5);
        ck_assert_uint_eq(report_stacks_number(&stacks, first), 6);
        ck_assert_uint_eq(report_stacks_number(&stacks, first - 1), 3);
        ck_assert_uint_eq(stacks.n, 6);
        ck_assert_uint_eq(report_stacks_parent(&stacks, 5), 3);
        ck_assert_uint_eq(report_stacks_parent(&stacks, 2), 2);
        ck_assert_uint_eq(report_stacks_parent(&stacks, 0), 0);
        ck_assert_uint_eq(report_stacks_parent(&stacks, 3), 0);
        report_stacks_deinit(&stacks);
}
END_TEST

START_TEST(test_a_stack_that_goes_round_ends) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        uint32_t last = add_stack(store, 3);
        ReportStacks stacks;

        trace_table_set(trace_store_table(store, TRACE_TABLE_CALLSITE), CALLSITE_PARENT, 0, last);
        ck_assert_int_eq(report_stacks_init(&stacks, store), 0);
        ck_assert_uint_eq(report_stacks_number(&stacks, last), 3);
        ck_assert_uint_eq(report_stacks_parent(&stacks, 0), 0);
        report_stacks_deinit(&stacks);
}
END_TEST

static void add_up(void *userdata, const ReportRow *row) {
        *(size_t *)userdata += row->n;
}

START_TEST(test_samples_that_are_left_out_are_counted) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        TraceTable *samples = trace_store_table(store, TRACE_TABLE_SAMPLE);
        ReportContent content;
        size_t n_all = 0;

        trace_table_add(trace_store_table(store, TRACE_TABLE_THREAD));
        for (int i = 0; i < 1000; i++) {
                uint32_t row = trace_table_add(samples);

                trace_table_set_i64(samples, PERF_TS, row, i * 100);
                trace_table_set(samples, PERF_UTID, row, 0);
        }
        ck_assert_int_eq(report_content_init(&content, store), 0);
        report_content_thin(&content, 100000);
        ck_assert_uint_eq(report_content_rows(&content, REPORT_SAMPLES, 0, NULL, NULL), 1000);
        report_content_thin(&content, 1000);
        ck_assert_uint_le(report_content_rows(&content, REPORT_SAMPLES, 0, add_up, &n_all), 100);
        ck_assert_uint_eq(n_all, 1000);
        report_content_deinit(&content);
}
END_TEST

static uint32_t add_weighed(TraceStore *store, const char *source, int64_t ts, int64_t weight) {
        TraceTable *samples = trace_store_table(store, TRACE_TABLE_STACK_SAMPLE);
        uint32_t row = trace_table_add(samples);

        trace_table_set_i64(samples, WEIGHED_TS, row, ts);
        trace_table_set_i64(samples, WEIGHED_WEIGHT, row, weight);
        trace_table_set(samples, WEIGHED_UTID, row, 0);
        trace_table_set(samples, WEIGHED_SOURCE, row, trace_pool_add_text(&store->pool, source));
        return row;
}

START_TEST(test_faults_count_what_they_weigh) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        ReportContent content;
        size_t n_all = 0;

        trace_table_add(trace_store_table(store, TRACE_TABLE_THREAD));
        for (int i = 0; i < 1000; i++) {
                add_weighed(store, "linux.faults", i * 100, 64);
                add_weighed(store, "linux.offcpu", i * 100, 100);
        }
        ck_assert_int_eq(report_content_init(&content, store), 0);
        report_content_thin(&content, 100000);
        ck_assert_uint_eq(report_content_rows(&content, REPORT_FAULTS, 0, add_up, &n_all), 1000);
        ck_assert_uint_eq(n_all, 64000);
        report_content_thin(&content, 1000);
        n_all = 0;
        ck_assert_uint_le(report_content_rows(&content, REPORT_FAULTS, 0, add_up, &n_all), 100);
        ck_assert_uint_eq(n_all, 64000);
        report_content_deinit(&content);
}
END_TEST

START_TEST(test_weights_that_nobody_can_have_do_no_harm) {
        static const int64_t weights[] = { INT64_MAX, INT64_MIN, 0, -1, INT64_MAX };
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        ReportContent content;
        size_t n_all = 0;

        trace_table_add(trace_store_table(store, TRACE_TABLE_THREAD));
        for (size_t i = 0; i < ARRAY_SIZE(weights); i++)
                add_weighed(store, "linux.faults", (int64_t)i, weights[i]);
        ck_assert_int_eq(report_content_init(&content, store), 0);
        report_content_thin(&content, 1);
        ck_assert_uint_ge(report_content_rows(&content, REPORT_FAULTS, 0, add_up, &n_all), 1);
        ck_assert_uint_ge(n_all, UINT32_MAX);
        report_content_deinit(&content);
}
END_TEST

START_TEST(test_the_grain_is_chosen_by_the_number_of_rows) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        uint32_t track = add_track(store, "t", TRACK_KIND_SLICE);
        ReportContent content;

        for (int i = 0; i < 1000; i++)
                add_slice(store, track, 0, i * 1000, 10 + i % 7, "a");
        ck_assert_int_eq(report_content_init(&content, store), 0);
        report_content_thin(&content, 1000);
        ck_assert_int_eq(content.grain_ns, 0);
        report_content_thin(&content, 500);
        ck_assert_int_gt(content.grain_ns, 0);
        ck_assert_uint_le(report_content_rows(&content, REPORT_SLICES, 0, NULL, NULL), 500);
        ck_assert_uint_gt(report_content_rows(&content, REPORT_SLICES, 0, NULL, NULL), 50);
        report_content_thin(&content, 0);
        report_content_deinit(&content);
}
END_TEST

TEST_MAIN("thin",
          test_each_depth_of_a_track_is_a_line,
          test_without_a_grain_each_row_is_there,
          test_short_neighbours_become_one,
          test_one_does_not_grow_past_some_grains,
          test_what_does_not_end_stays_alone,
          test_times_may_be_anything,
          test_of_values_the_extremes_stay,
          test_a_stack_is_told_once_and_from_outside,
          test_a_stack_that_goes_round_ends,
          test_samples_that_are_left_out_are_counted,
          test_faults_count_what_they_weigh,
          test_weights_that_nobody_can_have_do_no_harm,
          test_the_grain_is_chosen_by_the_number_of_rows)
