/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace heap: what programs have allocated, by call stack
 *
 * Writers tell sums since the start, of each stack and each process, from time to time. Rows of
 * heap_profile_allocation are the differences, as people know them from Perfetto; rows of heap_site are the last
 * sums, with what only our own writer tells.
 */

#include "trace/trace-map.h"
#include "trace/trace-store.h"

/* What a stack has come to. The first four are in the order of the columns of heap_site. */
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

typedef struct TraceHeap {
        TraceMap writers; /* a sequence and a pid → a number that stands for them */
        TraceMap heaps;   /* that, and a heap's name → likewise */
        TraceMap by_key;  /* that, and a stack → place in `sites` */
        TraceMap ended;   /* by heap: it was told of when its program ended */
        uint32_t n_writers, n_heaps;
        TraceHeapSite *sites;
        size_t n_sites, n_allocated;
        uint64_t n_malformed; /* sums that went down */
} TraceHeap;

void trace_heap_deinit(TraceHeap *heap);

/* The site of a stack, which is new if it has not been told of. NULL: no memory. */
TraceHeapSite *
trace_heap_site(TraceHeap *heap, uint32_t sequence, int32_t pid, uint32_t name, uint32_t callsite);

/* A heap is told of for the last time, as its program ends. 0, or -ENOMEM. */
int trace_heap_end(TraceHeap *heap, uint32_t sequence, int32_t pid, uint32_t name);
bool trace_heap_has_ended(const TraceHeap *heap, const TraceHeapSite *site);
