/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf own: sampling events on the threads of one user's programs
 *
 * Where the kernel does not let us sample the machine, it may let us sample threads: those that it would let us read,
 * and only while they run code of their own. Threads and programs that these start inherit the events. The kernel
 * decides for each thread, so no process of others is ever in a recording, whatever we believe.
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
        size_t n_missed; /* of them, those that were too many */
} PerfOwn;

/* Whether the kernel lets us sample programs of our own: 0, or PROBE_E_REFUSED and what to do. */
int perf_own_check(char **ret_error);

/* Opens events on all threads that there are, disabled; the rings are of perf_events_open(). 0, PROBE_E_REFUSED or a
 * negative errno. */
int perf_own_attach(PerfOwn *own,
                    const PerfEvents *events,
                    const PerfSettings *settings,
                    char **ret_error);
void perf_own_detach(PerfOwn *own);

void perf_own_enable(const PerfOwn *own);
/* Of what inherited them, too. */
void perf_own_disable(const PerfOwn *own);
