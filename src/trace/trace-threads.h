/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace threads: which thread or process a number means at a time
 *
 * The kernel uses numbers again. So a thread is a row of the table (utid), a process likewise (upid), and a number
 * means the newest one that lives. Row 0 of both is the idle task. What is told later of a thread without a
 * process is told of the same row; a process of which nothing but its number is known has a row, too.
 *
 * Rows come as threads are heard of, so their numbers depend on what is read of a trace. The stable id does not: it is
 * made of the kernel's number and of how many beginnings and ends with this number the kernel or a descriptor told
 * before, which are read wherever threads are. It is the number itself if there were none.
 */

#include "trace/trace-map.h"
#include "trace/trace-store.h"

/* The source of a name: the larger wins, and of equals the later. */
enum {
        TRACE_RANK_COMM = 1,
        TRACE_RANK_TREE = 2,
        TRACE_RANK_DESCRIPTOR = 4,
        TRACE_RANK_SYSTEM = 4, /* of processes: the kernel said it */
        TRACE_RANK_CONSTANT = 5,
};

#define TRACE_THREADS_RECENT 1024

typedef struct TraceThreads {
        TraceStore *store;
        TraceMap tids, pids; /* → the newest utid or upid, or TRACE_NONE */
        TraceMap changes;    /* tid → how often it was told that one begins or ends */
        struct ThreadInfo *threads;
        struct ProcessInfo *processes;
        size_t n_threads_allocated, n_processes_allocated;
        struct {
                int32_t tid;
                uint32_t utid;
        } recent[TRACE_THREADS_RECENT];
        struct PendingPair
                *pending; /* what is known to be of the same process, whichever that is */
        size_t n_pending, n_pending_allocated;
} TraceThreads;

/* 0, or -ENOMEM. */
int trace_threads_init(TraceThreads *threads, TraceStore *store);
void trace_threads_deinit(TraceThreads *threads);

/* The thread with this number, which is new if it has not been seen. TRACE_NONE: no room, here and below. */
uint32_t trace_threads_get(TraceThreads *threads, int32_t tid);
/* TRACE_NONE: not seen. */
uint32_t trace_threads_find(TraceThreads *threads, int32_t tid);
uint32_t trace_threads_process(TraceThreads *threads, int32_t pid);
/* The thread, which is known to belong to the process. */
uint32_t trace_threads_of(TraceThreads *threads, int32_t tid, int32_t pid);

/* One that begins; `at_ns` may be TRACE_NO_TIME. */
uint32_t trace_threads_start(TraceThreads *threads, int32_t tid, int64_t at_ns);
uint32_t
trace_threads_start_process(TraceThreads *threads, int32_t pid, int64_t at_ns, uint32_t name);
void trace_threads_end(TraceThreads *threads, int32_t tid, int64_t at_ns);

/* Both are of one process. */
void trace_threads_join(TraceThreads *threads, uint32_t x, uint32_t y);
/* The process is a child of the thread's. */
void trace_threads_set_parent(TraceThreads *threads, uint32_t upid, uint32_t parent_utid);

void trace_threads_name(TraceThreads *threads, uint32_t utid, uint32_t name, uint8_t rank);
void trace_threads_name_process(TraceThreads *threads, uint32_t upid, uint32_t name, uint8_t rank);
/* A rename in the kernel, which renames the process as well if it is its main thread. */
void trace_threads_rename(TraceThreads *threads, uint32_t utid, uint32_t name);
