/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Heaps: what a page shows of programs' heaps, for flame graphs of memory
 *
 * For each heap, the changes in use by call stack in order of time, and the sums of the whole recording. If there are
 * too many changes, consecutive dumps are merged into the last of them.
 */

#include "trace/trace-store.h"

#define REPORT_HEAP_CHANGES_MAX 50000u

typedef struct ReportHeapChange {
        uint32_t upid, heap; /* its name, in the pool */
        uint32_t recording;  /* which of those that were made at the same time */
        int64_t at_ns;
        uint32_t callsite;
        int64_t n_bytes;
} ReportHeapChange;

/* A call stack with its sums. */
typedef struct ReportHeapSite {
        uint32_t upid, heap, recording, callsite;
        int64_t allocated, at_peak, freed_soon;
} ReportHeapSite;

/* Both are sorted by process, heap and recording. */
typedef struct ReportHeaps {
        ReportHeapChange *changes;
        ReportHeapSite *sites;
        size_t n_changes, n_sites;
} ReportHeaps;

/* Returns 0, or -ENOMEM. */
int report_heaps_init(ReportHeaps *heaps, const TraceStore *store);
void report_heaps_deinit(ReportHeaps *heaps);
