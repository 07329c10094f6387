/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib/gi18n.h>

#include "client/export-chrome.h"
#include "client/export-stacks.h"
#include "client/export-tables.h"

#define CANNOT_TABLES N_("CSV and JSON lines have one table: all of it is in the format sqlite.")
#define CANNOT_CHROME                                                                             \
        N_("Not in Chrome's format: slices that are on no thread's track, scheduling, states of " \
           "threads, the journal, and call stacks.")
#define CANNOT_STACKS \
        N_("Only samples of call stacks are in this format: no slices, counters or scheduling.")
#define CANNOT_SQLITE                                                              \
        N_("Each event of the kernel is only in the database if it is asked for: " \
           "--table=ftrace_event.")

static const ExportFormat formats[] = {
        { "sqlite", CANNOT_SQLITE, true, true, export_sqlite },
        { "csv", CANNOT_TABLES, false, true, export_csv },
        { "jsonl", CANNOT_TABLES, false, true, export_jsonl },
        { "chrome", CANNOT_CHROME, false, false, export_chrome },
        { "folded", CANNOT_STACKS, false, false, export_folded },
        { "speedscope", CANNOT_STACKS, false, false, export_speedscope },
};

const ExportFormat *export_formats(size_t *ret_n) {
        *ret_n = ARRAY_SIZE(formats);
        return formats;
}
