/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf names: what the sampled threads are called
 *
 * In a recording of the machine another data source says that. For a user's own programs nobody else does, so a
 * packet with its name comes before a thread's first sample.
 */

#include "host/packet-writer.h"
#include "host/pid-set.h"
#include "host/program-names.h"

typedef struct PerfNames {
        ProgramNames names;
        PidSet told; /* threads and processes that the trace knows */
} PerfNames;

/* Returns 0 or -ENOMEM. */
int perf_names_init(PerfNames *names);
void perf_names_deinit(PerfNames *names);

/* Writes a packet if the trace does not know the thread. The time is by the clock that the trace calls `clock_id`. */
void perf_names_tell(PerfNames *names,
                     PacketWriter *packets,
                     pid_t pid,
                     pid_t tid,
                     uint64_t time_ns,
                     uint32_t clock_id);

/* The thread has become another program, or a new thread has its tid. */
void perf_names_forget(PerfNames *names, pid_t tid);
/* Tells that the trace's state was cleared. */
void perf_names_clear(PerfNames *names);
