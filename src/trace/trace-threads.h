/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace threads: which thread or process a number means at a given time
 *
 * The kernel uses numbers again. So a thread is a row of the table (utid), and so is a process (upid); a number means
 * the newest one of them that is alive. Row 0 of both tables is the idle task. If a thread without a process is
 * described later, the description goes to the same row. A process has a row even if nothing but its number is known.
 *
 * Threads and processes get their rows as they first appear, so the rows depend on which parts of a trace are read. The
 * stable id does not: it is made from the kernel's number and from how many times the kernel or a descriptor had
 * reported before that a thread with this number begins or ends. Those reports are read wherever threads are. If there
 * were none, the id is the number itself.
 */

#include "trace/trace-map.h"
#include "trace/trace-store.h"

/* The source of a name. The larger one wins, and of equal ones the later. */
enum {
        TRACE_RANK_COMM = 1,
        TRACE_RANK_TREE = 2,
        TRACE_RANK_DESCRIPTOR = 4,
        TRACE_RANK_SYSTEM = 4, /* for processes: the kernel said it */
        TRACE_RANK_CONSTANT = 5,
};

#define TRACE_THREADS_RECENT 1024

typedef struct TraceRecentThread {
        int32_t tid;
        uint32_t utid;
        uint32_t
                comm; /* the name that trace_threads_run() set; 0: none, or another name was set since */
} TraceRecentThread;

typedef struct TraceThreads {
        TraceStore *store;
        TraceMap tids, pids; /* → the newest utid or upid, or TRACE_NONE */
        TraceMap changes;    /* tid → how many times one was reported to begin or to end */
        struct ThreadInfo *threads;
        struct ProcessInfo *processes;
        size_t n_threads_allocated, n_processes_allocated;
        TraceRecentThread recent[TRACE_THREADS_RECENT];
        struct PendingPair *pending; /* pairs of the same process, though it is not known which */
        size_t n_pending, n_pending_allocated;
} TraceThreads;

/* Returns 0, or -ENOMEM. */
int trace_threads_init(TraceThreads *threads, TraceStore *store);
void trace_threads_deinit(TraceThreads *threads);

/* The thread with this number, which is added if it has not been seen. This and the functions below return
 * TRACE_NONE if there is no room. */
uint32_t trace_threads_get(TraceThreads *threads, int32_t tid);
/* Likewise, for a thread that runs and that the kernel calls by this name. */
uint32_t trace_threads_run(TraceThreads *threads, int32_t tid, uint32_t comm);
/* TRACE_NONE: not seen. */
uint32_t trace_threads_find(TraceThreads *threads, int32_t tid);
uint32_t trace_threads_process(TraceThreads *threads, int32_t pid);
/* The same for a thread that is known to belong to the process. */
uint32_t trace_threads_of(TraceThreads *threads, int32_t tid, int32_t pid);

/* A thread that begins now. `at_ns` may be TRACE_NO_TIME. */
uint32_t trace_threads_start(TraceThreads *threads, int32_t tid, int64_t at_ns);
uint32_t
trace_threads_start_process(TraceThreads *threads, int32_t pid, int64_t at_ns, uint32_t name);
void trace_threads_end(TraceThreads *threads, int32_t tid, int64_t at_ns);

/* Both threads belong to one process. */
void trace_threads_join(TraceThreads *threads, uint32_t x, uint32_t y);
/* The process is a child of the thread's process. */
void trace_threads_set_parent(TraceThreads *threads, uint32_t upid, uint32_t parent_utid);

void trace_threads_name(TraceThreads *threads, uint32_t utid, uint32_t name, uint8_t rank);
void trace_threads_name_process(TraceThreads *threads, uint32_t upid, uint32_t name, uint8_t rank);
/* The kernel renames a thread. That renames the process as well if it is its main thread. */
void trace_threads_rename(TraceThreads *threads, uint32_t utid, uint32_t name);
