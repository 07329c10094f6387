/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf events: a sampling event on each processor, with its ring
 *
 * Records come out in the order of time, whatever their processor: a mapping that a process makes on one processor is
 * known before its samples from another one are read.
 */

#include "probes/perf/perf-records.h"
#include "probes/perf/perf-ring.h"
#include "probes/perf/perf-settings.h"

typedef struct PerfEvents {
        PerfRing *rings;
        size_t n_rings;
        int poll_fd; /* readable when a ring fills up */
        PerfLayout layout;
} PerfEvents;

/* A descriptor or a negative errno. `tid` 0: this thread; -1: all. */
int perf_event_open(struct perf_event_attr *attr, pid_t tid, int cpu);

/* Whether stacks of this machine's programs can be walked at all. */
bool perf_events_can_walk(void);

/* Whether this kernel allows sampling the whole machine: 0, or PROBE_E_REFUSED with what to do. */
int perf_events_check(char **ret_error);

/* Opens all events, disabled. If the processor has no counters of its own, the settings are changed to the clock and
 * *ret_uses_clock is true. Returns 0, PROBE_E_REFUSED or a negative errno. */
int perf_events_open(PerfEvents *ret,
                     PerfSettings *settings,
                     bool *ret_uses_clock,
                     char **ret_error);
void perf_events_deinit(PerfEvents *events);

/* If the settings are for a user's own programs, the rings stay empty until threads get events of their own, which
 * write into the ring of their processor. A descriptor or a negative errno. */
int perf_events_open_thread(const PerfEvents *events,
                            size_t ring,
                            const PerfSettings *settings,
                            pid_t tid);
/* Says why an event could not be opened: PROBE_E_REFUSED, or the error. */
int perf_events_refuse(const PerfSettings *settings, int error, char **ret_error);

int perf_events_enable(PerfEvents *events);
void perf_events_disable(PerfEvents *events);
/* Sets the frequency, or the period, of all open events. */
void perf_events_set_interval(PerfEvents *events, uint64_t interval);

/* Begins to read the records that exist now. */
void perf_events_begin(PerfEvents *events);
/* Returns the ring with the oldest record; NULL when all are read. Use perf_ring_next() to go on. */
PerfRing *perf_events_oldest(PerfEvents *events);
void perf_events_end(PerfEvents *events);

/* How full the fullest ring is, in percent. */
unsigned perf_events_fill(const PerfEvents *events);
/* Whether a record that was not read yet says that this pid became another program or process, or that records were
 * lost which could have said so. */
bool perf_events_foresee_change(const PerfEvents *events, pid_t pid);
