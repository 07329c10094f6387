/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * SVG: a period of a recording as one picture, for mails, bug reports and pages
 *
 * It has no script, loads nothing, and looks the same everywhere. It shows what happened, from the machine down to the
 * programs, with a caption that says when this was and whether data is missing. docs/REPORT.md tells more.
 */

#include "shared/bytes.h"
#include "trace/trace-store.h"

/* A larger picture is drawn more coarsely. */
#define REPORT_SVG_BYTES_MAX (1u << 20)
/* The most lines in a picture; lanes that do not fit are counted below it. */
#define REPORT_SVG_LINES_MAX 120

#define REPORT_SVG_DAY_BYTES 64

typedef struct ReportSvgOptions {
        const char *title;                      /* UTF-8; the file's name */
        const char *(*translate)(const char *); /* or NULL */
        /* A date and time, from nanoseconds since 1970; or NULL */
        void (*format_day)(char text[static REPORT_SVG_DAY_BYTES], int64_t at_ns);
        int64_t from_ns, to_ns; /* in trace time */
        size_t n_bytes_max;     /* 0: REPORT_SVG_BYTES_MAX */
} ReportSvgOptions;

/* The store must have REPORT_PARTS (report-page.h). Returns 0, or -ENOMEM. */
int report_svg_make(Bytes *ret, const TraceStore *store, const ReportSvgOptions *options);
