/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Comparison of heaps: what a recording has in use at a time, by call stack
 *
 * Addresses differ from run to run, so a call stack is known by its names: those of the innermost functions.
 */

#include "trace/trace-map.h"
#include "trace/trace-pool.h"
#include "trace/trace-store.h"

typedef struct ComparisonHeap {
        TracePool stacks;
        TraceMap places; /* by stack */
        struct ComparisonHeapStack {
                uint32_t stack; /* in stacks */
                int64_t n_bytes;
        } * items;
        size_t n, n_allocated;
} ComparisonHeap;

/* Returns 0, or -ENOMEM; to be deinitialised either way. */
int comparison_heap_init(ComparisonHeap *heap, const TraceStore *store, int64_t at);
void comparison_heap_deinit(ComparisonHeap *heap);
