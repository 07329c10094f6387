/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Export formats: the table of formats, with the function that writes each */

#include <glib/gi18n.h>

#include "client/export-chrome.h"
#include "client/export-firefox.h"
#include "client/export-fleet.h"
#include "client/export-otlp.h"
#include "client/export-parquet.h"
#include "client/export-stacks.h"
#include "client/export-tables.h"
#include "trace/trace-store.h"

#define CANNOT_TABLES \
        N_("CSV, JSON lines and Parquet hold one table; the format sqlite holds them all.")
#define CANNOT_CHROME                                                                             \
        N_("Not in Chrome's format: slices that are on no thread's track, scheduling, states of " \
           "threads, the journal, and call stacks.")
#define CANNOT_STACKS \
        N_("Only samples of call stacks are in this format: no slices, counters or scheduling.")
#define CANNOT_SQLITE                                                              \
        N_("Each event of the kernel is only in the database if it is asked for: " \
           "--table=ftrace_event.")

#define CANNOT_OFF_CPU                                                                           \
        N_("Only what threads waited for, and for how long, is in this format: which functions " \
           "waited is not.")
#define CANNOT_FIREFOX                                                                       \
        N_("Not in the format of Firefox's profiler: slices that are on no thread's track, " \
           "flows, "                                                                         \
           "counters, scheduling, states of threads, and the journal.")
#define CANNOT_FLEET                                                                               \
        N_("Of scheduling, only sums by second and counts of delays are in the tree; call stacks " \
           "and each event of the kernel are not.")
#define CANNOT_OTLP                                                                             \
        N_("Not in OTLP: slices that have not ended, counters, scheduling, states of threads, " \
           "the journal, and call stacks.")

#define PARTS_SLICES  (TRACE_PART_THREADS | TRACE_PART_EVENTS | TRACE_PART_ARGS)
#define PARTS_STACKS  (TRACE_PART_THREADS | TRACE_PART_STACKS)
#define PARTS_STATES  (TRACE_PART_THREADS | TRACE_PART_STATES)
#define PARTS_FIREFOX (PARTS_SLICES | PARTS_STACKS)
#define PARTS_TREE    (TRACE_PART_ALL & ~(unsigned)TRACE_PART_KERNEL)

#define RECORD_APPS   "desktrace record -p apps"
#define RECORD_IO     "desktrace record -p io"
#define RECORD_STACKS "desktrace record --stacks"

/* clang-format off */
static const ExportFormat formats[] = {
        { "sqlite", CANNOT_SQLITE, true, true, false, false, 0, NULL, export_sqlite },
        { "csv", CANNOT_TABLES, false, true, false, false, 0, NULL, export_csv },
        { "jsonl", CANNOT_TABLES, false, true, false, false, 0, NULL, export_jsonl },
        { "parquet", CANNOT_TABLES, false, true, false, false, 0, NULL, export_parquet },
        { "chrome", CANNOT_CHROME, false, false, false, false, PARTS_SLICES, RECORD_APPS, export_chrome },
        { "folded", CANNOT_STACKS, false, false, false, true, PARTS_STACKS, RECORD_STACKS, export_folded },
        { "off-cpu", CANNOT_OFF_CPU, false, false, false, false, PARTS_STATES, RECORD_IO, export_off_cpu },
        { "speedscope", CANNOT_STACKS, false, false, false, true, PARTS_STACKS, RECORD_STACKS, export_speedscope },
        { "firefox", CANNOT_FIREFOX, false, false, false, true, PARTS_FIREFOX, RECORD_STACKS, export_firefox },
        { "fleet", CANNOT_FLEET, true, true, true, false, PARTS_TREE, NULL, export_fleet },
        { "otlp", CANNOT_OTLP, false, false, false, false, PARTS_SLICES, RECORD_APPS, export_otlp },
        { "otlp-protobuf", CANNOT_OTLP, false, false, false, false, PARTS_SLICES, RECORD_APPS, export_otlp_protobuf },
};
/* clang-format on */

const ExportFormat *export_formats(size_t *ret_n) {
        *ret_n = ARRAY_SIZE(formats);
        return formats;
}
