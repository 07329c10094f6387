/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace heap: what programs have allocated, by call stack
 *
 * From time to time, writers report sums since the start, by stack and process. The rows of heap_profile_allocation are
 * the differences between them, as people know them from Perfetto. The rows of heap_site are the last sums, with values
 * that only our own writer reports.
 */

#include "trace/trace-map.h"
#include "trace/trace-store.h"

/* The sums of one stack. The first four are in the order of heap_site's columns. */
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
        uint32_t number; /* the number of the writer's heap */
        uint32_t heap;   /* a name */
        uint32_t callsite;
        uint64_t interval;
        uint64_t sums[_TRACE_HEAP_SUMS_N];
} TraceHeapSite;

/* A writer's heap. Its times are those of CLOCK_MONOTONIC. */
typedef struct TraceHeapSpan {
        int32_t pid;
        uint32_t heap; /* a name */
        uint64_t start, end;
        uint32_t recording;
} TraceHeapSpan;

/* How many sessions can record one heap at a time. */
#define TRACE_HEAP_RECORDINGS_MAX 8u

typedef struct TraceHeap {
        TraceMap writers; /* a sequence and a pid → their number */
        TraceMap heaps;   /* a writer's number and a heap's name → the heap's number */
        TraceMap by_key;  /* the heap's number, and a stack → index in `sites` */
        TraceMap ended;   /* by heap: whether its program's end was reported */
        uint32_t n_writers, n_heaps;
        TraceHeapSpan *spans; /* by heap */
        size_t n_spans_allocated;
        TraceHeapSite *sites;
        size_t n_sites, n_allocated;
        uint64_t n_malformed; /* sums that decreased */
} TraceHeap;

void trace_heap_deinit(TraceHeap *heap);

/* The site of a stack. A new stack is added. Returns NULL if memory has run out. */
TraceHeapSite *
trace_heap_site(TraceHeap *heap, uint32_t sequence, int32_t pid, uint32_t name, uint32_t callsite);

/* Begins a dump of a heap that has been counted since `start`. Its sites follow. Returns 0 or -ENOMEM. */
int trace_heap_dump(TraceHeap *heap,
                    uint32_t sequence,
                    int32_t pid,
                    uint32_t name,
                    uint64_t start,
                    uint64_t at);
/* The last report of a heap, which is made as its program ends. Returns 0 or -ENOMEM. */
int trace_heap_end(TraceHeap *heap, uint32_t sequence, int32_t pid, uint32_t name);
/* Call it after the last dump. If several sessions have recorded one heap at the same time, the first of them is
 * recording 0. So is one that follows the first in the same process, for example after exec(). Returns 0 or -ENOMEM. */
int trace_heap_number_recordings(TraceHeap *heap);
bool trace_heap_has_ended(const TraceHeap *heap, const TraceHeapSite *site);
