/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace queue: events of many writers, given back in the order of their times
 *
 * Each CPU and each sequence has a lane. Most lanes are in order already, and others are sorted before the first
 * event is taken; of events with the same time in one lane, the one that was added first comes first. Between
 * lanes, that one goes on which gave the last event. Memory of a lane is released as its events are taken, since
 * what is made of them needs room as well.
 */

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace-map.h"

/* What it is for is known to those who add it and take it: only the time is known here. */
typedef struct TraceEntry {
        uint64_t at_ns;
        uint8_t kind;
        uint8_t flags;
        int16_t small;
        uint32_t a, b, c;
} TraceEntry;

typedef struct TraceQueue {
        struct TraceLane **lanes; /* by number */
        size_t n_lanes, n_allocated;
        struct TraceHead *heads; /* of lanes with events, by rank: the next event of each */
        uint32_t *winners;       /* a tree over them: which of each two has the earlier one */
        size_t n_heads;          /* a power of two */
        uint32_t last;           /* head that gave the last event */
        uint64_t n_bytes;
} TraceQueue;

void trace_queue_deinit(TraceQueue *queue);

/* The number of a new lane, or TRACE_LANE_NONE. Of lanes with the same time, the lower rank comes first. */
#define TRACE_LANE_NONE SIZE_MAX
size_t trace_queue_add_lane(TraceQueue *queue, uint64_t rank);

/* 0, or -ENOMEM. */
int trace_queue_add(TraceQueue *queue, size_t lane, const TraceEntry *entry);

/* All have been added: 0, or -ENOMEM. */
int trace_queue_sort(TraceQueue *queue);

/* The next event, valid until the next call; NULL: that was the last one. */
const TraceEntry *trace_queue_next(TraceQueue *queue, size_t *ret_lane);
