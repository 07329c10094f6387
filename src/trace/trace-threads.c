/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace threads: which thread or process a number means at a given time */

#include "trace/trace-threads.h"

#include <errno.h>

typedef struct ThreadInfo {
        uint32_t next; /* the next thread of the same process */
        uint32_t name; /* of this rank */
        uint8_t rank;
        bool is_dead;
} ThreadInfo;

typedef struct ProcessInfo {
        uint32_t first; /* thread */
        uint8_t rank;
} ProcessInfo;

/* x is a thread, and y is a thread of the same process, or else the process whose parent that is. */
typedef struct PendingPair {
        uint32_t x, y;
        bool is_parent;
        bool is_done;
} PendingPair;

static TraceTable *thread_table(const TraceThreads *threads) {
        return trace_store_table(threads->store, TRACE_TABLE_THREAD);
}

static TraceTable *process_table(const TraceThreads *threads) {
        return trace_store_table(threads->store, TRACE_TABLE_PROCESS);
}

static inline TraceRecentThread *threads_recent(TraceThreads *threads, int32_t tid) {
        return &threads->recent[(uint32_t)tid % TRACE_THREADS_RECENT];
}

/* No thread has a number below zero, except in a damaged file. The table of threads keeps one of them as no number, so
 * that it would not be found here when it is renamed or ends. */
static void threads_set_recent(TraceThreads *threads, int32_t tid, uint32_t utid) {
        if (tid >= 0)
                *threads_recent(threads, tid) = (TraceRecentThread){ .tid = tid, .utid = utid };
}

static void threads_forget_recent(TraceThreads *threads, int32_t tid) {
        threads_set_recent(threads, tid, TRACE_NONE);
}

/* From now on the number means this thread, or none. */
static void threads_point(TraceThreads *threads, int32_t tid, uint32_t utid) {
        if (trace_map_set(&threads->tids, (uint32_t)tid, utid))
                threads->store->budget.is_over = true;
        threads_set_recent(threads, tid, utid);
}

/*
 * Stable ids: the last ten digits are the thread's number. Before them come a number of three digits for threads that
 * no change tells apart, and before that how many changes there were.
 */

#define STABLE_NUMBER  INT64_C(10000000000)
#define STABLE_SAME    1000
#define STABLE_CHANGES (INT64_MAX / STABLE_NUMBER / STABLE_SAME - 1)

static int64_t n_changes(const TraceThreads *threads, int32_t number) {
        uint64_t n = trace_map_find(&threads->changes, (uint32_t)number);

        return n == TRACE_MAP_NONE ? 0 : (int64_t)n;
}

static void note_change(TraceThreads *threads, int32_t number) {
        int64_t n = n_changes(threads, number) + 1;

        if (n < STABLE_CHANGES && trace_map_set(&threads->changes, (uint32_t)number, (uint64_t)n))
                threads->store->budget.is_over = true;
}

/* `before` is the last row with the same number, or TRACE_NONE. Leaves the id empty if the three digits are used up. */
static void set_stable_id(const TraceThreads *threads,
                          TraceTable *table,
                          unsigned column,
                          uint32_t row,
                          int32_t number,
                          uint32_t before) {
        int64_t first = n_changes(threads, number) * STABLE_SAME * STABLE_NUMBER + (uint32_t)number,
                id = first;

        if (before != TRACE_NONE) {
                int64_t last = trace_table_i64(table, column, before);

                if (last == TRACE_NO_TIME)
                        return;
                if (last >= first)
                        id = last + STABLE_NUMBER;
        }
        if (id < first + STABLE_SAME * STABLE_NUMBER)
                trace_table_set_i64(table, column, row, id);
}

static uint32_t newest(const TraceMap *map, int32_t number) {
        uint64_t row = trace_map_find(map, (uint32_t)number);

        return row == TRACE_MAP_NONE ? TRACE_NONE : (uint32_t)row;
}

static uint32_t thread_add(TraceThreads *threads, int32_t tid, int64_t at_ns) {
        TraceTable *table = thread_table(threads);
        uint32_t utid;

        if (trace_reserve((void **)&threads->threads,
                          &threads->n_threads_allocated,
                          table->n + 1,
                          sizeof(*threads->threads)))
                return TRACE_NONE;
        utid = trace_table_add(table);
        if (utid == TRACE_NONE)
                return utid;
        threads->threads[utid] = (ThreadInfo){ .next = TRACE_NONE };
        trace_table_set(table, THREAD_TID, utid, (uint32_t)tid);
        trace_table_set(table, THREAD_IS_IDLE, utid, 0);
        set_stable_id(threads, table, THREAD_STABLE_ID, utid, tid, newest(&threads->tids, tid));
        if (at_ns != TRACE_NO_TIME)
                trace_table_set_i64(table, THREAD_START, utid, at_ns);
        threads_point(threads, tid, utid);
        return utid;
}

uint32_t trace_threads_start(TraceThreads *threads, int32_t tid, int64_t at_ns) {
        note_change(threads, tid);
        return thread_add(threads, tid, at_ns);
}

uint32_t trace_threads_find(TraceThreads *threads, int32_t tid) {
        const TraceRecentThread *recent = threads_recent(threads, tid);
        uint64_t utid;

        if (LIKELY(recent->tid == tid && recent->utid != TRACE_NONE))
                return recent->utid;
        utid = trace_map_find(&threads->tids, (uint32_t)tid);
        if (utid == TRACE_MAP_NONE || utid == TRACE_NONE || threads->threads[utid].is_dead)
                return TRACE_NONE;
        threads_set_recent(threads, tid, (uint32_t)utid);
        return (uint32_t)utid;
}

uint32_t trace_threads_get(TraceThreads *threads, int32_t tid) {
        uint32_t utid = trace_threads_find(threads, tid);

        return utid == TRACE_NONE ? thread_add(threads, tid, TRACE_NO_TIME) : utid;
}

static void thread_set_process(TraceThreads *threads, uint32_t utid, uint32_t upid) {
        TraceTable *table = thread_table(threads);
        ProcessInfo *process = &threads->processes[upid];

        trace_table_set(table, THREAD_UPID, utid, upid);
        trace_table_set(table,
                        THREAD_IS_MAIN,
                        utid,
                        trace_table_get(table, THREAD_TID, utid) ==
                                trace_table_get(process_table(threads), PROCESS_PID, upid));
        threads->threads[utid].next = process->first;
        process->first = utid;
}

/* Settles what was waiting until this thread's process is known. Each answer may be what others wait for. */
static void threads_settle(TraceThreads *threads) {
        TraceTable *table = thread_table(threads);
        bool again = threads->n_pending > 0;
        size_t n = 0;

        while (again) {
                again = false;
                for (size_t i = 0; i < threads->n_pending; i++) {
                        PendingPair *pair = &threads->pending[i];
                        uint32_t upid = trace_table_get(table, THREAD_UPID, pair->x), other;

                        if (pair->is_done)
                                continue;
                        if (pair->is_parent) {
                                pair->is_done = upid != TRACE_NONE;
                                if (pair->is_done)
                                        trace_table_set(process_table(threads),
                                                        PROCESS_PARENT,
                                                        pair->y,
                                                        upid);
                                continue;
                        }
                        other = trace_table_get(table, THREAD_UPID, pair->y);
                        if (upid == TRACE_NONE && other == TRACE_NONE)
                                continue;
                        pair->is_done = true;
                        again = true;
                        if (upid == TRACE_NONE)
                                thread_set_process(threads, pair->x, other);
                        else if (other == TRACE_NONE)
                                thread_set_process(threads, pair->y, upid);
                }
        }
        for (size_t i = 0; i < threads->n_pending; i++)
                if (!threads->pending[i].is_done)
                        threads->pending[n++] = threads->pending[i];
        threads->n_pending = n;
}

/* There are few of them at a time. A strange file may have more, and whatever exceeds this limit stays unknown. */
#define PENDING_MAX 1024

static void threads_wait(TraceThreads *threads, PendingPair pair) {
        if (threads->n_pending < PENDING_MAX && trace_reserve((void **)&threads->pending,
                                                              &threads->n_pending_allocated,
                                                              threads->n_pending + 1,
                                                              sizeof(pair)) == 0)
                threads->pending[threads->n_pending++] = pair;
}

void trace_threads_join(TraceThreads *threads, uint32_t x, uint32_t y) {
        TraceTable *table = thread_table(threads);
        uint32_t of_x = trace_table_get(table, THREAD_UPID, x);
        uint32_t of_y = trace_table_get(table, THREAD_UPID, y);

        if (of_x == TRACE_NONE && of_y == TRACE_NONE) {
                threads_wait(threads, (PendingPair){ .x = x, .y = y });
                return;
        }
        if (of_x == TRACE_NONE)
                thread_set_process(threads, x, of_y);
        else if (of_y == TRACE_NONE)
                thread_set_process(threads, y, of_x);
        threads_settle(threads);
}

void trace_threads_set_parent(TraceThreads *threads, uint32_t upid, uint32_t parent_utid) {
        uint32_t parent = trace_table_get(thread_table(threads), THREAD_UPID, parent_utid);

        if (parent == TRACE_NONE)
                threads_wait(threads,
                             (PendingPair){ .x = parent_utid, .y = upid, .is_parent = true });
        else
                trace_table_set(process_table(threads), PROCESS_PARENT, upid, parent);
}

static uint32_t process_add(TraceThreads *threads, int32_t pid) {
        TraceTable *table = process_table(threads);
        uint32_t upid;

        if (trace_reserve((void **)&threads->processes,
                          &threads->n_processes_allocated,
                          table->n + 1,
                          sizeof(*threads->processes)))
                return TRACE_NONE;
        upid = trace_table_add(table);
        if (upid == TRACE_NONE)
                return upid;
        threads->processes[upid] = (ProcessInfo){ .first = TRACE_NONE };
        trace_table_set(table, PROCESS_PID, upid, (uint32_t)pid);
        set_stable_id(threads, table, PROCESS_STABLE_ID, upid, pid, newest(&threads->pids, pid));
        if (trace_map_set(&threads->pids, (uint32_t)pid, upid))
                threads->store->budget.is_over = true;
        return upid;
}

static uint32_t process_find(const TraceThreads *threads, int32_t pid) {
        uint64_t upid = trace_map_find(&threads->pids, (uint32_t)pid);

        return upid == TRACE_MAP_NONE ? TRACE_NONE : (uint32_t)upid;
}

/* The thread with this number, if it belongs to this process or to one that is not known. */
static uint32_t thread_of(TraceThreads *threads, int32_t tid, uint32_t upid) {
        uint32_t utid = trace_threads_find(threads, tid), known;

        if (utid != TRACE_NONE) {
                known = trace_table_get(thread_table(threads), THREAD_UPID, utid);
                if (known == upid)
                        return utid;
                if (known != TRACE_NONE)
                        utid = TRACE_NONE;
        }
        if (utid == TRACE_NONE)
                utid = thread_add(threads, tid, TRACE_NO_TIME);
        if (utid == TRACE_NONE)
                return utid;
        thread_set_process(threads, utid, upid);
        threads_settle(threads);
        return utid;
}

uint32_t trace_threads_process(TraceThreads *threads, int32_t pid) {
        uint32_t upid = process_find(threads, pid);

        if (upid != TRACE_NONE)
                return upid;
        upid = process_add(threads, pid);
        if (upid != TRACE_NONE)
                thread_of(threads, pid, upid);
        return upid;
}

uint32_t trace_threads_of(TraceThreads *threads, int32_t tid, int32_t pid) {
        uint32_t upid = trace_threads_process(threads, pid);

        return upid == TRACE_NONE ? TRACE_NONE : thread_of(threads, tid, upid);
}

/* No thread of the process is alive. */
static void process_bury(TraceThreads *threads, uint32_t upid) {
        uint32_t utid = threads->processes[upid].first;

        for (; utid != TRACE_NONE; utid = threads->threads[utid].next) {
                threads->threads[utid].is_dead = true;
                threads_forget_recent(
                        threads, (int32_t)trace_table_get(thread_table(threads), THREAD_TID, utid));
        }
        threads->processes[upid].first = TRACE_NONE;
}

uint32_t
trace_threads_start_process(TraceThreads *threads, int32_t pid, int64_t at_ns, uint32_t name) {
        uint32_t before = process_find(threads, pid), upid, utid;

        if (before != TRACE_NONE)
                process_bury(threads, before);
        utid = trace_threads_start(threads, pid, at_ns);
        upid = process_add(threads, pid);
        if (utid == TRACE_NONE || upid == TRACE_NONE)
                return TRACE_NONE;
        trace_threads_name(threads, utid, name, TRACE_RANK_COMM);
        thread_set_process(threads, utid, upid);
        if (at_ns != TRACE_NO_TIME)
                trace_table_set_i64(process_table(threads), PROCESS_START, upid, at_ns);
        trace_threads_name_process(threads, upid, name, TRACE_RANK_SYSTEM);
        return upid;
}

void trace_threads_end(TraceThreads *threads, int32_t tid, int64_t at_ns) {
        TraceTable *table = thread_table(threads);
        uint32_t utid = trace_threads_find(threads, tid), upid;

        if (tid)
                note_change(threads, tid);
        if (utid == TRACE_NONE || utid == 0)
                return;
        trace_table_set_i64(table, THREAD_END, utid, at_ns);
        threads->threads[utid].is_dead = true;
        threads_forget_recent(threads, tid);
        upid = trace_table_get(table, THREAD_UPID, utid);
        if (upid == TRACE_NONE ||
            (int32_t)trace_table_get(process_table(threads), PROCESS_PID, upid) != tid)
                return;
        trace_table_set_i64(process_table(threads), PROCESS_END, upid, at_ns);
        if (trace_map_set(&threads->pids, (uint32_t)tid, TRACE_NONE))
                threads->store->budget.is_over = true;
        process_bury(threads, upid);
}

void trace_threads_name(TraceThreads *threads, uint32_t utid, uint32_t name, uint8_t rank) {
        ThreadInfo *thread = &threads->threads[utid];
        uint32_t tid = trace_table_get(thread_table(threads), THREAD_TID, utid);

        threads_recent(threads, (int32_t)tid)->comm = 0;
        if (name == 0 || rank < thread->rank || (rank == thread->rank && name == thread->name))
                return;
        thread->rank = rank;
        thread->name = name;
        trace_table_set(thread_table(threads), THREAD_NAME, utid, name);
}

/* Each switch says the thread's name, which is the same as before nearly always. */
uint32_t trace_threads_run(TraceThreads *threads, int32_t tid, uint32_t comm) {
        TraceRecentThread *recent = threads_recent(threads, tid);
        uint32_t utid;

        if (LIKELY(recent->tid == tid && recent->comm == comm && recent->utid != TRACE_NONE))
                return recent->utid;
        utid = trace_threads_get(threads, tid);
        if (utid == TRACE_NONE)
                return utid;
        trace_threads_name(threads, utid, comm, TRACE_RANK_COMM);
        if (tid >= 0)
                recent->comm = comm;
        return utid;
}

void trace_threads_name_process(TraceThreads *threads, uint32_t upid, uint32_t name, uint8_t rank) {
        ProcessInfo *process = &threads->processes[upid];

        if (name == 0 || rank < process->rank)
                return;
        process->rank = rank;
        trace_table_set(process_table(threads), PROCESS_NAME, upid, name);
}

void trace_threads_rename(TraceThreads *threads, uint32_t utid, uint32_t name) {
        uint32_t upid = trace_table_get(thread_table(threads), THREAD_UPID, utid);

        trace_threads_name(threads, utid, name, TRACE_RANK_COMM);
        if (upid != TRACE_NONE && trace_table_get(process_table(threads), PROCESS_PID, upid) ==
                                          trace_table_get(thread_table(threads), THREAD_TID, utid))
                trace_threads_name_process(threads, upid, name, TRACE_RANK_SYSTEM);
}

int trace_threads_init(TraceThreads *threads, TraceStore *store) {
        uint32_t utid;

        threads->store = store;
        for (size_t i = 0; i < TRACE_THREADS_RECENT; i++)
                threads->recent[i].utid = TRACE_NONE;
        if (trace_threads_process(threads, 0) != 0)
                return -ENOMEM;
        utid = trace_threads_get(threads, 0);
        trace_table_set(thread_table(threads), THREAD_IS_IDLE, utid, 1);
        trace_threads_name(
                threads, utid, trace_pool_add_text(&store->pool, "swapper"), TRACE_RANK_CONSTANT);
        return 0;
}

void trace_threads_deinit(TraceThreads *threads) {
        trace_map_deinit(&threads->tids);
        trace_map_deinit(&threads->pids);
        trace_map_deinit(&threads->changes);
        free(threads->threads);
        free(threads->processes);
        free(threads->pending);
        *threads = (TraceThreads){ 0 };
}
