/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* SVG: a period of a recording as one picture, for mails, bug reports and pages */

#include "report/report-svg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "answers/answer-questions.h"
#include "answers/answer-time.h"
#include "report/report-drawing-lanes.h"
#include "report/report-words.h"
#include "shared/text.h"

#define TITLE_Y      20
#define CAPTION_Y    38
#define LOSSES_Y     54
#define AXIS_Y       76
#define LANES_Y      88
#define HEAD_HEIGHT  20
#define LEFT         4
#define FOOT_LINE    16
#define FOOT_TEXT    11
#define SAMPLE_WIDTH 32
#define LOSSES_SHOWN 5
#define MARKS_WANTED 8
#define NAME_BYTES   256
#define TEXT_BYTES   512

static const char style[] =
        "<style>"
        "svg{font:11px sans-serif;fill:#1d1f23;background:#fff}"
        ".t{font-size:15px;font-weight:bold}.g{font-weight:bold}.s{font-size:9px;fill:#5b616b}"
        ".p{fill:#5b616b}.b{fill:#f3f4f6}.a{stroke:#d9dce1}"
        "rect{stroke:#5b616b;stroke-width:.4}.n{fill-opacity:.55}"
        ".c0{fill:#b7d3f2}.c1{fill:#f6cfa4}.c2{fill:#bfe3b4}.c3{fill:#e4c1e8}"
        ".c4{fill:#f4b8b4}.c5{fill:#c9c6ef}.c6{fill:#f3e3a2}.c7{fill:#aee0dd}"
        ".c8{fill:#e0cdb8}.c9{fill:#cfd6dd}.c10{fill:#f2c3d9}.c11{fill:#d3e3a6}"
        ".w,.b,.run,.wait,.block{stroke:none}.w{fill:#fff}"
        ".run{fill:#1a5fb4}.wait{fill:#8a919c}.block{fill:#c01c28}"
        ".v{fill:none;stroke:#1a5fb4}.f{fill:none;stroke:#1d1f23;stroke-opacity:.6;marker-end:url(#"
        "m)}"
        "</style>\n"
        "<marker id=\"m\" markerWidth=\"7\" markerHeight=\"6\" refX=\"6\" refY=\"3\" "
        "orient=\"auto\"><path d=\"M0 0L7 3L0 6z\"/></marker>\n";

static const char *text_of(const ReportDrawing *drawing, uint32_t name) {
        return trace_pool_text(&drawing->content->store->pool, name);
}

/*
 * Lanes
 */

static void name_thread(const ReportDrawing *drawing, uint32_t utid, char name[NAME_BYTES]) {
        const TraceTable *threads = &drawing->content->store->tables[TRACE_TABLE_THREAD];
        const char *text = text_of(drawing, trace_table_get(threads, THREAD_NAME, utid));
        int64_t tid = 0;

        trace_table_number(threads, THREAD_TID, utid, &tid);
        snprintf(name, NAME_BYTES, "%s %" PRId64, text && *text ? text : "?", tid);
}

static void
name_group(const ReportDrawing *drawing, const ReportGroup *group, char name[NAME_BYTES]) {
        const TraceTable *processes = &drawing->content->store->tables[TRACE_TABLE_PROCESS];
        const char *text, *unit;
        char number[32] = "";
        int64_t pid;

        if (group->upid == REPORT_MACHINE) {
                snprintf(name,
                         NAME_BYTES,
                         "%s",
                         report_drawing_word(drawing, report_word("machine")));
                return;
        }
        text = text_of(drawing, trace_table_get(processes, PROCESS_NAME, group->upid));
        unit = text_of(drawing, trace_table_get(processes, PROCESS_UNIT, group->upid));
        if (trace_table_number(processes, PROCESS_PID, group->upid, &pid))
                snprintf(number, sizeof(number), " %" PRId64, pid);
        snprintf(
                name, NAME_BYTES, "%s%s  %s", text && *text ? text : "?", number, unit ? unit : "");
}

static bool draw_tracks(ReportDrawing *drawing, const ReportGroup *group, uint32_t kind) {
        const TraceTable *tracks = &drawing->content->store->tables[TRACE_TABLE_TRACK];
        bool is_drawn = false;

        for (size_t i = 0; i < group->n_tracks; i++) {
                uint32_t track = group->tracks[i], cpu = trace_table_get(tracks, TRACK_CPU, track);
                const char *text = text_of(drawing, trace_table_get(tracks, TRACK_NAME, track));
                char name[NAME_BYTES];

                if (trace_table_get(tracks, TRACK_UTID, track) != TRACE_NONE ||
                    trace_table_get(tracks, TRACK_KIND, track) != kind)
                        continue;
                if (cpu == TRACE_NONE)
                        snprintf(name, sizeof(name), "%s", text ? text : "");
                else
                        snprintf(name, sizeof(name), "%s %" PRIu32, text ? text : "", cpu);
                is_drawn |= report_draw_track(drawing, track, name);
        }
        return is_drawn;
}

static bool draw_stacks(ReportDrawing *drawing, uint32_t utid, const char *name) {
        static const struct {
                ReportKind kind;
                const char *word;
        } lanes[] = {
                { REPORT_SAMPLES, "stacks" },
                { REPORT_SLEEPS, "sleeps" },
                { REPORT_FAULTS, "faults" },
        };
        bool is_drawn = false;

        for (size_t i = 0; i < ARRAY_SIZE(lanes); i++) {
                char text[2 * NAME_BYTES];

                snprintf(text,
                         sizeof(text),
                         "%s %s",
                         report_drawing_word(drawing, report_word(lanes[i].word)),
                         name);
                is_drawn |= report_draw_stacks(drawing, lanes[i].kind, utid, text);
        }
        return is_drawn;
}

/* The thread's tracks come below its states and stacks, where its name already is. */
static bool draw_thread(ReportDrawing *drawing, const ReportGroup *group, uint32_t utid) {
        const TraceTable *tracks = &drawing->content->store->tables[TRACE_TABLE_TRACK];
        char name[NAME_BYTES];
        bool is_drawn;

        name_thread(drawing, utid, name);
        is_drawn = report_draw_states(drawing, utid, name);
        is_drawn |= draw_stacks(drawing, utid, name);
        for (size_t i = 0; i < group->n_tracks; i++) {
                uint32_t track = group->tracks[i];
                const char *text = text_of(drawing, trace_table_get(tracks, TRACK_NAME, track));

                if (trace_table_get(tracks, TRACK_UTID, track) != utid)
                        continue;
                if (!text || !*text)
                        text = is_drawn ? NULL : name;
                is_drawn |= report_draw_track(drawing, track, text);
        }
        return is_drawn;
}

static bool draw_threads(ReportDrawing *drawing, const ReportGroup *group) {
        bool is_drawn = false;

        for (size_t i = 0; i < group->n_threads; i++)
                is_drawn |= draw_thread(drawing, group, group->threads[i]);
        return is_drawn;
}

static bool draw_machine(ReportDrawing *drawing) {
        const ReportContent *content = drawing->content;
        bool is_drawn = false;
        char name[NAME_BYTES];

        for (uint32_t cpu = 0; cpu < content->lines[REPORT_CPUS].n_keys; cpu++) {
                snprintf(name, sizeof(name), "CPU %" PRIu32, cpu);
                is_drawn |= report_draw_cpu(drawing, cpu, name);
        }
        for (uint32_t priority = 0; priority < content->lines[REPORT_LOGS].n_keys; priority++) {
                snprintf(name,
                         sizeof(name),
                         "%s %" PRIu32,
                         report_drawing_word(drawing, report_word("log")),
                         priority);
                is_drawn |= report_draw_logs(drawing, priority, name);
        }
        return is_drawn;
}

static void draw_group(ReportDrawing *drawing, const ReportGroup *group) {
        const size_t n_before = drawing->body.n;
        const unsigned y = drawing->y;
        char name[NAME_BYTES];
        bool is_drawn = false;

        name_group(drawing, group, name);
        report_drawing_put(drawing,
                           "<rect class=\"b\" y=\"%u\" width=\"%d\" height=\"%d\"/>\n",
                           y,
                           REPORT_DRAWING_WIDTH,
                           HEAD_HEIGHT - 3);
        report_drawing_label(
                drawing, 40, 10 * (int64_t)(y + 12), 10 * REPORT_DRAWING_WIDTH, "g", name);
        drawing->y += HEAD_HEIGHT;
        if (group->upid == REPORT_MACHINE)
                is_drawn = draw_machine(drawing);
        is_drawn |= draw_tracks(drawing, group, TRACK_KIND_SLICE);
        is_drawn |= draw_threads(drawing, group);
        if (group->upid != REPORT_MACHINE)
                is_drawn |= draw_tracks(drawing, group, TRACK_KIND_COUNTER);
        if (is_drawn)
                return;
        drawing->body.n = n_before;
        drawing->y = y;
}

/* The machine has many counters, so they come last. */
static void draw_lanes(ReportDrawing *drawing) {
        const ReportGroups *groups = &drawing->content->groups;

        drawing->y = LANES_Y;
        for (size_t i = 0; i < groups->n; i++)
                draw_group(drawing, &groups->groups[i]);
        for (size_t i = 0; i < groups->n; i++)
                if (groups->groups[i].upid == REPORT_MACHINE)
                        draw_tracks(drawing, &groups->groups[i], TRACK_KIND_COUNTER);
        report_draw_flows(drawing);
}

/*
 * Axes and labels
 */

static void
put_line(ReportDrawing *drawing, int x, unsigned y, const char *class_name, const char *text) {
        report_drawing_label(drawing,
                             10 * (int64_t)x,
                             10 * (int64_t)y,
                             10 * (int64_t)(REPORT_DRAWING_WIDTH - x),
                             class_name,
                             text);
}

/* 1, 2 or 5 times a power of ten. */
static int64_t step_of_axis(int64_t length_ns) {
        static const int64_t factors[] = { 1, 2, 5 };
        int64_t power = 1;

        for (;; power *= 10)
                for (size_t i = 0; i < ARRAY_SIZE(factors); i++)
                        if (length_ns / (power * factors[i]) <= MARKS_WANTED ||
                            power >= INT64_C(100000000000000000))
                                return power * factors[i];
}

/* Times on the axis count from the drawing's beginning: counted from the recording's, they would all begin with the
 * same digits. */
static void put_axis(ReportDrawing *drawing) {
        int64_t length_ns = time_since(drawing->to_ns, drawing->from_ns);
        int64_t step = step_of_axis(length_ns);
        char text[TEXT_SIZE_BYTES];

        for (int64_t at = 0; at <= length_ns && at >= 0; at = time_add(at, step)) {
                int64_t x = report_drawing_x(drawing, drawing->from_ns + at);

                report_drawing_put(drawing,
                                   "<path class=\"a\" d=\"M%" PRId64 ".5 %dV%u\"/>\n",
                                   x / 10,
                                   AXIS_Y + 4,
                                   drawing->y);
                report_drawing_label(drawing,
                                     x,
                                     10 * AXIS_Y,
                                     10 * REPORT_DRAWING_WIDTH - x + 100,
                                     "p",
                                     text_format_duration(text, (uint64_t)at));
                if (at == INT64_MAX)
                        break;
        }
}

/* "3.214567 s", in the form that --from takes. */
static void format_place(char text[static TEXT_SIZE_BYTES], int64_t ns) {
        snprintf(text,
                 TEXT_SIZE_BYTES,
                 "%" PRId64 ".%06" PRId64 " s",
                 ns / INT64_C(1000000000),
                 ns / 1000 % 1000000);
}

static void put_caption(ReportDrawing *drawing, const ReportSvgOptions *options) {
        const ReportContent *content = drawing->content;
        char text[TEXT_BYTES],
                day[REPORT_SVG_DAY_BYTES + sizeof(" · ")] = "", length[TEXT_SIZE_BYTES],
                                           from[TEXT_SIZE_BYTES], whole[TEXT_SIZE_BYTES];
        int64_t wall_ns, zero_ns, last_ns;

        if (options->format_day && report_content_wall_time(content, drawing->from_ns, &wall_ns)) {
                options->format_day(day, wall_ns);
                strcat(day, " · ");
        }
        text_format_duration(length, (uint64_t)time_since(drawing->to_ns, drawing->from_ns));
        text_format_duration(whole, (uint64_t)time_since(content->end_ns, content->start_ns));
        if (!answer_time_bounds(content->store, &zero_ns, &last_ns))
                zero_ns = content->start_ns;
        format_place(from, time_since(drawing->from_ns, zero_ns));
        snprintf(text,
                 sizeof(text),
                 report_drawing_word(drawing, N_("%s%s of %s, from %s on")),
                 day,
                 length,
                 whole,
                 from);
        put_line(drawing, LEFT, CAPTION_Y, "p", text);
}

static const char *word_of(const ReportDrawing *drawing, const char *key) {
        return report_drawing_word(drawing, report_word(key));
}

/*
 * Losses: the first are listed above the lanes, the others below
 */

static const AnswerValue *cell_of(const Answer *answer, size_t row, const char *key) {
        for (size_t i = 0; i < answer->def->n_columns; i++)
                if (streq(answer->def->columns[i].key, key))
                        return answer_cell(answer, row, i);
        return NULL;
}

static Answer *find_losses(ReportDrawing *drawing) {
        AnswerQuestion question = { .store = drawing->content->store };
        Answer *answer = NULL;

        if (!answer_time_bounds(question.store, &question.zero, &question.last))
                question.zero = question.last = 0;
        question.start = question.zero;
        question.end = question.last;
        if (answer_find(&answer, &answer_losses, &question))
                drawing->error = -ENOMEM;
        return answer;
}

static void
put_loss(ReportDrawing *drawing, const Answer *answer, size_t row, unsigned y, const char *before) {
        const AnswerValue *name = cell_of(answer, row, "name"), *n = cell_of(answer, row, "n"),
                          *means = cell_of(answer, row, "means");
        char number[32], sentence[TEXT_BYTES], text[2 * TEXT_BYTES];

        snprintf(number, sizeof(number), "%" PRId64, n ? n->number : 0);
        snprintf(sentence,
                 sizeof(sentence),
                 report_drawing_word(drawing, N_("No: %s (%s). This means: %s.")),
                 name && name->text ? name->text : "?",
                 number,
                 means && means->word ? report_drawing_word(drawing, means->word) : "?");
        snprintf(text, sizeof(text), "%s %s", before, sentence);
        put_line(drawing, LEFT, y, "g", text);
}

static void put_completeness(ReportDrawing *drawing, const Answer *losses) {
        const char *question = report_drawing_word(drawing, N_("Is it complete?"));
        char text[TEXT_BYTES];

        if (losses->n_rows > 0) {
                put_loss(drawing, losses, 0, LOSSES_Y, question);
                return;
        }
        snprintf(text,
                 sizeof(text),
                 "%s %s",
                 question,
                 report_drawing_word(drawing, N_("Yes: nothing was lost while it was recorded.")));
        put_line(drawing, LEFT, LOSSES_Y, "p", text);
}

static void put_more_losses(ReportDrawing *drawing, const Answer *losses) {
        for (size_t row = 1; row < MIN(losses->n_rows, (size_t)LOSSES_SHOWN); row++) {
                put_loss(drawing, losses, row, drawing->y + FOOT_TEXT, "");
                drawing->y += FOOT_LINE;
        }
}

/*
 * Below the lanes
 */

static void put_sample(ReportDrawing *drawing, const char *markup, const char *text) {
        report_drawing_put(
                drawing, "<g transform=\"translate(%d %u)\">%s</g>\n", LEFT, drawing->y, markup);
        put_line(drawing, LEFT + SAMPLE_WIDTH, drawing->y + FOOT_TEXT, "p", text);
        drawing->y += FOOT_LINE;
}

static void put_states_legend(ReportDrawing *drawing) {
        put_sample(drawing,
                   "<rect class=\"run\" y=\"3\" width=\"24\" height=\"8\"/>",
                   word_of(drawing, "running"));
        put_sample(drawing,
                   "<rect class=\"wait\" y=\"7\" width=\"24\" height=\"4\"/>",
                   word_of(drawing, "runnable"));
        put_sample(drawing,
                   "<rect class=\"block\" y=\"3\" width=\"24\" height=\"3\"/>",
                   word_of(drawing, "blocked"));
}

static void put_legend(ReportDrawing *drawing) {
        char text[TEXT_BYTES];

        drawing->y += FOOT_LINE / 2;
        if (drawing->has_states)
                put_states_legend(drawing);
        if (drawing->has_flows)
                put_sample(drawing, "<path class=\"f\" d=\"M0 7H24\"/>", word_of(drawing, "flows"));
        if (drawing->has_several)
                put_sample(drawing,
                           "<rect class=\"c0 n\" y=\"1\" width=\"24\" height=\"12\"/>",
                           report_drawing_word(drawing, N_("several, too short to be told apart")));
        if (drawing->n_left_out == 0)
                return;
        snprintf(text,
                 sizeof(text),
                 "%s %zu.",
                 report_drawing_word(drawing, N_("Lanes that did not fit into this picture:")),
                 drawing->n_left_out);
        put_line(drawing, LEFT, drawing->y + FOOT_TEXT, "g", text);
        drawing->y += FOOT_LINE;
}

/*
 * The whole
 */

/* The axis is as tall as the lanes and is drawn below them: so it is inserted first, once its height is known. */
static void draw_body(ReportDrawing *drawing, const ReportSvgOptions *options) {
        Answer *losses = find_losses(drawing);
        Bytes lanes;

        draw_lanes(drawing);
        lanes = drawing->body;
        drawing->body = (Bytes){ 0 };
        put_line(drawing, LEFT, TITLE_Y, "t", options->title);
        put_caption(drawing, options);
        if (losses)
                put_completeness(drawing, losses);
        put_axis(drawing);
        if (lanes.n > 0 && bytes_append(&drawing->body, lanes.data, lanes.n))
                drawing->error = -ENOMEM;
        bytes_deinit(&lanes);
        put_legend(drawing);
        if (losses)
                put_more_losses(drawing, losses);
        answer_free(losses);
}

static void put_head(ReportDrawing *head, unsigned height, const char *title) {
        report_drawing_put(head,
                           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
                           "viewBox=\"0 0 %d %u\" role=\"img\" aria-labelledby=\"title\">\n"
                           "<title id=\"title\">",
                           REPORT_DRAWING_WIDTH,
                           height,
                           REPORT_DRAWING_WIDTH,
                           height);
        report_drawing_put_text(head, title, TEXT_BYTES);
        report_drawing_put(head, "</title>\n");
        if (bytes_append(&head->body, style, sizeof(style) - 1))
                head->error = -ENOMEM;
        report_drawing_put(head,
                           "<rect class=\"w\" width=\"%d\" height=\"%u\"/>\n",
                           REPORT_DRAWING_WIDTH,
                           height);
}

static int join(Bytes *ret, ReportDrawing *drawing, const char *title) {
        ReportDrawing head = { 0 };
        int r;

        put_head(&head, drawing->y + FOOT_LINE, title);
        report_drawing_put(drawing, "</svg>\n");
        bytes_clear(ret);
        r = head.error ? head.error : drawing->error;
        if (r == 0)
                r = bytes_append(ret, head.body.data, head.body.n);
        if (r == 0)
                r = bytes_append(ret, drawing->body.data, drawing->body.n);
        bytes_deinit(&head.body);
        return r;
}

static int
draw(Bytes *ret, const ReportContent *content, const ReportSvgOptions *options, int64_t grain_ns) {
        ReportStacks stacks;
        ReportDrawing drawing = {
                .content = content,
                .stacks = &stacks,
                .translate = options->translate,
                .from_ns = options->from_ns,
                .to_ns = options->to_ns,
                .grain_ns = grain_ns,
                .n_lines_max = REPORT_SVG_LINES_MAX,
                .track_y =
                        calloc(content->store->tables[TRACE_TABLE_TRACK].n + 1, sizeof(uint32_t)),
        };
        int r = report_stacks_init(&stacks, content->store);

        if (r == 0 && !drawing.track_y)
                r = -ENOMEM;
        if (r == 0) {
                draw_body(&drawing, options);
                r = join(ret, &drawing, options->title);
        }
        report_stacks_deinit(&stacks);
        bytes_deinit(&drawing.body);
        free(drawing.track_y);
        return r;
}

/* Items shorter than a pixel are always merged; then those shorter than two pixels, four, and so on. */
static int draw_small(Bytes *ret, const ReportContent *content, const ReportSvgOptions *options) {
        const size_t n_bytes_max =
                options->n_bytes_max ? options->n_bytes_max : REPORT_SVG_BYTES_MAX;
        int64_t length_ns = time_since(options->to_ns, options->from_ns);
        int64_t grain_ns = length_ns / (REPORT_DRAWING_WIDTH - REPORT_DRAWING_LABELS);
        int r = draw(ret, content, options, grain_ns);

        while (r == 0 && ret->n > n_bytes_max && grain_ns < length_ns) {
                grain_ns = time_add(grain_ns, MAX(grain_ns, (int64_t)1));
                r = draw(ret, content, options, grain_ns);
        }
        return r;
}

int report_svg_make(Bytes *ret, const TraceStore *store, const ReportSvgOptions *options) {
        ReportContent content;
        int r = report_content_init(&content, store);

        if (r == 0)
                r = draw_small(ret, &content, options);
        report_content_deinit(&content);
        return r;
}
