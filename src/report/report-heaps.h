/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Heaps: what of programs' heaps goes into a page, for flame graphs of memory
 *
 * For each heap the changes of what is in use, by call stack and in the order of time, and the sums of the whole
 * recording. Where there are too many changes, dumps that follow each other are told as the last of them.
 */

#include "trace/trace-store.h"

#define REPORT_HEAP_CHANGES_MAX 50000u

typedef struct ReportHeapChange {
        uint32_t upid, heap; /* its name, in the pool */
        int64_t at_ns;
        uint32_t callsite;
        int64_t n_bytes;
} ReportHeapChange;

/* A call stack with its sums. */
typedef struct ReportHeapSite {
        uint32_t upid, heap, callsite;
        int64_t allocated, at_peak, freed_soon;
} ReportHeapSite;

/* Both are sorted by process and heap. */
typedef struct ReportHeaps {
        ReportHeapChange *changes;
        ReportHeapSite *sites;
        size_t n_changes, n_sites;
} ReportHeaps;

/* 0, or -ENOMEM. */
int report_heaps_init(ReportHeaps *heaps, const TraceStore *store);
void report_heaps_deinit(ReportHeaps *heaps);
