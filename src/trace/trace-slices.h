/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace slices: turns begins and ends on each track, in order of time, into nested slices
 *
 * An end belongs to the innermost open slice that it can mean: if the end has a name or a category, the slice must have
 * the same. Ends that belong to no slice are left out. When a slice ends, so do the open slices inside of it.
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

/* `dur` is -1 if the slice is open, and 0 for an instant. Returns the row, or TRACE_NONE. */
uint32_t trace_slices_begin(TraceSlices *slices,
                            uint32_t track,
                            int64_t at_ns,
                            int64_t dur,
                            uint32_t category,
                            uint32_t name,
                            uint32_t args);

/* Returns the slice's row, or TRACE_NONE. */
uint32_t trace_slices_end(TraceSlices *slices,
                          uint32_t track,
                          int64_t at_ns,
                          uint32_t category,
                          uint32_t name,
                          uint32_t args);

void trace_slices_store_counts(TraceSlices *slices);
