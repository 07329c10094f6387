/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Page: a recording as one HTML file that needs nothing else
 *
 * It loads nothing, and its policy (CSP) allows only its own script, whose hash it contains. Names from the recording
 * are data, or escaped text: a recording may come from a stranger.
 */

#include "report/report-sentences.h"
#include "shared/bytes.h"
#include "trace/trace-store.h"

/* The parts of a trace that a page needs. */
#define REPORT_PARTS                                                                     \
        (TRACE_PART_THREADS | TRACE_PART_EVENTS | TRACE_PART_SCHED | TRACE_PART_STATES | \
         TRACE_PART_LOGS | TRACE_PART_STACKS)

/* A page that would be larger than this is made again with fewer rows. */
#define REPORT_PAGE_BYTES_MAX (5u << 20)
/* The number of rows to begin with: a browser would take too long to draw more. */
#define REPORT_ROWS_MAX 1000000

typedef struct ReportOptions {
        const char *title; /* UTF-8; the file's name */
        const char *(*translate)(
                const char *);  /* translates our own words into the reader's language */
        ReportTell tell;        /* or NULL: a page without answers */
        const char *language;   /* the language of these words, as HTML names it */
        int64_t from_ns, to_ns; /* shown at first; equal: everything */
        size_t n_bytes_max;     /* 0: REPORT_PAGE_BYTES_MAX */
} ReportOptions;

/* The store must have REPORT_PARTS. Returns 0, or -ENOMEM. */
int report_page_make(Bytes *ret, const TraceStore *store, const ReportOptions *options);

/* Two recordings side by side. */
#define REPORT_SIDES 2

typedef struct ReportPair {
        const TraceStore *stores[REPORT_SIDES];
        const char *titles[REPORT_SIDES];
        const Answer *const
                *differences; /* of answer_diff (answers/comparison.h), with slices as rows */
        size_t n_differences;
        /* A value as text; malloc'ed, or NULL */
        char *(*format)(const AnswerValue *value, AnswerKind kind);
} ReportPair;

/* `options` applies to both; its title is that of the page. Returns 0, or -ENOMEM. */
int report_pair_make(Bytes *ret, const ReportPair *pair, const ReportOptions *options);
