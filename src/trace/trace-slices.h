/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace slices: begins and ends of each track, in the order of their times, as nested slices
 *
 * An end belongs to the innermost slice that is open and that it may mean: if it has a name or a category, one
 * with the same. Ends that belong to none are left out. Slices that are open inside of one that has ended end with
 * it.
 */

#include "trace/trace-args.h"
#include "trace/trace-store.h"
#include "trace/trace-track-event.h"

typedef struct TraceSlices {
        TraceStore *store;
        struct SliceStack *stacks; /* by track */
        size_t n_stacks_allocated;
        TraceArgSets *sets;
        TraceArgs merged;
        uint64_t n_misplaced, n_too_deep, n_overlapping, n_unmatched;
} TraceSlices;

void trace_slices_deinit(TraceSlices *slices);

/* `dur` is -1 for one that is open, 0 for an instant. The row, or TRACE_NONE. */
uint32_t trace_slices_begin(TraceSlices *slices,
                            uint32_t track,
                            int64_t at_ns,
                            int64_t dur,
                            uint32_t category,
                            uint32_t name,
                            uint32_t args);

/* Its row, or TRACE_NONE. */
uint32_t trace_slices_end(TraceSlices *slices,
                          uint32_t track,
                          int64_t at_ns,
                          uint32_t category,
                          uint32_t name,
                          uint32_t args);

void trace_slices_store_counts(TraceSlices *slices);
