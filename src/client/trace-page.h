/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace page: the page of the files of a command line, in the user's language
 */

#include "client/output-file.h"
#include "client/trace-files.h"
#include "shared/bytes.h"

/* Reports errors. The query is for what else one wants to know of the files; the caller frees it. */
ExitStatus trace_page_make(Bytes *ret, Query **ret_query, const TraceFiles *files);

/* Beside a recording, with its name and .html; malloc'ed. */
char *trace_page_path(const char *recording);

/* Writes it, keeps the file, and says where it is. Reports errors. */
ExitStatus trace_page_write(OutputFile *output, const Bytes *page, bool is_quiet);

/* The page of one recording. Reports errors, but not what the recording lacks. */
ExitStatus trace_page_of(OutputFile *output, const char *recording, bool is_quiet);
