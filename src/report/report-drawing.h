/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Drawing: a period of time as SVG elements
 *
 * Time goes from left to right, lines from top to bottom. Positions are whole tenths of a pixel, so that the locale
 * does not change how a number is written. Names come from strangers: they are escaped as text, and characters that XML
 * forbids are replaced.
 */

#include "report/report-content.h"
#include "report/report-stacks.h"
#include "shared/bytes.h"

#define REPORT_DRAWING_WIDTH  1000 /* pixels */
#define REPORT_DRAWING_LABELS 190  /* tenths of a pixel, for the names at the left */
#define REPORT_DRAWING_LINE   17   /* the height of a line of slices */
#define REPORT_DRAWING_COLORS 12   /* classes c0 to c11 */

typedef struct ReportDrawing {
        const ReportContent *content;
        ReportStacks *stacks;                   /* names of samples */
        const char *(*translate)(const char *); /* or NULL */
        int64_t from_ns, to_ns;
        int64_t grain_ns; /* shorter rows may be merged into one (report-thin.h) */
        Bytes body;
        int error;                   /* 0, or -ENOMEM */
        unsigned y;                  /* where the next lane begins */
        size_t n_lines, n_lines_max; /* of all lanes */
        size_t n_left_out;           /* lanes that were left out because no line was left */
        uint32_t *track_y;           /* by track: its position plus one; 0: not drawn */
        bool has_states, has_several, has_flows; /* colours that the legend explains */
} ReportDrawing;

static inline const char *report_drawing_word(const ReportDrawing *drawing, const char *text) {
        return drawing->translate ? drawing->translate(text) : text;
}

/* Tenths of pixels. Times outside are drawn at the edge. */
int64_t report_drawing_x(const ReportDrawing *drawing, int64_t at_ns);

/* Adds our own markup, which contains only numbers. */
__attribute__((format(printf, 2, 3))) void
report_drawing_put(ReportDrawing *drawing, const char *format, ...);
/* Adds text that must not be taken for markup, as much of it as fits into the columns. */
void report_drawing_put_text(ReportDrawing *drawing, const char *text, size_t n_columns);

/* A text at a place, x and y in tenths; left out if there is too little room to read it. The class may be NULL. */
void report_drawing_label(ReportDrawing *drawing,
                          int64_t x,
                          int64_t y,
                          int64_t width,
                          const char *class_name,
                          const char *text);

/* The class of a name's colour, which is the same in every drawing and page. */
unsigned report_drawing_color(const char *name);
