/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Symbol process: finds names for the functions in a trace file
 *
 * What it reads, the trace and the programs' files that it names, may be anybody's. So a process of its own does it,
 * with limits for memory and time: if it fails, what it has found until then is used, and what was recorded is as it
 * was. To find all names of a day may take long; Ctrl-C ends it in the same way.
 */

#include <stdbool.h>

#include "client/exit-status.h"
#include "symbols/symbolize.h"

#define SYMBOL_PROCESS_MEMORY_BYTES (UINT64_C(4) << 30)
#define SYMBOL_PROCESS_SECONDS      120u
#define SYMBOL_PROCESS_FILE_BYTES   (UINT64_C(1) << 30) /* of names */

typedef struct SymbolWishes {
        bool uses_debuginfod;
        bool wants_lines;
} SymbolWishes;

typedef struct SymbolResult {
        SymbolCounts counts;
        bool is_damaged; /* the trace is damaged: nothing may be written behind it */
        bool ended_early;
} SymbolResult;

/* Reads the trace from the start of one descriptor, and writes the names to the end of another, which may be the
 * same. Returns 0 or an errno. */
int symbol_process_run(SymbolResult *ret, int trace_fd, int output_fd, const SymbolWishes *wishes);

/* Prints the result to stderr. */
void symbol_result_say(const SymbolResult *result);
