/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace stacks: the call stacks of samples, with each frame and each path to it stored once
 *
 * Writers number files (mappings), places in them (frames) and stacks as they like, and start over from time to time.
 * Here, equal things are one row, whichever writer described them and however often. A stack is the row of its
 * innermost frame, whose parents lead outwards. Names that were found after the recording (ModuleSymbols) belong to the
 * frames described before them that have the same file and address.
 */

#include "trace/trace-sequence.h"
#include "trace/trace-store.h"

#define TRACE_STACK_FRAMES_MAX 2048u

typedef struct TraceStacks {
        TraceStore *store;
        TraceMap mappings;          /* path and build id → row */
        TraceMap places, addresses; /* parts of a frame's key → a number that stands for them */
        uint32_t n_places, n_addresses;
        TraceMap frames;    /* both → row */
        TraceMap callsites; /* parent and frame → row */
        uint64_t n_bad;     /* references to what was never described */
} TraceStacks;

void trace_stacks_deinit(TraceStacks *stacks);

/* Returns 0, or -ENOMEM. */
int trace_stacks_take_interned(TraceStacks *stacks,
                               TraceSequence *sequence,
                               const WireField *interned);
/* The row of a sequence's stack. TRACE_NONE if no packet has described the stack. */
uint32_t trace_stacks_callsite(const TraceSequence *sequence, uint64_t iid);
/* Reads names for frames: a ModuleSymbols message. */
void trace_stacks_take_symbols(TraceStacks *stacks, const WireField *symbols);
