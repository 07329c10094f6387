/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace track states: which state each track is in, from when to when
 *
 * A state lasts until its track has another one, or none. An event that says the same state again only adds its
 * arguments.
 */

#include "trace/trace-args.h"
#include "trace/trace-store.h"

typedef struct TraceTrackStates {
        TraceStore *store;
        TraceArgSets *sets;
        TraceMap open; /* track → its row, or TRACE_NONE */
        TraceArgs merged;
} TraceTrackStates;

void trace_track_states_deinit(TraceTrackStates *states);

/* `value` 0: none. */
void trace_track_states_set(TraceTrackStates *states,
                            uint32_t track,
                            int64_t at_ns,
                            uint32_t category,
                            uint32_t value,
                            uint32_t args);
