/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf own: sampling events on the threads of one user's programs
 *
 * Where the kernel does not allow sampling the machine, it may allow sampling threads: those that the user may read,
 * and only while they run their own code. Threads and programs that they start inherit the events. The kernel decides
 * for each thread, so a foreign process can never be in a recording, whatever the probes believe.
 *
 * An event is on one thread and one processor, and writes into the ring of that processor.
 */

#include "host/pid-set.h"
#include "probes/perf/perf-events.h"

#define PERF_OWN_EVENTS_MAX 16384u /* threads, times processors */

typedef struct PerfOwn {
        int *fds;
        size_t n_fds;
        PidSet threads;  /* that were found */
        size_t n_missed; /* threads beyond the limit */
} PerfOwn;

/* Whether the kernel allows sampling the user's own programs: 0, or PROBE_E_REFUSED with what to do. */
int perf_own_check(char **ret_error);

/* Opens disabled events on all existing threads; perf_events_open() has made the rings. Returns 0, PROBE_E_REFUSED
 * or a negative errno. */
int perf_own_attach(PerfOwn *own,
                    const PerfEvents *events,
                    const PerfSettings *settings,
                    char **ret_error);
void perf_own_detach(PerfOwn *own);

void perf_own_enable(const PerfOwn *own);
/* Includes events that threads have inherited. */
void perf_own_disable(const PerfOwn *own);
