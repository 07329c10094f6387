/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace page: the page of the files of a command line, in the user's language
 */

#include "client/trace-files.h"
#include "shared/bytes.h"

/* Reports errors. The query is for what else one wants to know of the files; the caller frees it. */
ExitStatus trace_page_make(Bytes *ret, Query **ret_query, const TraceFiles *files);
