/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace store: the contents of a trace file, as tables
 *
 * Tables and columns have the names that people know from Perfetto's trace processor. Only the requested parts are
 * filled. The ids of threads, processes and tracks depend on which parts those are, but agree with each other within
 * one import. A time is trace time in nanoseconds. A duration of -1 means that the file does not say when it ends.
 */

#include "trace/trace-pool.h"
#include "trace/trace-table.h"

/* The parts that one can ask for. */
enum {
        TRACE_PART_THREADS =
                1 << 0, /* threads and processes, because every other part refers to them */
        TRACE_PART_EVENTS = 1 << 1, /* tracks, slices, states, counters, flows */
        TRACE_PART_ARGS = 1 << 2,   /* arguments of them */
        TRACE_PART_SCHED = 1 << 3,
        TRACE_PART_STATES = 1 << 4, /* of threads */
        TRACE_PART_LOGS = 1 << 5,
        TRACE_PART_KERNEL = 1 << 6, /* each event of the kernel */
        TRACE_PART_STACKS = 1 << 7, /* samples of call stacks, and heaps */
        TRACE_PART_ALL = (1 << 8) - 1,
};

typedef enum TraceTableId {
        TRACE_TABLE_THREAD,
        TRACE_TABLE_PROCESS,
        TRACE_TABLE_TRACK,
        TRACE_TABLE_SLICE,
        TRACE_TABLE_TRACK_STATE,
        TRACE_TABLE_COUNTER,
        TRACE_TABLE_FLOW,
        TRACE_TABLE_ARG,
        TRACE_TABLE_SCHED,
        TRACE_TABLE_STATE,
        TRACE_TABLE_WAKEUP,
        TRACE_TABLE_LOG,
        TRACE_TABLE_KERNEL_EVENT,
        TRACE_TABLE_SAMPLE,
        TRACE_TABLE_STACK_SAMPLE,
        TRACE_TABLE_HEAP,
        TRACE_TABLE_HEAP_SITE,
        TRACE_TABLE_CALLSITE,
        TRACE_TABLE_FRAME,
        TRACE_TABLE_MAPPING,
        TRACE_TABLE_SYMBOL,
        TRACE_TABLE_CPU,
        TRACE_TABLE_STAT,
        TRACE_TABLE_METADATA,
        TRACE_TABLE_CLOCK,
        _TRACE_TABLE_N,
} TraceTableId;

/* Columns, in the order of their definitions. */
enum {
        THREAD_TID,
        THREAD_NAME,
        THREAD_START,
        THREAD_END,
        THREAD_UPID,
        THREAD_IS_MAIN,
        THREAD_IS_IDLE,
        THREAD_STABLE_ID,
};
enum {
        PROCESS_PID,
        PROCESS_NAME,
        PROCESS_START,
        PROCESS_END,
        PROCESS_PARENT,
        PROCESS_UID,
        PROCESS_CMDLINE,
        PROCESS_ARGS,
        PROCESS_UNIT,
        PROCESS_USER_UNIT,
        PROCESS_APP,
        PROCESS_CONTAINER,
        PROCESS_STABLE_ID,
};
enum {
        TRACK_NAME,
        TRACK_TYPE,
        TRACK_PARENT,
        TRACK_SOURCE_ARGS,
        TRACK_DIMENSION_ARGS,
        TRACK_UNIT,
        TRACK_DESCRIPTION,
        TRACK_KIND,
        TRACK_UTID,
        TRACK_UPID,
        TRACK_CPU,
};
enum { TRACK_KIND_SLICE, TRACK_KIND_COUNTER, TRACK_KIND_STATE };
enum {
        SLICE_TS,
        SLICE_DUR,
        SLICE_TRACK,
        SLICE_CATEGORY,
        SLICE_NAME,
        SLICE_DEPTH,
        SLICE_PARENT,
        SLICE_ARGS,
};
enum {
        TRACK_STATE_TS,
        TRACK_STATE_DUR,
        TRACK_STATE_TRACK,
        TRACK_STATE_CATEGORY,
        TRACK_STATE_VALUE,
        TRACK_STATE_ARGS,
};
enum { COUNTER_TS, COUNTER_TRACK, COUNTER_VALUE };
enum { FLOW_OUT, FLOW_IN };
enum { ARG_SET, ARG_FLAT_KEY, ARG_KEY, ARG_INT, ARG_STRING, ARG_REAL, ARG_TYPE };
enum { SCHED_TS, SCHED_DUR, SCHED_CPU, SCHED_UTID, SCHED_END_STATE, SCHED_PRIORITY };
enum {
        STATE_TS,
        STATE_DUR,
        STATE_CPU,
        STATE_UTID,
        STATE_STATE,
        STATE_IO_WAIT,
        STATE_FUNCTION,
        STATE_WAKER_UTID,
        STATE_WAKER_ID,
        STATE_IRQ,
};
enum { WAKEUP_TS, WAKEUP_STATE, WAKEUP_IRQ, WAKEUP_UTID, WAKEUP_WAKER };
enum {
        LOG_TS,
        LOG_UTID,
        LOG_PRIO,
        LOG_TAG,
        LOG_MSG,
        LOG_COMM,
        LOG_UNIT,
        LOG_USER_UNIT,
        LOG_HOST,
        LOG_TRANSPORT,
        LOG_PID,
        LOG_UID,
};
enum { KERNEL_TS, KERNEL_NAME, KERNEL_CPU, KERNEL_UTID, KERNEL_FLAGS };
enum { PERF_TS, PERF_UTID, PERF_CPU, PERF_MODE, PERF_CALLSITE, PERF_ERROR, PERF_SESSION };
enum {
        WEIGHED_TS,
        WEIGHED_UTID,
        WEIGHED_CPU,
        WEIGHED_MODE,
        WEIGHED_CALLSITE,
        WEIGHED_ERROR,
        WEIGHED_SESSION,
        WEIGHED_SOURCE,
        WEIGHED_COUNTER,
        WEIGHED_UNIT,
        WEIGHED_WEIGHT,
};
enum {
        HEAP_TS,
        HEAP_UPID,
        HEAP_HEAP,
        HEAP_CALLSITE,
        HEAP_COUNT,
        HEAP_SIZE,
        HEAP_RECORDING, /* 0: the first of the recordings that were made at the same time */
};
enum {
        HEAP_SITE_UPID,
        HEAP_SITE_HEAP,
        HEAP_SITE_CALLSITE,
        HEAP_SITE_INTERVAL,
        HEAP_SITE_AT_EXIT, /* 1: the sums are those at the program's end */
        HEAP_SITE_RECORDING,
        HEAP_SITE_THREAD, /* a name */
        HEAP_SITE_SUMS,   /* as many columns as trace-heap.h has sums */
};
enum { CALLSITE_DEPTH, CALLSITE_PARENT, CALLSITE_FRAME };
enum { FRAME_NAME, FRAME_MAPPING_ID, FRAME_REL_PC, FRAME_SYMBOL_SET };
enum {
        MAPPED_BUILD_ID,
        MAPPED_EXACT_OFFSET,
        MAPPED_START_OFFSET,
        MAPPED_START,
        MAPPED_END,
        MAPPED_LOAD_BIAS,
        MAPPED_NAME,
};
enum { SYMBOL_SET, SYMBOL_NAME, SYMBOL_FILE, SYMBOL_LINE };
enum { CPU_NUMBER, CPU_PROCESSOR, CPU_CAPACITY };
enum { STAT_NAME, STAT_IDX, STAT_SEVERITY, STAT_SOURCE, STAT_VALUE };
enum { METADATA_NAME, METADATA_INT, METADATA_TEXT };
enum { CLOCK_TS, CLOCK_ID, CLOCK_NAME, CLOCK_VALUE, CLOCK_SNAPSHOT };

#define TRACE_STATES_MAX 255

/* The numbers of the states that code asks for. Others are added as they come. */
enum { TRACE_STATE_NONE, TRACE_STATE_RUNNING, TRACE_STATE_RUNNABLE, TRACE_STATE_PREEMPTED };

typedef struct TraceStore {
        TracePool pool;
        TraceBudget budget;
        TraceTable tables[_TRACE_TABLE_N];
        uint32_t states[TRACE_STATES_MAX + 1]; /* number → name */
        unsigned n_states;
        unsigned parts; /* that are filled */
        /* The times of the first and the last event of the kernel, even of those that are no rows because nobody
         * wanted them. */
        int64_t kernel_start, kernel_end;
} TraceStore;

const TraceTableDef *trace_table_def(TraceTableId id);

int trace_store_new(TraceStore **ret, uint64_t n_bytes_max);
TraceStore *trace_store_free(TraceStore *store);
DEFINE_CLEANUP(TraceStore *, trace_store_free)

static inline TraceTable *trace_store_table(TraceStore *store, TraceTableId id) {
        return &store->tables[id];
}

/* The number of a state's name, or TRACE_STATE_NONE past TRACE_STATES_MAX names. */
uint8_t trace_store_state(TraceStore *store, uint32_t name);

/* Adds one to a count. `idx` is -1 for a count that exists only once. The name is a constant. */
void trace_store_count(TraceStore *store, const char *name, int32_t idx, uint64_t n);
/* Sets it. */
void trace_store_set_stat(TraceStore *store, const char *name, int32_t idx, uint64_t value);

void trace_store_add_metadata(TraceStore *store, const char *name, uint32_t text);
void trace_store_add_metadata_number(TraceStore *store, const char *name, int64_t number);

/* The first and the last time of all events in the tables. Returns false if the tables are empty. */
bool trace_store_bounds(const TraceStore *store, int64_t *ret_start, int64_t *ret_end);
