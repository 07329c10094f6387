/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Lines: the rows of a table, by the line that they are drawn on
 *
 * A key is a track, a CPU or a thread. It has as many lines as its rows are nested, and the rows of one line follow
 * each other. A line's rows are copied side by side, in the order of the table, which is that of time, because they are
 * read many times.
 */

#include "trace/trace-table.h"

/* The columns of a table that are drawn; -1 for those that the table lacks. */
typedef struct ReportColumns {
        int key, depth;
        int start, duration, what;
        int value;
        int only; /* a column that must equal `text`; 0: all rows are drawn, as the first column is no text */
        uint32_t text; /* in the pool */
} ReportColumns;

typedef struct ReportItem {
        int64_t start_ns;
        union {
                int64_t duration_ns; /* -1: no known end */
                int64_t weight;      /* where the column of durations has weights */
                double value;
        };
        uint32_t what;
} ReportItem;

typedef struct ReportLines {
        size_t n_keys;
        uint32_t *first_line; /* by key, and one more: the end of the last */
        size_t n_lines;
        uint32_t *offsets; /* by line, and one more: indexes into `items` */
        ReportItem *items;
} ReportLines;

/* Leaves out rows whose key is not below n_keys. Returns 0, or -ENOMEM. */
int report_lines_init(ReportLines *lines,
                      const TraceTable *table,
                      const ReportColumns *columns,
                      size_t n_keys);
void report_lines_deinit(ReportLines *lines);

static inline bool report_lines_has(const ReportLines *lines, uint32_t key) {
        return key < lines->n_keys && lines->first_line[key] < lines->first_line[key + 1];
}
