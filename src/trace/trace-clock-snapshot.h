/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace clock snapshot: reads a ClockSnapshot into the clocks of a file
 */

#include "trace/trace-clock.h"
#include "wire/wire-reader.h"

typedef struct TraceClockSnapshot {
        TraceClockReading readings[TRACE_CLOCK_SNAPSHOT_MAX];
        size_t n;
        /* How far REALTIME is ahead of trace time, if the snapshot has both. */
        bool has_realtime;
        uint64_t realtime_ahead_ns;
        /* Trace time at that moment, if the snapshot has it. */
        bool has_trace_time;
        uint64_t trace_time_ns;
} TraceClockSnapshot;

/* Returns 0, TRACE_CLOCK_E_INVALID or TRACE_CLOCK_E_TOO_MANY. After an outcome, nothing of the snapshot is used,
 * though *ret has its readings as far as there was room. */
int trace_clock_snapshot_read(TraceClockSnapshot *ret,
                              TraceClocks *clocks,
                              uint32_t sequence_id,
                              const WireField *bytes);
