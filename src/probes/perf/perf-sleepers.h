/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf sleepers: threads that have left their processor, and the stacks with which they did
 *
 * For how long a thread sleeps is known when it runs again, and its stack only when it leaves. What comes from two
 * processors may be read in the wrong order: so it is remembered for each thread when it ran last, too.
 *
 * After a loss nobody knows who has been awake meanwhile. All sleepers are forgotten then, rather than to be said to
 * have slept for longer than they did.
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
        uint64_t n_refused; /* that were one too many */
} PerfSleepers;

int perf_sleepers_init(PerfSleepers *sleepers);
void perf_sleepers_deinit(PerfSleepers *sleepers);

/* It has left with the stack at hand; names of `lasting` modules need not be copied. What is returned is asleep, unless
 * awake_ns says that it has been seen awake since. NULL: there is no room, which is counted. */
PerfSleeper *perf_sleepers_add(PerfSleepers *sleepers,
                               const PerfMoment *moment,
                               const StackTable *stacks,
                               bool (*is_lasting)(const StackPart *part));

/* It runs: the sleeper as it was, or NULL. The caller ends its sleep. */
PerfSleeper *perf_sleepers_wake(PerfSleepers *sleepers, pid_t tid, uint64_t time_ns);
void perf_sleepers_end(PerfSleepers *sleepers, PerfSleeper *sleeper);

/* The thread has ended. */
void perf_sleepers_forget(PerfSleepers *sleepers, pid_t tid);
/* Those that sleep, one after the other: from 0 on; NULL at the end. */
PerfSleeper *perf_sleepers_next(PerfSleepers *sleepers, size_t *at);
/* After a loss. Returns how many there were. */
size_t perf_sleepers_clear(PerfSleepers *sleepers);
