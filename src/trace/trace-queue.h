/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace queue: takes the events of many writers, and returns them in order of time
 *
 * Each CPU and each sequence has a lane. Most lanes are in order already, and the others are sorted before the first
 * event is taken. In a lane, events with the same time stay in the order in which they were added. Between lanes, the
 * lane that gave the last event goes on. The memory of a lane is released as its events are taken, because what is made
 * of them needs room as well.
 *
 * Events that are many in few bytes can stay packed until it is their turn: the queue keeps the bytes, and their owner
 * takes them apart.
 */

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace-map.h"

/* Those who add and take an event know what it means. The queue only knows its time. */
typedef struct TraceEntry {
        uint64_t at_ns;
        uint8_t kind;
        uint8_t flags;
        int16_t small;
        uint32_t a, b, c;
} TraceEntry;

/* Makes the next events of packed bytes, which a lane of this rank has, up to n_max of them. Returns how many there
 * are, or 0 after the last one. Those of one lane are taken in turn: a call with is_first begins with other bytes. */
typedef size_t TraceUnpack(void *user_data,
                           uint64_t rank,
                           const void *bytes,
                           size_t n_bytes,
                           bool is_first,
                           TraceEntry *ret,
                           size_t n_max);

typedef struct TraceQueue {
        TraceUnpack *unpack; /* the owner of the queue sets both */
        void *user_data;
        struct TraceChunk *chunk; /* for packed bytes that come next */
        struct TraceLane **lanes; /* by number */
        size_t n_lanes, n_allocated;
        struct TraceHead *heads; /* the next event of each lane that has any, by rank */
        size_t n_heads;          /* a power of two */
        uint64_t *losers;        /* a tree over them: the key of the later one of each two */
        unsigned n_head_bits;    /* of a key, for the number of its head */
        uint64_t base_ns;        /* keys count from here */
        uint32_t last;           /* the head that gave the last event */
        uint64_t n_bytes;
} TraceQueue;

void trace_queue_deinit(TraceQueue *queue);

/* Returns the number of a new lane, or TRACE_LANE_NONE. Between lanes with the same time, the lower rank comes
 * first. */
#define TRACE_LANE_NONE SIZE_MAX
size_t trace_queue_add_lane(TraceQueue *queue, uint64_t rank);

/* Returns 0, or -ENOMEM. */
int trace_queue_add(TraceQueue *queue, size_t lane, const TraceEntry *entry);

/* Adds a copy of packed bytes, whose events are in order and not outside of these times. Returns 0, or -ENOMEM. */
int trace_queue_add_packed(TraceQueue *queue,
                           size_t lane,
                           const void *bytes,
                           size_t n_bytes,
                           uint64_t first_ns,
                           uint64_t last_ns);

/* Call it when all events have been added. Returns 0 or -ENOMEM. */
int trace_queue_sort(TraceQueue *queue);

typedef struct TraceTaken {
        TraceEntry entry;
        uint32_t lane;
} TraceTaken;

/* Takes the next events, up to n_max of them. Returns how many there are, or 0 after the last one. */
size_t trace_queue_take(TraceQueue *queue, TraceTaken *ret, size_t n_max);
