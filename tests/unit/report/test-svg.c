/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "report-world.h"

#include <math.h>

#include "report/report-drawing.h"
#include "report/report-svg.h"

#include "test.h"

#define MARKUP "</text><script>alert(1)</script><img src=x onerror=alert(1)>"
#define MS     1000000

static TraceStore *make_store(void) {
        TraceStore *store;

        ck_assert_int_eq(trace_store_new(&store, STORE_BYTES_MAX), 0);
        return store;
}

/* NUL-terminated. */
static Bytes draw(const TraceStore *store, int64_t from_ns, int64_t to_ns, size_t n_bytes_max) {
        const ReportSvgOptions options = {
                .title = MARKUP, .from_ns = from_ns, .to_ns = to_ns, .n_bytes_max = n_bytes_max
        };
        Bytes svg = { 0 };

        ck_assert_int_eq(report_svg_make(&svg, store, &options), 0);
        ck_assert_uint_le(svg.n, n_bytes_max ? n_bytes_max : REPORT_SVG_BYTES_MAX);
        ck_assert_int_eq(bytes_append(&svg, "", 1), 0);
        return svg;
}

static size_t count(const Bytes *svg, const char *text) {
        const char *at = (const char *)svg->data;
        size_t n = 0;

        while ((at = strstr(at, text))) {
                at += strlen(text);
                n++;
        }
        return n;
}

START_TEST(test_an_empty_recording_has_a_picture) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        _cleanup_(bytes_deinit) Bytes svg = draw(store, 0, 0, 0);

        ck_assert_uint_eq(count(&svg, "<svg "), 1);
        ck_assert_uint_eq(count(&svg, "</svg>"), 1);
}
END_TEST

/* A tenth of the time is a tenth of the 810 pixels behind the names, which end at 190. */
START_TEST(test_slices_are_where_their_times_are) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        uint32_t track = add_track(store, "t", TRACK_KIND_SLICE);
        _cleanup_(bytes_deinit) Bytes svg = { 0 };

        add_slice(store, track, 0, 10 * MS, 10 * MS, "before");
        add_slice(store, track, 0, 100 * MS, 15 * MS, "across the edge");
        add_slice(store, track, 0, 120 * MS, 10 * MS, "inside");
        add_slice(store, track, 1, 125 * MS, 5 * MS, "inner");
        add_slice(store, track, 0, 300 * MS, 10 * MS, "behind");
        svg = draw(store, 110 * MS, 210 * MS, 0);
        ck_assert_uint_eq(count(&svg, ">acro…</text>"), 1);
        ck_assert_uint_eq(count(&svg, "x=\"190.0\" y=\"108\" width=\"40.5\""), 1);
        ck_assert_uint_eq(count(&svg, "x=\"271.0\" y=\"108\" width=\"81.0\""), 1);
        ck_assert_uint_eq(count(&svg, "x=\"311.5\" y=\"125\" width=\"40.5\""), 1);
        ck_assert_uint_eq(count(&svg, ">inside</text>"), 1);
        ck_assert_uint_eq(count(&svg, "<title>inside, 10.00 ms</title>"), 1);
        ck_assert_uint_eq(count(&svg, "before") + count(&svg, "behind"), 0);
}
END_TEST

START_TEST(test_names_are_never_markup) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        uint32_t track = add_track(store, MARKUP, TRACK_KIND_SLICE);
        _cleanup_(bytes_deinit) Bytes svg = { 0 };

        add_slice(store, track, 0, 0, 50 * MS, MARKUP);
        add_slice(store, track, 0, 50 * MS, 50 * MS, "\x01\x1b[2J\xff\xef\xbf\xbf]]>");
        svg = draw(store, 0, 100 * MS, 0);
        ck_assert_uint_eq(count(&svg, "<script") + count(&svg, "<img") + count(&svg, "]]>"), 0);
        ck_assert_uint_eq(count(&svg, "\x01") + count(&svg, "\x1b") + count(&svg, "\xff"), 0);
        ck_assert_uint_eq(count(&svg, "\xef\xbf\xbf"), 0);
        ck_assert_uint_ge(count(&svg, "&lt;img"), 2);
}
END_TEST

START_TEST(test_a_picture_does_not_outgrow_its_limit) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        _cleanup_(bytes_deinit) Bytes fine = { 0 }, coarse = { 0 };
        uint32_t track[REPORT_SVG_LINES_MAX];

        for (size_t i = 0; i < ARRAY_SIZE(track); i++)
                track[i] = add_track(store, "t", TRACK_KIND_SLICE);
        for (int64_t at = 0; at < 400; at++)
                for (size_t i = 0; i < ARRAY_SIZE(track); i++)
                        add_slice(store, track[i], 0, at * MS, MS / 2, MARKUP);
        fine = draw(store, 0, 40 * MS, 0);
        ck_assert_uint_eq(count(&fine, "<rect class=\"c"), 41 * ARRAY_SIZE(track));
        coarse = draw(store, 0, 400 * MS, 300000);
        ck_assert_uint_gt(count(&coarse, " × "), ARRAY_SIZE(track));
        ck_assert_uint_gt(coarse.n, 75000);
}
END_TEST

START_TEST(test_lanes_that_do_not_fit_are_counted) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        _cleanup_(bytes_deinit) Bytes svg = { 0 };

        for (int64_t i = 0; i < REPORT_SVG_LINES_MAX + 7; i++)
                add_slice(store, add_track(store, "t", TRACK_KIND_SLICE), 0, i, 10, "s");
        svg = draw(store, 0, 1000, 0);
        ck_assert_uint_eq(count(&svg, ">t</text>"), REPORT_SVG_LINES_MAX);
        ck_assert_uint_eq(count(&svg, "Lanes that did not fit into this picture: 7."), 1);
}
END_TEST

START_TEST(test_values_that_are_no_numbers_draw_nothing) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        uint32_t track = add_track(store, "v", TRACK_KIND_COUNTER);
        uint32_t none = add_track(store, "n", TRACK_KIND_COUNTER);
        _cleanup_(bytes_deinit) Bytes svg = { 0 };

        add_value(store, track, 10, NAN);
        add_value(store, none, 10, NAN);
        add_value(store, track, 20, 1e308);
        add_value(store, track, 30, -1e308);
        add_value(store, track, 40, -INFINITY);
        svg = draw(store, 0, 100, 0);
        ck_assert_uint_eq(count(&svg, "nan") + count(&svg, "inf"), 0);
        ck_assert_uint_eq(count(&svg, "<path class=\"v\""), 2);
}
END_TEST

START_TEST(test_times_may_be_anything) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        uint32_t track = add_track(store, "t", TRACK_KIND_SLICE);
        _cleanup_(bytes_deinit) Bytes all = { 0 }, end = { 0 };

        add_slice(store, track, 0, INT64_MIN, INT64_MAX, "first");
        add_slice(store, track, 0, INT64_MAX - 10, -1, "last");
        add_slice(store, track, 0, INT64_MAX, INT64_MAX, "over");
        all = draw(store, INT64_MIN, INT64_MAX, 0);
        end = draw(store, INT64_MAX, INT64_MAX, 0);
        ck_assert_uint_eq(count(&all, "</svg>"), 1);
        ck_assert_uint_eq(count(&end, "</svg>"), 1);
}
END_TEST

START_TEST(test_flows_join_what_is_drawn) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        TraceTable *flows = trace_store_table(store, TRACE_TABLE_FLOW);
        uint32_t a = add_track(store, "a", TRACK_KIND_SLICE);
        uint32_t b = add_track(store, "b", TRACK_KIND_SLICE);
        uint32_t from = add_slice(store, a, 0, 10, 10, "from"),
                 to = add_slice(store, b, 0, 50, 10, "to"),
                 late = add_slice(store, b, 0, 500, 10, "late");
        const uint32_t ends[][2] = { { from, to }, { to, late }, { from, UINT32_MAX } };
        _cleanup_(bytes_deinit) Bytes svg = { 0 };

        for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
                uint32_t row = trace_table_add(flows);

                trace_table_set(flows, FLOW_OUT, row, ends[i][0]);
                trace_table_set(flows, FLOW_IN, row, ends[i][1]);
        }
        svg = draw(store, 0, 100, 0);
        ck_assert_uint_eq(count(&svg, "<path class=\"f\" d=\"M271 "), 1);
        ck_assert_uint_eq(count(&svg, "<path class=\"f\""), 2); /* with the legend's */
}
END_TEST

static uint32_t add_function(TraceStore *store, const char *name, uint32_t caller) {
        TraceTable *frames = trace_store_table(store, TRACE_TABLE_FRAME);
        TraceTable *callsites = trace_store_table(store, TRACE_TABLE_CALLSITE);
        uint32_t frame = trace_table_add(frames), row = trace_table_add(callsites);

        trace_table_set(frames, FRAME_NAME, frame, trace_pool_add_text(&store->pool, name));
        trace_table_set(frames, FRAME_SYMBOL_SET, frame, TRACE_NONE);
        trace_table_set(callsites, CALLSITE_FRAME, row, frame);
        trace_table_set(callsites, CALLSITE_PARENT, row, caller);
        return row;
}

static void add_sample(TraceStore *store, int64_t ts, uint32_t callsite) {
        TraceTable *samples = trace_store_table(store, TRACE_TABLE_SAMPLE);
        uint32_t row = trace_table_add(samples);

        trace_table_set_i64(samples, PERF_TS, row, ts);
        trace_table_set(samples, PERF_UTID, row, 1);
        trace_table_set(samples, PERF_CALLSITE, row, callsite);
}

static void add_weighed(TraceStore *store, const char *source, int64_t ts, int64_t weight) {
        TraceTable *samples = trace_store_table(store, TRACE_TABLE_STACK_SAMPLE);
        uint32_t row = trace_table_add(samples);

        trace_table_set_i64(samples, WEIGHED_TS, row, ts);
        trace_table_set_i64(samples, WEIGHED_WEIGHT, row, weight);
        trace_table_set(samples, WEIGHED_UTID, row, 1);
        trace_table_set(samples, WEIGHED_SOURCE, row, trace_pool_add_text(&store->pool, source));
}

/* The first thread is the idle one, which has no lanes. */
static TraceStore *make_store_with_a_thread(void) {
        TraceStore *store = make_store();

        trace_table_add(trace_store_table(store, TRACE_TABLE_THREAD));
        trace_table_add(trace_store_table(store, TRACE_TABLE_THREAD));
        return store;
}

START_TEST(test_samples_are_named_after_their_stacks) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store_with_a_thread();
        uint32_t start = add_function(store, "start", TRACE_NONE);
        uint32_t turn = add_function(store, "turn<" MARKUP, start);
        _cleanup_(bytes_deinit) Bytes svg = { 0 };

        add_sample(store, 5 * MS, turn);
        add_sample(store, 20 * MS, turn);
        add_sample(store, 60 * MS, TRACE_NONE);
        add_sample(store, 60 * MS + 1, turn);
        add_sample(store, 60 * MS + 2, turn);
        add_sample(store, 200 * MS, turn);
        svg = draw(store, 10 * MS, 110 * MS, 0);
        ck_assert_uint_eq(count(&svg, ">Stacks of ? 0</text>"), 1);
        ck_assert_uint_eq(count(&svg, "<title>turn&lt;&lt;/text&gt;"), 1);
        ck_assert_uint_eq(count(&svg, "<title>3 × turn&lt;&lt;/text&gt;"), 1);
        ck_assert_uint_eq(count(&svg, " ← start</title>"), 2);
        ck_assert_uint_eq(count(&svg, " x=\"271.0\""), 1);
        ck_assert_uint_eq(count(&svg, "<script"), 0);
}
END_TEST

START_TEST(test_sleeps_are_as_long_as_they_were_and_faults_are_counted) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store_with_a_thread();
        _cleanup_(bytes_deinit) Bytes svg = { 0 };

        add_weighed(store, "linux.offcpu", 10 * MS, 50 * MS);
        add_weighed(store, "linux.faults", 10 * MS, 64);
        add_weighed(store, "linux.faults", 80 * MS, INT64_MAX);
        add_weighed(store, "linux.faults", 80 * MS, INT64_MIN);
        svg = draw(store, 0, 100 * MS, 0);
        ck_assert_uint_eq(count(&svg, ">Sleep of ? 0</text>"), 1);
        ck_assert_uint_eq(count(&svg, "width=\"405.0\" height=\"8\"><title>?, 50.00 ms</title>"),
                          1);
        ck_assert_uint_eq(count(&svg, ">Page faults of ? 0</text>"), 1);
        ck_assert_uint_eq(count(&svg, "<title>64 × ?</title>"), 1);
        ck_assert_uint_eq(count(&svg, "<title>4294967295 × ?</title>"), 1);
}
END_TEST

static char *text_in(size_t n_columns, const char *text) {
        ReportDrawing drawing = { 0 };

        report_drawing_put_text(&drawing, text, n_columns);
        ck_assert_int_eq(bytes_append(&drawing.body, "", 1), 0);
        ck_assert_int_eq(drawing.error, 0);
        return (char *)drawing.body.data;
}

START_TEST(test_text_is_cut_where_it_does_not_fit) {
        static const struct {
                size_t n;
                const char *text, *wanted;
        } cases[] = {
                { 5, "frame", "frame" },    { 5, "frames", "fram…" },      { 5, "äöüßé", "äöüßé" },
                { 5, "描画処理", "描画…" }, { 8, "描画処理", "描画処理" }, { 3, "", "" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_(freep) char *text = text_in(cases[i].n, cases[i].text);

                ck_assert_str_eq(text, cases[i].wanted);
        }
}
END_TEST

TEST_MAIN("svg",
          test_an_empty_recording_has_a_picture,
          test_slices_are_where_their_times_are,
          test_names_are_never_markup,
          test_a_picture_does_not_outgrow_its_limit,
          test_lanes_that_do_not_fit_are_counted,
          test_values_that_are_no_numbers_draw_nothing,
          test_times_may_be_anything,
          test_flows_join_what_is_drawn,
          test_samples_are_named_after_their_stacks,
          test_sleeps_are_as_long_as_they_were_and_faults_are_counted,
          test_text_is_cut_where_it_does_not_fit)
