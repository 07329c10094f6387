/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf sleepers: threads that are off their processor, with the call stacks at which they left it
 *
 * The length of a thread's sleep is known when it runs again, its stack only when it leaves its processor. Records
 * of two processors may be read in the wrong order, so each thread's last running time is remembered, too.
 *
 * After a loss, it is unknown which threads were awake meanwhile. All sleepers are forgotten then, as their sleep
 * would seem longer than it was.
 */

#include "probes/perf/kept-stack.h"
#include "probes/perf/perf-writer.h"

#define PERF_SLEEPERS_MAX       16384u      /* threads */
#define PERF_SLEEPERS_BYTES_MAX (32u << 20) /* of their stacks */

typedef struct PerfSleeper {
        PerfMoment moment; /* in which it left */
        KeptStack stack;   /* empty: it is awake */
        uint64_t awake_ns; /* when it ran last, as far as is known */
        bool is_asleep;
} PerfSleeper;

typedef struct PerfSleepers {
        PerfSleeper *by_tid; /* a table with twice as many places as there may be threads */
        size_t n;
        size_t n_bytes;
        uint64_t n_refused; /* sleepers for which there was no room */
} PerfSleepers;

int perf_sleepers_init(PerfSleepers *sleepers);
void perf_sleepers_deinit(PerfSleepers *sleepers);

/* The thread has left its processor with the current stack; names of `lasting` modules need not be copied. The
 * returned sleeper is asleep, unless awake_ns says that it has been seen awake since. Returns NULL if there is no
 * room, which is counted. */
PerfSleeper *perf_sleepers_add(PerfSleepers *sleepers,
                               const PerfMoment *moment,
                               const StackTable *stacks,
                               bool (*is_lasting)(const StackPart *part));

/* The thread runs: returns the sleeper as it was, or NULL. The caller ends its sleep. */
PerfSleeper *perf_sleepers_wake(PerfSleepers *sleepers, pid_t tid, uint64_t time_ns);
void perf_sleepers_end(PerfSleepers *sleepers, PerfSleeper *sleeper);

/* The thread has ended. */
void perf_sleepers_forget(PerfSleepers *sleepers, pid_t tid);
/* Returns one sleeper after the other, from *at = 0 on; NULL at the end. */
PerfSleeper *perf_sleepers_next(PerfSleepers *sleepers, size_t *at);
/* Call it after a loss: forgets all sleepers. Returns how many there were. */
size_t perf_sleepers_clear(PerfSleepers *sleepers);
