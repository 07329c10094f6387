/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Thinning: rows too small to be seen are merged into one
 *
 * A page has room for some rows; a recording may have a hundred times as many. So a grain is chosen, which is a time:
 * rows that are shorter and closer together than the grain are drawn as one, which says how many they are and shows the
 * value that took most of the time. Rows longer than the grain are always drawn themselves.
 */

#include "report/report-lines.h"

/* Only rows within this many grains are merged, so that the picture keeps its shape. */
#define REPORT_GRAINS_MERGED 4

typedef struct ReportRow {
        int64_t start_ns;
        int64_t duration_ns; /* -1: no known end */
        uint32_t what;       /* a name, a thread or a state: the column that the line shows */
        uint32_t n;          /* number of merged rows */
} ReportRow;

/* Boyer and Moore's majority vote: what a merged row is named after leads over all others by `lead`. */
void report_row_vote(ReportRow *row, uint64_t *lead, uint32_t what, uint64_t weight);

typedef void (*ReportSink)(void *userdata, const ReportRow *row);

/* Without a sink the rows are only counted. Returns their number. */
size_t report_thin(const ReportLines *lines,
                   uint32_t line,
                   int64_t grain_ns,
                   ReportSink sink,
                   void *userdata);

/* The same for some of a line's rows, from `first` up to `end`: indexes into the items of all lines. */
size_t report_thin_part(const ReportLines *lines,
                        uint32_t first,
                        uint32_t end,
                        int64_t grain_ns,
                        ReportSink sink,
                        void *userdata);

typedef void (*ReportValueSink)(void *userdata, int64_t at_ns, double value);

/* Values of a counter: of those within a few grains, keeps the first, the lowest, the highest and the last. */
size_t report_thin_values(const ReportLines *lines,
                          uint32_t line,
                          int64_t grain_ns,
                          ReportValueSink sink,
                          void *userdata);
size_t report_thin_values_part(const ReportLines *lines,
                               uint32_t first,
                               uint32_t end,
                               int64_t grain_ns,
                               ReportValueSink sink,
                               void *userdata);
