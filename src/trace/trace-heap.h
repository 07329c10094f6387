/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace heap: what programs have allocated, by call stack
 *
 * Writers report sums since the start, by stack and process, from time to time. Rows of heap_profile_allocation are the
 * differences, as people know them from Perfetto; rows of heap_site are the last sums, with values that only our own
 * writer reports.
 */

#include "trace/trace-map.h"
#include "trace/trace-store.h"

/* The sums of a stack. The first four are in the order of the columns of heap_site. */
enum {
        TRACE_HEAP_ALLOCATED,
        TRACE_HEAP_N_ALLOCATED,
        TRACE_HEAP_FREED,
        TRACE_HEAP_N_FREED,
        TRACE_HEAP_AT_PEAK,
        TRACE_HEAP_N_AT_PEAK,
        TRACE_HEAP_FREED_SOON,
        TRACE_HEAP_N_FREED_SOON,
        _TRACE_HEAP_SUMS_N,
};

typedef struct TraceHeapSite {
        int32_t pid;
        uint32_t number; /* of the writer's heap */
        uint32_t heap;   /* a name */
        uint32_t callsite;
        uint64_t interval;
        uint64_t sums[_TRACE_HEAP_SUMS_N];
} TraceHeapSite;

/* A writer's heap. Times are CLOCK_MONOTONIC's. */
typedef struct TraceHeapSpan {
        int32_t pid;
        uint32_t heap; /* a name */
        uint64_t start, end;
        uint32_t recording;
} TraceHeapSpan;

/* As many sessions can record one heap at a time. */
#define TRACE_HEAP_RECORDINGS_MAX 8u

typedef struct TraceHeap {
        TraceMap writers; /* a sequence and a pid → their number */
        TraceMap heaps;   /* that number, and a heap's name → likewise */
        TraceMap by_key;  /* that number, and a stack → index in `sites` */
        TraceMap ended;   /* by heap: whether its program's end was reported */
        uint32_t n_writers, n_heaps;
        TraceHeapSpan *spans; /* by heap */
        size_t n_spans_allocated;
        TraceHeapSite *sites;
        size_t n_sites, n_allocated;
        uint64_t n_malformed; /* sums that decreased */
} TraceHeap;

void trace_heap_deinit(TraceHeap *heap);

/* The site of a stack, which is added if it is new. NULL: out of memory. */
TraceHeapSite *
trace_heap_site(TraceHeap *heap, uint32_t sequence, int32_t pid, uint32_t name, uint32_t callsite);

/* A dump of a heap that is counted since `start`; its sites follow it. 0, or -ENOMEM. */
int trace_heap_dump(TraceHeap *heap,
                    uint32_t sequence,
                    int32_t pid,
                    uint32_t name,
                    uint64_t start,
                    uint64_t at);
/* The last report of a heap, made as its program ends. 0, or -ENOMEM. */
int trace_heap_end(TraceHeap *heap, uint32_t sequence, int32_t pid, uint32_t name);
/* Call it after the last dump. Of several sessions that have recorded one heap at the same time the first is recording
 * 0, which is also what follows it in the same process, as after exec(). 0, or -ENOMEM. */
int trace_heap_number_recordings(TraceHeap *heap);
bool trace_heap_has_ended(const TraceHeap *heap, const TraceHeapSite *site);
