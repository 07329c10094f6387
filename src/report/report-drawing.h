/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Drawing: a piece of time as SVG elements
 *
 * Across the drawing is time, down it are lines. Positions are whole tenths of a pixel, so that no locale has a say in
 * how a number is written. Names come from strangers: as text they are escaped, and nothing is left that XML forbids.
 */

#include "report/report-content.h"
#include "shared/bytes.h"

#define REPORT_DRAWING_WIDTH  1000 /* pixels */
#define REPORT_DRAWING_LABELS 190  /* of these, for names at the left */
#define REPORT_DRAWING_LINE   17   /* the height of a line of slices */
#define REPORT_DRAWING_COLORS 12   /* classes c0 to c11 */

typedef struct ReportDrawing {
        const ReportContent *content;
        const char *(*translate)(const char *); /* or NULL */
        int64_t from_ns, to_ns;
        int64_t grain_ns; /* rows that are shorter may be drawn as one (report-thin.h) */
        Bytes body;
        int error;                               /* 0, or -ENOMEM */
        unsigned y;                              /* where the next lane begins */
        size_t n_lines, n_lines_max;             /* of all lanes */
        size_t n_left_out;                       /* lanes for which there was no line left */
        uint32_t *track_y;                       /* by track: where it is, and one; 0: nowhere */
        bool has_states, has_several, has_flows; /* what the legend explains */
} ReportDrawing;

static inline const char *report_drawing_word(const ReportDrawing *drawing, const char *text) {
        return drawing->translate ? drawing->translate(text) : text;
}

/* Tenths of pixels. Times outside are at the edge. */
int64_t report_drawing_x(const ReportDrawing *drawing, int64_t at_ns);

/* Markup of ours, with numbers only. */
__attribute__((format(printf, 2, 3))) void
report_drawing_put(ReportDrawing *drawing, const char *format, ...);
/* What markup must not be: as much of it as fits into the columns. */
void report_drawing_put_text(ReportDrawing *drawing, const char *text, size_t n_columns);

/* A text at a place, x and y in tenths; left out where it is too narrow to read. The class may be NULL. */
void report_drawing_label(ReportDrawing *drawing,
                          int64_t x,
                          int64_t y,
                          int64_t width,
                          const char *class_name,
                          const char *text);

/* The class of a colour; the same for the same name, in every drawing and page. */
unsigned report_drawing_color(const char *name);
