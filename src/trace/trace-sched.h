/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace sched: who ran where, and what each thread did in between
 *
 * This is made from switches and wakings in order of time. Compact switches do not say who ran before. So the first one
 * of each CPU only tells who runs now, and wakings before it have no waker and are left out. A switch that contradicts
 * what was known is counted, and the slice that it contradicts stays open.
 */

#include "trace/trace-bundle.h"
#include "trace/trace-store.h"
#include "trace/trace-threads.h"

typedef struct TraceSwitch {
        uint64_t at_ns;
        uint32_t cpu;
        int32_t prev_tid; /* set if the switch is not compact */
        uint32_t prev_comm;
        bool is_compact;
        int32_t next_tid;
        uint32_t next_comm;
        int16_t next_prio;
        uint16_t prev_state;
} TraceSwitch;

typedef struct TraceWaking {
        uint64_t at_ns;
        uint32_t cpu;
        int32_t tid;
        int32_t waker_tid; /* set if the waking is not compact */
        bool is_compact;
        uint8_t flags;
} TraceWaking;

/* What is known of a CPU. */
typedef struct TraceSchedCpu {
        uint64_t since_ns; /* when its open slice began */
        uint32_t utid;     /* TRACE_NONE: nothing is known */
        int32_t tid;
        uint32_t row; /* the row of its open slice, or TRACE_NONE */
} TraceSchedCpu;

typedef struct TraceSched {
        TraceStore *store;
        TraceThreads *threads;
        bool wants_sched, wants_states;
        uint32_t columns_left_out; /* bits of SCHED_… */
        uint8_t *end_states;       /* the kernel's state → our number, or 0xff if not known yet */
        bool is_old_kernel;        /* before 4.14, or not known */
        TraceSchedCpu cpus[TRACE_CPUS_MAX];
        struct ThreadRows *rows; /* by utid */
        size_t n_rows_allocated;
        uint64_t n_mismatched, n_switches_skipped, n_wakings_skipped, n_states_invalid;
} TraceSched;

int trace_sched_init(TraceSched *sched, TraceStore *store, TraceThreads *threads);
void trace_sched_deinit(TraceSched *sched);

/* Call it before the first event, with a release such as "5.10.0-…", or NULL if that is not known. */
void trace_sched_set_kernel(TraceSched *sched, const char *release);

void trace_sched_switch(TraceSched *sched, const TraceSwitch *event);
void trace_sched_waking(TraceSched *sched, const TraceWaking *event);
/* A task that another task has just made. */
void trace_sched_new_task(TraceSched *sched, uint64_t at_ns, uint32_t utid, uint32_t waker_utid);
/* `function` is 0 if it is not known. */
void trace_sched_blocked_reason(TraceSched *sched, uint32_t utid, bool io_wait, uint32_t function);

/* The thread that runs on a CPU, or TRACE_NONE. */
uint32_t trace_sched_running(const TraceSched *sched, uint32_t cpu);

void trace_sched_finish(TraceSched *sched);
