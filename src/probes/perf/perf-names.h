/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf names: what the sampled threads are called
 *
 * A recording of the machine has that from another data source. Of a user's own programs nobody else tells it, so a
 * thread's first sample comes behind a packet that does.
 */

#include "host/packet-writer.h"
#include "host/pid-set.h"
#include "host/program-names.h"

typedef struct PerfNames {
        ProgramNames names;
        PidSet told; /* threads and processes that the trace knows */
} PerfNames;

/* 0 or -ENOMEM. */
int perf_names_init(PerfNames *names);
void perf_names_deinit(PerfNames *names);

/* Writes a packet if the trace does not know the thread. The time is by the clock that the trace calls `clock_id`. */
void perf_names_tell(PerfNames *names,
                     PacketWriter *packets,
                     pid_t pid,
                     pid_t tid,
                     uint64_t time_ns,
                     uint32_t clock_id);

/* It has become another program, or a new thread has its number. */
void perf_names_forget(PerfNames *names, pid_t tid);
/* The trace forgets all. */
void perf_names_clear(PerfNames *names);
