/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace clocks: converts times of any clock to trace time
 *
 * A clock snapshot has the readings of several clocks at one moment, so a time of one clock becomes a time of another
 * by adding the difference. Snapshots of the same set of clocks form a group. A conversion uses the newest snapshot of
 * the group that is not later than the time, or else the first, as Perfetto's trace processor does. Two clocks that
 * share no snapshot are converted by way of others: Chromium's packets use a clock of their own, whose snapshots have
 * CLOCK_MONOTONIC, and the service's snapshots have CLOCK_MONOTONIC and CLOCK_BOOTTIME.
 *
 * Trace time is CLOCK_BOOTTIME, unless a snapshot names another clock before the first conversion. Ids from 64 to 127
 * are clocks of a single packet sequence.
 *
 * Snapshots are not trusted: the limits below bound what is kept, a sum that overflows is not a time, and times can be
 * converted to a clock that ran backwards, but not from it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"

#define TRACE_CLOCK_REALTIME           1
#define TRACE_CLOCK_MONOTONIC          3
#define TRACE_CLOCK_BOOTTIME           6
#define TRACE_CLOCK_SEQUENCE_FIRST     64
#define TRACE_CLOCK_SEQUENCE_LAST      127
#define TRACE_CLOCK_SNAPSHOT_MAX       16         /* clocks in one snapshot */
#define TRACE_CLOCK_CLOCKS_MAX         (1u << 17) /* clocks of a file, including those of each sequence */
#define TRACE_CLOCK_GROUPS_MAX         (1u << 17)
#define TRACE_CLOCK_READINGS_MAX       (1u << 20) /* readings of all snapshots together */
#define TRACE_CLOCK_STEPS_MAX          4          /* steps from a clock to trace time */
#define TRACE_CLOCK_ROUTES_REBUILT_MAX 64         /* recomputations because a clock ran backwards */

typedef struct TraceClocks TraceClocks;

/* A clock's reading in a snapshot. */
typedef struct TraceClockReading {
        uint32_t id;
        uint64_t timestamp;  /* in units */
        uint64_t unit_ns;    /* 0: 1 */
        bool is_incremental; /* each timestamp is the difference to the one before it */
} TraceClockReading;

enum {
        _TRACE_CLOCK_E_SUCCESS,
        TRACE_CLOCK_E_UNKNOWN,  /* no snapshot relates this clock to trace time */
        TRACE_CLOCK_E_INVALID,  /* a snapshot or time contradicts itself or an earlier one */
        TRACE_CLOCK_E_TOO_MANY, /* a limit above is reached, or memory runs out */
};

TraceClocks *trace_clocks_new(void);
TraceClocks *trace_clocks_free(TraceClocks *clocks);
DEFINE_CLEANUP(TraceClocks *, trace_clocks_free)

static inline bool trace_clock_is_of_sequence(uint32_t id) {
        return id >= TRACE_CLOCK_SEQUENCE_FIRST && id <= TRACE_CLOCK_SEQUENCE_LAST;
}

/* Sets the clock of trace time. Ignored once a time has been converted. */
uint32_t trace_clocks_trace_time(const TraceClocks *clocks);
void trace_clocks_set_trace_time(TraceClocks *clocks, uint32_t id);

/* Adds a snapshot that this sequence wrote. Returns 0, TRACE_CLOCK_E_INVALID or TRACE_CLOCK_E_TOO_MANY. After an
 * outcome, nothing of the snapshot is used. */
int trace_clocks_add_snapshot(TraceClocks *clocks,
                              uint32_t sequence_id,
                              const TraceClockReading *readings,
                              size_t n_readings);

/* Sets *ret_ns to the trace time. Each call advances an incremental clock. Returns 0, TRACE_CLOCK_E_UNKNOWN or
 * TRACE_CLOCK_E_INVALID. */
int trace_clocks_convert(TraceClocks *clocks,
                         uint64_t *ret_ns,
                         uint32_t sequence_id,
                         uint32_t clock_id,
                         uint64_t timestamp);
