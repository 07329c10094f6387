/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lanes of a drawing: what a key of each kind did in that time */

#include "report/report-drawing-lanes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "shared/text.h"

#define LANE_GAP      5
#define BAR           (REPORT_DRAWING_LINE - 2)
#define STATES_HEIGHT 10
#define VALUES_HEIGHT 24
#define TEXT_DROP     11 /* from the top of a line to the baseline of its text */
#define NARROWEST     7  /* tenths of a pixel; shorter items are widened to it, to stay visible */
#define TITLE_WIDTH   30 /* tenths of a pixel; narrower items get no tooltip */
#define TITLE_COLUMNS 120
#define FLOWS_MAX     500
#define NAME_BYTES    256

/* The drawn part of one line of a lane. */
typedef struct Line {
        ReportDrawing *drawing;
        ReportKind kind;
        unsigned y;
} Line;

static const char *text_of(const ReportDrawing *drawing, uint32_t name) {
        return trace_pool_text(&drawing->content->store->pool, name);
}

/*
 * Choosing the rows
 */

static int64_t end_of(const ReportDrawing *drawing, const ReportItem *item) {
        int64_t end;

        if (item->duration_ns < 0)
                return drawing->to_ns;
        return __builtin_add_overflow(item->start_ns, item->duration_ns, &end) ? INT64_MAX : end;
}

/* The first row of a line that begins at this time or later. */
static uint32_t find_row(const ReportLines *lines, uint32_t line, int64_t at_ns) {
        uint32_t low = lines->offsets[line], high = lines->offsets[line + 1];

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;

                if (lines->items[middle].start_ns < at_ns)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static uint32_t end_row(const ReportDrawing *drawing, const ReportLines *lines, uint32_t line) {
        return find_row(lines, line, drawing->to_ns + (drawing->to_ns < INT64_MAX));
}

/* Includes the value at the beginning of the drawing. */
static uint32_t first_row(const ReportDrawing *drawing, const ReportLines *lines, uint32_t line) {
        uint32_t row = find_row(lines, line, drawing->from_ns);

        if (row > lines->offsets[line] &&
            end_of(drawing, &lines->items[row - 1]) > drawing->from_ns)
                row--;
        return row;
}

static const char *state_of(const ReportDrawing *drawing, uint32_t state) {
        const char *name = state <= TRACE_STATES_MAX
                                   ? text_of(drawing, drawing->content->store->states[state])
                                   : NULL;

        return name ? name : "";
}

static bool is_shown(const ReportDrawing *drawing, ReportKind kind, uint32_t what) {
        const char *state;

        if (kind == REPORT_CPUS)
                return what != 0 && what != TRACE_NONE;
        if (kind != REPORT_STATES)
                return true;
        state = state_of(drawing, what);
        return *state == 'R' || *state == 'D';
}

static bool has_rows(const ReportDrawing *drawing, ReportKind kind, uint32_t line) {
        const ReportLines *lines = &drawing->content->lines[kind];
        uint32_t end = end_row(drawing, lines, line);

        for (uint32_t row = first_row(drawing, lines, line); row < end; row++)
                if (is_shown(drawing, kind, lines->items[row].what))
                        return true;
        return false;
}

/*
 * One row
 */

/* The program's name, and the thread's if it differs; for others, the name of the row. */
static const char *
name_of_row(const ReportDrawing *drawing, ReportKind kind, uint32_t what, char name[NAME_BYTES]) {
        const TraceStore *store = drawing->content->store;
        const TraceTable *threads = &store->tables[TRACE_TABLE_THREAD];
        const char *program = NULL, *thread;
        uint32_t upid;

        if (kind != REPORT_CPUS)
                return kind == REPORT_STATES ? state_of(drawing, what) : text_of(drawing, what);
        if (what >= threads->n)
                return "";
        thread = text_of(drawing, trace_table_get(threads, THREAD_NAME, what));
        upid = trace_table_get(threads, THREAD_UPID, what);
        if (upid < store->tables[TRACE_TABLE_PROCESS].n)
                program = text_of(
                        drawing,
                        trace_table_get(&store->tables[TRACE_TABLE_PROCESS], PROCESS_NAME, upid));
        if (!program || !thread || streq(program, thread))
                return program ? program : thread;
        snprintf(name, NAME_BYTES, "%s · %s", program, thread);
        return name;
}

/* On CPUs, colours tell programs apart. */
static unsigned color_of(const ReportDrawing *drawing, ReportKind kind, uint32_t what) {
        const TraceStore *store = drawing->content->store;
        const TraceTable *threads = &store->tables[TRACE_TABLE_THREAD];
        uint32_t upid;

        if (kind != REPORT_CPUS)
                return report_drawing_color(text_of(drawing, what));
        if (what >= threads->n)
                return 0;
        upid = trace_table_get(threads, THREAD_UPID, what);
        return report_drawing_color(
                upid < store->tables[TRACE_TABLE_PROCESS].n
                        ? text_of(drawing,
                                  trace_table_get(
                                          &store->tables[TRACE_TABLE_PROCESS], PROCESS_NAME, upid))
                        : text_of(drawing, trace_table_get(threads, THREAD_NAME, what)));
}

static void put_title(const Line *line, const ReportRow *row, const char *name) {
        char text[TEXT_SIZE_BYTES];

        report_drawing_put(line->drawing, "<title>");
        if (row->n > 1)
                report_drawing_put(line->drawing, "%" PRIu32 " × ", row->n);
        report_drawing_put_text(line->drawing, name, TITLE_COLUMNS);
        if (row->duration_ns > 0)
                report_drawing_put(line->drawing,
                                   ", %s",
                                   text_format_duration(text, (uint64_t)row->duration_ns));
        report_drawing_put(line->drawing, "</title>");
}

static void put_instant(const Line *line, const ReportRow *row, int64_t x, const char *name) {
        report_drawing_put(line->drawing,
                           "<path class=\"i\" d=\"M%" PRId64 " %ul4 %dh-8z\">",
                           x / 10,
                           line->y,
                           BAR);
        put_title(line, row, name);
        report_drawing_put(line->drawing, "</path>\n");
}

static void put_bar(const Line *line,
                    const ReportRow *row,
                    const char *class_name,
                    int64_t x,
                    int64_t width,
                    const char *name,
                    unsigned drop,
                    unsigned height) {
        report_drawing_put(line->drawing,
                           "<rect class=\"%s\" x=\"%" PRId64 ".%" PRId64
                           "\" y=\"%u\" width=\"%" PRId64 ".%" PRId64 "\" height=\"%u\"",
                           class_name,
                           x / 10,
                           x % 10,
                           line->y + drop,
                           width / 10,
                           width % 10,
                           height);
        if (width >= TITLE_WIDTH) {
                report_drawing_put(line->drawing, ">");
                put_title(line, row, name);
                report_drawing_put(line->drawing, "</rect>\n");
        } else
                report_drawing_put(line->drawing, "/>\n");
}

static void put_state(const Line *line, const ReportRow *row, int64_t x, int64_t width) {
        const char *name = state_of(line->drawing, row->what);

        line->drawing->has_states = true;
        if (streq(name, "Running"))
                put_bar(line, row, "run", x, width, name, 0, STATES_HEIGHT - 2);
        else if (*name == 'R')
                put_bar(line,
                        row,
                        "wait",
                        x,
                        width,
                        name,
                        STATES_HEIGHT / 2 - 1,
                        STATES_HEIGHT / 2 - 1);
        else
                put_bar(line, row, "block", x, width, name, 0, STATES_HEIGHT / 3);
}

static void put_slice(const Line *line, const ReportRow *row, int64_t x, int64_t width) {
        char buffer[NAME_BYTES], class_name[16];
        const char *name = name_of_row(line->drawing, line->kind, row->what, buffer);
        unsigned color = color_of(line->drawing, line->kind, row->what);

        snprintf(class_name, sizeof(class_name), row->n > 1 ? "c%u n" : "c%u", color);
        line->drawing->has_several |= row->n > 1;
        put_bar(line, row, class_name, x, width, name, 0, BAR);
        if (row->n == 1)
                report_drawing_label(line->drawing,
                                     x + 30,
                                     10 * (int64_t)(line->y + TEXT_DROP),
                                     width - 40,
                                     NULL,
                                     name);
}

/* "inner ← outer": the function first in which it was. */
static void name_stack(const ReportDrawing *drawing, uint32_t callsite, char name[NAME_BYTES]) {
        uint32_t number = report_stacks_number(drawing->stacks, callsite);
        size_t n = 0;

        snprintf(name, NAME_BYTES, "?");
        for (; number > 0 && n < NAME_BYTES;
             number = report_stacks_parent(drawing->stacks, number - 1)) {
                const char *function =
                        text_of(drawing, report_stacks_name(drawing->stacks, number - 1));

                n += (size_t)snprintf(name + n,
                                      NAME_BYTES - n,
                                      "%s%s",
                                      n > 0 ? " ← " : "",
                                      function && *function ? function : "?");
        }
}

/* In the page, too, colours tell functions apart. */
static unsigned color_of_stack(const ReportDrawing *drawing, uint32_t callsite) {
        uint32_t number = report_stacks_number(drawing->stacks, callsite);
        const char *function =
                number > 0 ? text_of(drawing, report_stacks_name(drawing->stacks, number - 1))
                           : NULL;

        return report_drawing_color(function && *function ? function : "?");
}

static void put_stack(const Line *line, const ReportRow *row, bool are_several, int64_t width) {
        int64_t x = report_drawing_x(line->drawing, row->start_ns);
        char name[NAME_BYTES], class_name[16];

        name_stack(line->drawing, row->what, name);
        snprintf(class_name,
                 sizeof(class_name),
                 are_several ? "c%u n" : "c%u",
                 color_of_stack(line->drawing, row->what));
        line->drawing->has_several |= are_several;
        put_bar(line, row, class_name, x, width, name, 0, STATES_HEIGHT - 2);
}

static void put_row(void *userdata, const ReportRow *row) {
        const Line *line = userdata;
        ReportDrawing *drawing = line->drawing;
        const ReportItem item = { .start_ns = row->start_ns, .duration_ns = row->duration_ns };
        int64_t x = report_drawing_x(drawing, row->start_ns);
        int64_t width = report_drawing_x(drawing, end_of(drawing, &item)) - x;

        if (!is_shown(drawing, line->kind, row->what))
                return;
        if (row->duration_ns == 0)
                put_instant(line, row, x, text_of(drawing, row->what));
        else if (line->kind == REPORT_SLEEPS)
                put_stack(line, row, row->n > 1, MAX(width, (int64_t)NARROWEST));
        else if (line->kind == REPORT_STATES)
                put_state(line, row, x, MAX(width, (int64_t)NARROWEST));
        else
                put_slice(line, row, x, MAX(width, (int64_t)NARROWEST));
}

/*
 * Lanes
 */

static void put_name(ReportDrawing *drawing, const char *name, unsigned height) {
        report_drawing_label(drawing,
                             120,
                             10 * (int64_t)(drawing->y + MIN(height, (unsigned)TEXT_DROP)),
                             10 * (REPORT_DRAWING_LABELS - 20),
                             height < TEXT_DROP ? "s" : NULL,
                             name);
}

/* Returns false if no room is left for them. */
static bool take_lines(ReportDrawing *drawing, size_t n) {
        if (n > drawing->n_lines_max - drawing->n_lines) {
                drawing->n_left_out++;
                return false;
        }
        drawing->n_lines += n;
        return true;
}

static void draw_line(ReportDrawing *drawing, ReportKind kind, uint32_t line, unsigned height) {
        const ReportLines *lines = &drawing->content->lines[kind];
        Line here = { drawing, kind, drawing->y };

        report_thin_part(lines,
                         first_row(drawing, lines, line),
                         end_row(drawing, lines, line),
                         drawing->grain_ns,
                         put_row,
                         &here);
        drawing->y += height;
}

/* The lines that have items; inner lines exist only below outer ones. */
static uint32_t count_lines(const ReportDrawing *drawing, ReportKind kind, uint32_t key) {
        const ReportLines *lines = &drawing->content->lines[kind];
        uint32_t n = 0;

        if (!report_lines_has(lines, key))
                return 0;
        for (uint32_t line = lines->first_line[key]; line < lines->first_line[key + 1]; line++)
                if (has_rows(drawing, kind, line))
                        n = line - lines->first_line[key] + 1;
        return n;
}

static bool draw_lines(ReportDrawing *drawing,
                       ReportKind kind,
                       uint32_t key,
                       const char *name,
                       unsigned height) {
        uint32_t n = count_lines(drawing, kind, key);

        if (n == 0 || !take_lines(drawing, n))
                return false;
        put_name(drawing, name, height);
        for (uint32_t i = 0; i < n; i++)
                draw_line(drawing, kind, drawing->content->lines[kind].first_line[key] + i, height);
        drawing->y += LANE_GAP;
        return true;
}

bool report_draw_cpu(ReportDrawing *drawing, uint32_t cpu, const char *name) {
        return draw_lines(drawing, REPORT_CPUS, cpu, name, REPORT_DRAWING_LINE);
}

bool report_draw_logs(ReportDrawing *drawing, uint32_t priority, const char *name) {
        return draw_lines(drawing, REPORT_LOGS, priority, name, REPORT_DRAWING_LINE);
}

bool report_draw_states(ReportDrawing *drawing, uint32_t utid, const char *name) {
        return draw_lines(drawing, REPORT_STATES, utid, name, STATES_HEIGHT);
}

/*
 * Samples, which take no time
 */

/* The samples that one tick stands for. */
typedef struct Tick {
        ReportRow row;
        size_t n_samples;
        uint64_t lead; /* of that stack over all others */
} Tick;

static void tick_add(Tick *tick, const ReportItem *item, uint32_t weight) {
        if (tick->n_samples++ == 0)
                tick->row = (ReportRow){ .start_ns = item->start_ns, .what = item->what };
        tick->row.n += MIN(weight, UINT32_MAX - tick->row.n);
        report_row_vote(&tick->row, &tick->lead, item->what, weight);
}

static void tick_put(Tick *tick, const Line *line) {
        if (tick->n_samples > 0)
                put_stack(line, &tick->row, tick->n_samples > 1, TITLE_WIDTH);
        *tick = (Tick){ 0 };
}

/* Ticks are as wide as what can be pointed at, so samples that are closer share one. */
static void put_ticks(const Line *line, uint32_t first, uint32_t end) {
        const ReportItem *items = line->drawing->content->lines[line->kind].items;
        int64_t grain_ns = line->drawing->grain_ns;
        Tick tick = { 0 };

        if (__builtin_mul_overflow(grain_ns, TITLE_WIDTH / 10, &grain_ns))
                grain_ns = INT64_MAX;
        for (uint32_t row = first; row < end; row++) {
                int64_t weight = line->kind == REPORT_FAULTS ? items[row].weight : 1, distance;

                if (__builtin_sub_overflow(items[row].start_ns, tick.row.start_ns, &distance) ||
                    distance >= grain_ns)
                        tick_put(&tick, line);
                tick_add(&tick, &items[row], (uint32_t)MIN(MAX(weight, 1), UINT32_MAX));
        }
        tick_put(&tick, line);
}

static bool draw_ticks(ReportDrawing *drawing, ReportKind kind, uint32_t utid, const char *name) {
        const ReportLines *lines = &drawing->content->lines[kind];
        const Line here = { drawing, kind, drawing->y };
        uint32_t line, first, end;

        if (!report_lines_has(lines, utid))
                return false;
        line = lines->first_line[utid];
        first = find_row(lines, line, drawing->from_ns);
        end = end_row(drawing, lines, line);
        if (first >= end || !take_lines(drawing, 1))
                return false;
        put_name(drawing, name, STATES_HEIGHT);
        put_ticks(&here, first, end);
        drawing->y += STATES_HEIGHT + LANE_GAP;
        return true;
}

bool report_draw_stacks(ReportDrawing *drawing, ReportKind kind, uint32_t utid, const char *name) {
        return kind == REPORT_SLEEPS ? draw_lines(drawing, kind, utid, name, STATES_HEIGHT)
                                     : draw_ticks(drawing, kind, utid, name);
}

/*
 * Counters
 */

typedef struct Curve {
        ReportDrawing *drawing;
        double low, high;
        unsigned y;
        size_t n;
} Curve;

static void find_bounds(void *userdata, int64_t at_ns, double value) {
        Curve *curve = userdata;

        (void)at_ns;
        if (!isfinite(value))
                return;
        curve->low = MIN(curve->low, value);
        curve->high = MAX(curve->high, value);
}

static int64_t height_of(const Curve *curve, double value) {
        double span = curve->high - curve->low, share;

        if (!isfinite(value) || !(span > 0) || !isfinite(span))
                return 10;
        share = (value - curve->low) / span;
        return 10 + (int64_t)(share * (10 * (VALUES_HEIGHT - 4)));
}

static void put_point(void *userdata, int64_t at_ns, double value) {
        Curve *curve = userdata;
        int64_t x = report_drawing_x(curve->drawing, at_ns);
        int64_t y = 10 * (int64_t)(curve->y + VALUES_HEIGHT) - height_of(curve, value);

        report_drawing_put(curve->drawing,
                           curve->n++ == 0 ? "M%" PRId64 ".%" PRId64 " %" PRId64 ".%" PRId64
                                           : "H%" PRId64 ".%" PRId64 "V%" PRId64 ".%" PRId64,
                           x / 10,
                           x % 10,
                           y / 10,
                           y % 10);
}

static void put_highest(const Curve *curve, uint32_t track) {
        const TraceTable *tracks = &curve->drawing->content->store->tables[TRACE_TABLE_TRACK];
        const char *unit = text_of(curve->drawing, trace_table_get(tracks, TRACK_UNIT, track));
        char text[NAME_BYTES], size[TEXT_SIZE_BYTES];

        if (unit && strncmp(unit, "byte", 4) == 0 && curve->high >= 0 && curve->high < 1e18)
                snprintf(text, sizeof(text), "%s", text_format_size(size, (uint64_t)curve->high));
        else if (unit && streq(unit, "ns") && curve->high >= 0 && curve->high < 1e18)
                snprintf(text,
                         sizeof(text),
                         "%s",
                         text_format_duration(size, (uint64_t)curve->high));
        else
                snprintf(text, sizeof(text), "%g %s", curve->high, unit ? unit : "");
        report_drawing_label(curve->drawing,
                             10 * REPORT_DRAWING_LABELS + 20,
                             10 * (int64_t)(curve->y + 9),
                             2000,
                             "s",
                             text);
}

static bool draw_values(ReportDrawing *drawing, uint32_t track, const char *name) {
        const ReportLines *lines = &drawing->content->lines[REPORT_VALUES];
        Curve curve = { .drawing = drawing, .low = 0, .high = -INFINITY, .y = drawing->y };
        uint32_t line, first, end;

        if (!report_lines_has(lines, track))
                return false;
        line = lines->first_line[track];
        first = find_row(lines, line, drawing->from_ns);
        end = end_row(drawing, lines, line);
        if (first >= end || !take_lines(drawing, 1))
                return false;
        first -= first > lines->offsets[line]; /* its value when the drawing begins */
        report_thin_values_part(lines, first, end, drawing->grain_ns, find_bounds, &curve);
        put_name(drawing, name, VALUES_HEIGHT);
        report_drawing_put(drawing, "<path class=\"v\" d=\"");
        report_thin_values_part(lines, first, end, drawing->grain_ns, put_point, &curve);
        report_drawing_put(drawing, "H%d\"/>\n", REPORT_DRAWING_WIDTH);
        if (isfinite(curve.high))
                put_highest(&curve, track);
        drawing->y += VALUES_HEIGHT + LANE_GAP;
        return true;
}

bool report_draw_track(ReportDrawing *drawing, uint32_t track, const char *name) {
        const TraceTable *tracks = &drawing->content->store->tables[TRACE_TABLE_TRACK];
        unsigned y = drawing->y;

        if (trace_table_get(tracks, TRACK_KIND, track) == TRACK_KIND_COUNTER)
                return draw_values(drawing, track, name);
        if (!draw_lines(drawing, REPORT_SLICES, track, name, REPORT_DRAWING_LINE))
                return false;
        drawing->track_y[track] = y + 1;
        return true;
}

/*
 * Flows
 */

static bool
place_of(const ReportDrawing *drawing, uint32_t slice, int64_t *ret_x, unsigned *ret_y) {
        const TraceStore *store = drawing->content->store;
        const TraceTable *slices = &store->tables[TRACE_TABLE_SLICE];
        uint32_t track, depth;
        int64_t at_ns;

        if (slice >= slices->n)
                return false;
        track = trace_table_get(slices, SLICE_TRACK, slice);
        depth = trace_table_get(slices, SLICE_DEPTH, slice);
        at_ns = trace_table_i64(slices, SLICE_TS, slice);
        if (track >= store->tables[TRACE_TABLE_TRACK].n || drawing->track_y[track] == 0 ||
            at_ns < drawing->from_ns || at_ns > drawing->to_ns)
                return false;
        *ret_x = report_drawing_x(drawing, at_ns) / 10;
        *ret_y = drawing->track_y[track] - 1 + BAR / 2 +
                 (depth == TRACE_NONE ? 0 : depth) * REPORT_DRAWING_LINE;
        return true;
}

void report_draw_flows(ReportDrawing *drawing) {
        const TraceTable *flows = &drawing->content->store->tables[TRACE_TABLE_FLOW];
        size_t n = 0;

        for (uint32_t row = 0; row < flows->n && n < FLOWS_MAX; row++) {
                int64_t x0, x;
                unsigned y0, y;

                if (!place_of(drawing, trace_table_get(flows, FLOW_OUT, row), &x0, &y0) ||
                    !place_of(drawing, trace_table_get(flows, FLOW_IN, row), &x, &y))
                        continue;
                report_drawing_put(drawing,
                                   "<path class=\"f\" d=\"M%" PRId64 " %uC%" PRId64 " %u %" PRId64
                                   " %u %" PRId64 " %u\"/>\n",
                                   x0,
                                   y0,
                                   x0 + 14,
                                   y0,
                                   x - 14,
                                   y,
                                   x,
                                   y);
                n++;
        }
        drawing->has_flows = n > 0;
}
