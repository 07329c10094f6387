/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Cycle recorder: cycles of PipeWire's graph as slices
 *
 * Sans-I/O. A node has a track, below its process if it is a program's and below "PipeWire" otherwise. In each cycle it
 * is "waiting" from when it was signalled until it runs, and "busy" until it has finished. A driver has "cycles" below
 * its track, and arrows lead from there to those that follow it. Nodes that did not finish in time, cycles that ended
 * after their deadline and xruns are instants.
 */

#include "bridges/pipewire/node-table.h"
#include "bridges/pipewire/profile-cycle.h"
#include "host/program-names.h"
#include "host/track-writer.h"

#define CYCLE_ARROWS_MAX 32 /* from one cycle; other followers have none */

typedef struct CycleRecorder {
        TrackWriter *tracks; /* borrowed; its clock is MONOTONIC */
        NodeTable nodes;
        ProgramNames names;
        ProfileCycle cycle;
        int64_t until_ns; /* what begins later is not written */
        uint64_t n_cycles, n_arrows;
        uint64_t n_nonsense; /* cycles that were passed over */
} CycleRecorder;

/* Returns 0 or -ENOMEM. */
int cycle_recorder_init(CycleRecorder *recorder, TrackWriter *tracks);
void cycle_recorder_deinit(CycleRecorder *recorder);

/* An event of the profiler, in one piece. `now_ns` is MONOTONIC. Returns when the last cycle in it began; 0: there was
 * none. */
int64_t
cycle_recorder_take(CycleRecorder *recorder, const void *data, size_t n_bytes, int64_t now_ns);

/* An instant of all of PipeWire. */
void cycle_recorder_tell(CycleRecorder *recorder,
                         int64_t now_ns,
                         const char *what,
                         const char *why);
