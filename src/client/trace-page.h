/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace page: the page of the files of a command line, in the user's language
 */

#include "client/answer-range.h"
#include "client/output-file.h"
#include "client/trace-files.h"
#include "report/report-page.h"
#include "shared/bytes.h"

/* Reports errors. The query is for whatever else the caller wants to know about the files, and the caller frees it.
 * The page shows the range at first; NULL: everything. */
ExitStatus
trace_page_make(Bytes *ret, Query **ret_query, const TraceFiles *files, const AnswerRange *range);

/* The page of two recordings, with a title for both. */
ExitStatus trace_page_make_pair(Bytes *ret, const ReportPair *pair, const char *title);

/* The same for an SVG of the range. */
ExitStatus trace_picture_make(Bytes *ret,
                              Query **ret_query,
                              const TraceFiles *files,
                              const AnswerRange *range);

/* A path beside a recording, with its name and another suffix, such as ".html"; malloc'ed. */
char *trace_page_path(const char *recording, const char *suffix);

/* Writes the page, keeps the file, and says where it is. Reports errors. */
ExitStatus trace_page_write(OutputFile *output, const Bytes *page, bool is_quiet);

/* The page of one recording. Reports errors, but not what the recording lacks. */
ExitStatus trace_page_of(OutputFile *output, const char *recording, bool is_quiet);
