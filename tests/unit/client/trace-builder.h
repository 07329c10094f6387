/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace files for tests of summaries, and what is looked for in these
 */

#include "client/trace-summary.h"
#include "trace/trace-packets.h"

/* Reads what was built, or its first n bytes. */
static inline TraceSummary *trace_summary_of(const TraceBuilder *builder, size_t n) {
        TraceSummary *summary;
        int fd;

        fd = trace_builder_fd(builder, n);
        ck_assert_int_eq(trace_summary_read(&summary, fd), 0);
        close(fd);
        return summary;
}

static inline TraceSlice *find_slice(const TraceSummary *summary, const char *name) {
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, summary->slices);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                if (streq(((TraceSlice *)value)->name, name))
                        return value;
        return NULL;
}

static inline TraceThread *find_thread(const TraceSummary *summary, int32_t tid) {
        return g_hash_table_lookup(summary->threads, &tid);
}
