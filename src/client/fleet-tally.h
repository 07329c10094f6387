/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Fleet tally: sums of thread states that can be added up over many recordings
 *
 * Scheduling itself is too much data to keep for many machines. Its sums by second and process are far smaller.
 * Delays of wake-ups are counted in powers of two, because counts can be added up and percentiles cannot.
 */

#include <glib.h>

#include "trace/trace-store.h"

#define FLEET_PIECES_MAX (64u << 20) /* states, split at each full second */

typedef struct FleetTime {
        uint64_t key;
        int64_t second; /* by the wall clock */
        uint32_t upid;  /* or TRACE_NONE */
        int64_t running_ns, runnable_ns, io_ns;
        uint64_t n_switches, n_wakeups;
} FleetTime;

typedef struct FleetDelay {
        uint64_t key;
        uint32_t utid;
        unsigned log2_ns; /* the delays are at least 2^this, and less than twice that */
        uint64_t n;
        int64_t total_ns;
} FleetDelay;

/* FleetTime, by second and process. Returns NULL if memory has run out. *ret_n_left_out counts states beyond the
 * limit. */
GArray *fleet_times(const TraceStore *store, int64_t realtime_offset, uint64_t *ret_n_left_out);
/* FleetDelay, by thread and delay. Returns NULL if memory has run out. */
GArray *fleet_delays(const TraceStore *store);
