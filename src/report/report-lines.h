/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Lines: the rows of a table, by what they are drawn on
 *
 * A key is a track, a CPU or a thread. Its rows are on as many lines as they are nested, and those of one line follow
 * each other. A line has what is drawn of its rows, side by side, in the order of the table, which is that of time: it
 * is walked through many times.
 */

#include "trace/trace-table.h"

/* The columns of a table that are drawn; those that a table does not have are -1. */
typedef struct ReportColumns {
        int key, depth;
        int start, duration, what;
        int value;
        int only; /* a column that has to be `text`; 0: all rows are drawn, as the first column is no text */
        uint32_t text; /* in the pool */
} ReportColumns;

typedef struct ReportItem {
        int64_t start_ns;
        union {
                int64_t duration_ns; /* -1: it did not end */
                int64_t weight;      /* where the column of durations has weights */
                double value;
        };
        uint32_t what;
} ReportItem;

typedef struct ReportLines {
        size_t n_keys;
        uint32_t *first_line; /* by key, and one more: the end of the last */
        size_t n_lines;
        uint32_t *offsets; /* by line, and one more: into `items` */
        ReportItem *items;
} ReportLines;

/* Rows whose key is not below n_keys are left out. 0, or -ENOMEM. */
int report_lines_init(ReportLines *lines,
                      const TraceTable *table,
                      const ReportColumns *columns,
                      size_t n_keys);
void report_lines_deinit(ReportLines *lines);

static inline bool report_lines_has(const ReportLines *lines, uint32_t key) {
        return key < lines->n_keys && lines->first_line[key] < lines->first_line[key + 1];
}
