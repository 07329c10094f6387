/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Content: what of a recording goes into a page
 *
 * All lines that there are to draw, the groups that they stand in, and the grain at which no more than a number of rows
 * are left (report-thin.h).
 */

#include "report/report-groups.h"
#include "report/report-thin.h"

typedef enum ReportKind {
        REPORT_CPUS,    /* which thread runs; by CPU */
        REPORT_STATES,  /* of a thread */
        REPORT_SLICES,  /* of a track */
        REPORT_VALUES,  /* of a counter's track */
        REPORT_LOGS,    /* one line of all */
        REPORT_SAMPLES, /* of call stacks; by thread */
        REPORT_SLEEPS,  /* of a thread, each with the stack with which it began */
        REPORT_FAULTS,  /* of pages, by thread: each stands for some */
        _REPORT_KIND_N,
} ReportKind;

typedef struct ReportContent {
        const TraceStore *store;
        ReportGroups groups;
        ReportLines lines[_REPORT_KIND_N];
        int64_t start_ns, end_ns;
        int64_t grain_ns; /* 0: all is there */
        size_t sample_stride; /* of samples and faults, one of this many of a thread is kept, whatever the grain is */
} ReportContent;

/* Of the rows that a page has room for, this is how many there are for each sample: each has a stack besides. */
#define REPORT_SAMPLES_SHARE 10

/* The store must stay as it is. 0, or -ENOMEM. */
int report_content_init(ReportContent *content, const TraceStore *store);
void report_content_deinit(ReportContent *content);

/* Chooses the smallest grain, by doubling, that leaves at most n_max rows, and the stride of samples. */
void report_content_thin(ReportContent *content, size_t n_max);

/* Calls back for each row of a line of any kind but values; or counts only. */
size_t report_content_rows(const ReportContent *content,
                           ReportKind kind,
                           uint32_t line,
                           ReportSink sink,
                           void *userdata);

/* What a clock on the wall showed at a time of the recording, in nanoseconds since 1970. False: it does not tell. */
bool report_content_wall_time(const ReportContent *content, int64_t at_ns, int64_t *ret_ns);
