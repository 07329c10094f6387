/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Content: what a page shows of a recording
 *
 * All lines to draw, their groups, and the grain at which at most a given number of rows is left (report-thin.h).
 */

#include "report/report-groups.h"
#include "report/report-thin.h"

typedef enum ReportKind {
        REPORT_CPUS,    /* which thread runs on each CPU */
        REPORT_STATES,  /* of a thread */
        REPORT_SLICES,  /* of a track */
        REPORT_VALUES,  /* values of a counter's track */
        REPORT_LOGS,    /* one line for all */
        REPORT_SAMPLES, /* call stacks, by thread */
        REPORT_SLEEPS,  /* sleeps of a thread, each with the stack where it began */
        REPORT_FAULTS,  /* page faults, by thread: each sample stands for some */
        _REPORT_KIND_N,
} ReportKind;

typedef struct ReportContent {
        const TraceStore *store;
        ReportGroups groups;
        ReportLines lines[_REPORT_KIND_N];
        int64_t start_ns, end_ns;
        int64_t grain_ns; /* 0: nothing is merged */
        size_t sample_stride; /* one of this many samples or faults of a thread is kept; grains do not apply to them */
} ReportContent;

/* A sample takes as much room as this many rows, because it also has a stack. */
#define REPORT_SAMPLES_SHARE 10

/* The store must not change from now on. Returns 0, or -ENOMEM. */
int report_content_init(ReportContent *content, const TraceStore *store);
void report_content_deinit(ReportContent *content);

/* Chooses the smallest grain, by doubling, that leaves at most n_max rows, and the stride of samples. */
void report_content_thin(ReportContent *content, size_t n_max);

/* Calls back for each row of a line of any kind except values, or only counts them. */
size_t report_content_rows(const ReportContent *content,
                           ReportKind kind,
                           uint32_t line,
                           ReportSink sink,
                           void *userdata);

/* The wall clock's time, in nanoseconds since 1970, at a time of the recording. Returns false if the recording does
 * not tell it. */
bool report_content_wall_time(const ReportContent *content, int64_t at_ns, int64_t *ret_ns);
