/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Drawing: a period of time as SVG elements */

#include "report/report-drawing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "report/report-html.h"
#include "shared/utf8.h"

#define PUT_BYTES 512
/* The width of a character, in tenths of a pixel; East Asian characters and emoji are about twice as wide. */
#define COLUMN_WIDTH   62
#define COLUMNS_MIN    3
#define FIRST_WIDE     0xe1 /* the first byte of U+1000 and everything after it */
#define COLUMNS_ENDING 1

static void note(ReportDrawing *drawing, int r) {
        if (r != 0)
                drawing->error = r;
}

int64_t report_drawing_x(const ReportDrawing *drawing, int64_t at_ns) {
        const double width = 10.0 * (REPORT_DRAWING_WIDTH - REPORT_DRAWING_LABELS);
        double length = (double)drawing->to_ns - (double)drawing->from_ns;
        double share = length > 0 ? ((double)at_ns - (double)drawing->from_ns) / length : 0;

        return 10 * REPORT_DRAWING_LABELS + (int64_t)(MAX(MIN(share, 1.0), 0.0) * width);
}

void report_drawing_put(ReportDrawing *drawing, const char *format, ...) {
        char text[PUT_BYTES];
        va_list arguments;
        int n;

        va_start(arguments, format);
        n = vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        if (n > 0)
                note(drawing, bytes_append(&drawing->body, text, MIN((size_t)n, sizeof(text) - 1)));
}

/* XML does not allow U+FFFE and U+FFFF. */
static bool is_forbidden(const char *at, size_t n) {
        return n == 3 && (uint8_t)at[0] == 0xef && (uint8_t)at[1] == 0xbf && (uint8_t)at[2] >= 0xbe;
}

static size_t columns_of(const char *at) {
        return (uint8_t)*at >= FIRST_WIDE && (uint8_t)*at != 0xe2 ? 2 : 1;
}

/* How many bytes fit; *ret_is_all is whether the whole text does. */
static size_t fit(const char *text, size_t n_columns, bool *ret_is_all) {
        size_t n_left = strlen(text), at = 0, used = 0, cut = 0;

        while (n_left > 0) {
                size_t n = utf8_character((const uint8_t *)text + at, n_left);

                used += columns_of(text + at);
                if (used > n_columns)
                        break;
                n = MAX(n, (size_t)1);
                at += n;
                n_left -= n;
                if (used + COLUMNS_ENDING <= n_columns)
                        cut = at;
        }
        *ret_is_all = n_left == 0;
        return n_left == 0 ? at : cut;
}

static void blank_forbidden(char *text) {
        for (char *at = text; *at;) {
                size_t n = utf8_character((const uint8_t *)at, strlen(at));

                if (is_forbidden(at, n))
                        memset(at, '?', n);
                at += MAX(n, (size_t)1);
        }
}

void report_drawing_put_text(ReportDrawing *drawing, const char *text, size_t n_columns) {
        _cleanup_(freep) char *line = utf8_copy_line(text ? text : "", 4 * n_columns);
        bool is_all;

        if (!line) {
                note(drawing, -ENOMEM);
                return;
        }
        blank_forbidden(line);
        line[fit(line, n_columns, &is_all)] = 0;
        note(drawing, report_html_text(&drawing->body, line));
        if (!is_all)
                report_drawing_put(drawing, "…");
}

void report_drawing_label(ReportDrawing *drawing,
                          int64_t x,
                          int64_t y,
                          int64_t width,
                          const char *class_name,
                          const char *text) {
        int64_t n_columns = width / COLUMN_WIDTH;

        if (n_columns < COLUMNS_MIN || !text || !*text)
                return;
        report_drawing_put(drawing,
                           "<text x=\"%" PRId64 ".%" PRId64 "\" y=\"%" PRId64 ".%" PRId64 "\"",
                           x / 10,
                           x % 10,
                           y / 10,
                           y % 10);
        if (class_name)
                report_drawing_put(drawing, " class=\"%s\"", class_name);
        report_drawing_put(drawing, ">");
        report_drawing_put_text(drawing, text, (size_t)n_columns);
        report_drawing_put(drawing, "</text>\n");
}

/* FNV-1a, as in page/drawing.js. */
unsigned report_drawing_color(const char *name) {
        uint32_t hash = UINT32_C(2166136261);

        for (; name && *name; name++)
                hash = (hash ^ (uint8_t)*name) * UINT32_C(16777619);
        return hash % REPORT_DRAWING_COLORS;
}
