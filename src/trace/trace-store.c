/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace store: the contents of a trace file, as tables */

#include "trace/trace-store.h"

#include <errno.h>
#include <string.h>

#define I64    TRACE_TYPE_I64
#define DOUBLE TRACE_TYPE_DOUBLE
#define ID     TRACE_TYPE_ID
#define I32    TRACE_TYPE_I32
#define NAME   TRACE_TYPE_NAME
#define U16    TRACE_TYPE_U16
#define I16    TRACE_TYPE_I16
#define U8     TRACE_TYPE_U8
#define STATE  TRACE_TYPE_STATE

/* clang-format off */
static const TraceColumnDef thread_columns[] = {
        { "tid", I32 }, { "name", NAME }, { "start_ts", I64 }, { "end_ts", I64 }, { "upid", ID },
        { "is_main_thread", U8 }, { "is_idle", U8 }, { "stable_id", I64 },
};
static const TraceColumnDef process_columns[] = {
        { "pid", I32 }, { "name", NAME }, { "start_ts", I64 }, { "end_ts", I64 }, { "parent_upid", ID },
        { "uid", ID }, { "cmdline", NAME }, { "arg_set_id", ID }, { "unit", NAME }, { "user_unit", NAME },
        { "app_id", NAME }, { "container", NAME }, { "stable_id", I64 },
};
static const TraceColumnDef track_columns[] = {
        { "name", NAME }, { "type", NAME }, { "parent_id", ID }, { "source_arg_set_id", ID },
        { "dimension_arg_set_id", ID }, { "unit", NAME }, { "description", NAME }, { "kind", U8 },
        { "utid", ID }, { "upid", ID }, { "cpu", ID },
};
static const TraceColumnDef slice_columns[] = {
        { "ts", I64 }, { "dur", I64 }, { "track_id", ID }, { "category", NAME }, { "name", NAME },
        { "depth", U16 }, { "parent_id", ID }, { "arg_set_id", ID },
};
static const TraceColumnDef track_state_columns[] = {
        { "ts", I64 }, { "dur", I64 }, { "track_id", ID }, { "category", NAME }, { "value", NAME },
        { "arg_set_id", ID },
};
static const TraceColumnDef counter_columns[] = { { "ts", I64 }, { "track_id", ID }, { "value", DOUBLE } };
static const TraceColumnDef flow_columns[] = { { "slice_out", ID }, { "slice_in", ID } };
static const TraceColumnDef arg_columns[] = {
        { "arg_set_id", ID }, { "flat_key", NAME }, { "key", NAME }, { "int_value", I64 },
        { "string_value", NAME }, { "real_value", DOUBLE }, { "value_type", NAME },
};
static const TraceColumnDef sched_columns[] = {
        { "ts", I64 }, { "dur", I64 }, { "cpu", U16 }, { "utid", ID }, { "end_state", STATE },
        { "priority", I16 },
};
static const TraceColumnDef state_columns[] = {
        { "ts", I64 }, { "dur", I64 }, { "cpu", U16 }, { "utid", ID }, { "state", STATE }, { "io_wait", U8 },
        { "blocked_function", NAME }, { "waker_utid", ID }, { "waker_id", ID }, { "irq_context", U8 },
};
static const TraceColumnDef wakeup_columns[] = {
        { "ts", I64 }, { "thread_state_id", ID }, { "irq_context", U8 }, { "utid", ID }, { "waker_utid", ID },
};
static const TraceColumnDef log_columns[] = {
        { "ts", I64 }, { "utid", ID }, { "prio", U8 }, { "tag", NAME }, { "msg", NAME }, { "comm", NAME },
        { "systemd_unit", NAME }, { "user_unit", NAME }, { "hostname", NAME }, { "transport", NAME },
        { "pid", I32 }, { "uid", ID },
};
static const TraceColumnDef kernel_columns[] = {
        { "ts", I64 }, { "name", NAME }, { "cpu", U16 }, { "utid", ID }, { "common_flags", U16 },
};
static const TraceColumnDef sample_columns[] = {
        { "ts", I64 }, { "utid", ID }, { "cpu", ID }, { "cpu_mode", NAME }, { "callsite_id", ID },
        { "unwind_error", NAME }, { "perf_session_id", ID },
};
static const TraceColumnDef weighed_columns[] = {
        { "ts", I64 }, { "utid", ID }, { "cpu", ID }, { "cpu_mode", NAME }, { "callsite_id", ID },
        { "unwind_error", NAME }, { "session_id", ID }, { "source", NAME }, { "counter", NAME }, { "unit", NAME },
        { "weight", I64 },
};
static const TraceColumnDef heap_columns[] = {
        { "ts", I64 }, { "upid", ID }, { "heap_name", NAME }, { "callsite_id", ID }, { "count", I64 }, { "size", I64 },
        { "recording", ID },
};
static const TraceColumnDef heap_site_columns[] = {
        { "upid", ID }, { "heap_name", NAME }, { "callsite_id", ID }, { "sampling_interval_bytes", I64 },
        { "at_exit", I64 }, { "recording", ID }, { "thread_name", NAME }, { "allocated", I64 },
        { "n_allocated", I64 }, { "freed", I64 }, { "n_freed", I64 },
        { "at_peak", I64 }, { "n_at_peak", I64 }, { "freed_soon", I64 }, { "n_freed_soon", I64 },
};
static const TraceColumnDef callsite_columns[] = { { "depth", U16 }, { "parent_id", ID }, { "frame_id", ID } };
static const TraceColumnDef frame_columns[] = {
        { "name", NAME }, { "mapping", ID }, { "rel_pc", I64 }, { "symbol_set_id", ID },
};
static const TraceColumnDef mapping_columns[] = {
        { "build_id", NAME }, { "exact_offset", I64 }, { "start_offset", I64 }, { "start", I64 }, { "end", I64 },
        { "load_bias", I64 }, { "name", NAME },
};
static const TraceColumnDef symbol_columns[] = {
        { "symbol_set_id", ID }, { "name", NAME }, { "source_file", NAME }, { "line_number", ID },
};
static const TraceColumnDef cpu_columns[] = { { "cpu", ID }, { "processor", NAME }, { "capacity", ID } };
static const TraceColumnDef stat_columns[] = {
        { "name", NAME }, { "idx", I32 }, { "severity", NAME }, { "source", NAME }, { "value", I64 },
};
static const TraceColumnDef metadata_columns[] = {
        { "name", NAME }, { "int_value", I64 }, { "str_value", NAME },
};
static const TraceColumnDef clock_columns[] = {
        { "ts", I64 }, { "clock_id", ID }, { "clock_name", NAME }, { "clock_value", I64 }, { "snapshot_id", ID },
};

#define DEF(name, columns, is_sorted) { name, columns, ARRAY_SIZE(columns), is_sorted }

static const TraceTableDef defs[] = {
        [TRACE_TABLE_THREAD] = DEF("thread", thread_columns, false),
        [TRACE_TABLE_PROCESS] = DEF("process", process_columns, false),
        [TRACE_TABLE_TRACK] = DEF("track", track_columns, false),
        [TRACE_TABLE_SLICE] = DEF("slice", slice_columns, true),
        [TRACE_TABLE_TRACK_STATE] = DEF("state", track_state_columns, true),
        [TRACE_TABLE_COUNTER] = DEF("counter", counter_columns, true),
        [TRACE_TABLE_FLOW] = DEF("flow", flow_columns, false),
        [TRACE_TABLE_ARG] = DEF("args", arg_columns, false),
        [TRACE_TABLE_SCHED] = DEF("sched", sched_columns, true),
        [TRACE_TABLE_STATE] = DEF("thread_state", state_columns, true),
        [TRACE_TABLE_WAKEUP] = DEF("spurious_sched_wakeup", wakeup_columns, true),
        [TRACE_TABLE_LOG] = DEF("logs", log_columns, false),
        [TRACE_TABLE_KERNEL_EVENT] = DEF("ftrace_event", kernel_columns, true),
        [TRACE_TABLE_SAMPLE] = DEF("perf_sample", sample_columns, true),
        [TRACE_TABLE_STACK_SAMPLE] = DEF("stack_sample", weighed_columns, true),
        [TRACE_TABLE_HEAP] = DEF("heap_profile_allocation", heap_columns, true),
        [TRACE_TABLE_HEAP_SITE] = DEF("heap_site", heap_site_columns, false),
        [TRACE_TABLE_CALLSITE] = DEF("stack_profile_callsite", callsite_columns, false),
        [TRACE_TABLE_FRAME] = DEF("stack_profile_frame", frame_columns, false),
        [TRACE_TABLE_MAPPING] = DEF("stack_profile_mapping", mapping_columns, false),
        [TRACE_TABLE_SYMBOL] = DEF("stack_profile_symbol", symbol_columns, false),
        [TRACE_TABLE_CPU] = DEF("cpu", cpu_columns, false),
        [TRACE_TABLE_STAT] = DEF("stats", stat_columns, false),
        [TRACE_TABLE_METADATA] = DEF("metadata", metadata_columns, false),
        [TRACE_TABLE_CLOCK] = DEF("clock_snapshot", clock_columns, false),
};

/* The stats that say something is missing or wrong. All others only inform. */
static const char *const loss_stats[] = {
        "ftrace_cpu_has_data_loss", "misplaced_end_event", "perf_cpu_lost_records", "perf_samples_skipped",
        "traced_buf_abi_violations", "traced_buf_patches_failed",
        "traced_buf_sequence_packet_loss", "traced_buf_trace_writer_packet_loss", "traced_final_flush_failed",
        "traced_flushes_failed",
};
static const char *const error_stats[] = {
        "clock_sync_failure", "compact_sched_has_parse_errors", "ftrace_cpu_commit_overrun_delta",
        "ftrace_cpu_dropped_events_delta", "mismatched_sched_switch_tids", "slice_drop_overlapping_complete_event",
        "slice_max_depth_exceeded",
        "stackprofile_invalid", "task_state_invalid", "tokenizer_malformed_packets", "trace_file_damaged",
        "trace_memory_limit_reached",
};
/* clang-format on */

const TraceTableDef *trace_table_def(TraceTableId id) {
        return &defs[id];
}

static int store_init(TraceStore *store) {
        static const char *const states[] = { "Running", "R", "R+" };

        if (trace_pool_init(&store->pool))
                return -ENOMEM;
        for (size_t i = 0; i < _TRACE_TABLE_N; i++)
                if (trace_table_init(&store->tables[i], &defs[i], &store->budget))
                        return -ENOMEM;
        store->n_states = 1;
        for (size_t i = 0; i < ARRAY_SIZE(states); i++)
                trace_store_state(store, trace_pool_add_text(&store->pool, states[i]));
        return 0;
}

int trace_store_new(TraceStore **ret, uint64_t n_bytes_max) {
        _cleanup_(trace_store_freep) TraceStore *store = calloc(1, sizeof(*store));

        if (!store)
                return -ENOMEM;
        store->budget.n_bytes_max = n_bytes_max;
        if (store_init(store))
                return -ENOMEM;
        *ret = TAKE(store);
        return 0;
}

TraceStore *trace_store_free(TraceStore *store) {
        if (!store)
                return NULL;

        for (size_t i = 0; i < _TRACE_TABLE_N; i++)
                if (store->tables[i].def)
                        trace_table_deinit(&store->tables[i]);
        trace_pool_deinit(&store->pool);
        free(store);
        return NULL;
}

uint8_t trace_store_state(TraceStore *store, uint32_t name) {
        for (unsigned i = 1; i < store->n_states; i++)
                if (store->states[i] == name)
                        return (uint8_t)i;
        if (name == 0 || store->n_states > TRACE_STATES_MAX)
                return TRACE_STATE_NONE;
        store->states[store->n_states] = name;
        return (uint8_t)store->n_states++;
}

static bool is_among(const char *name, const char *const names[], size_t n_names) {
        for (size_t i = 0; i < n_names; i++)
                if (streq(names[i], name))
                        return true;
        return false;
}

static const char *stat_severity(const char *name) {
        if (is_among(name, loss_stats, ARRAY_SIZE(loss_stats)))
                return "data_loss";
        return is_among(name, error_stats, ARRAY_SIZE(error_stats)) ? "error" : "info";
}

static uint32_t store_stat(TraceStore *store, const char *text, int32_t idx) {
        TraceTable *table = trace_store_table(store, TRACE_TABLE_STAT);
        uint32_t name = trace_pool_add_text(&store->pool, text), row;
        bool is_traced = strncmp(text, "traced_", 7) == 0 || strncmp(text, "ftrace_", 7) == 0;

        for (row = 0; row < table->n; row++)
                if (trace_table_get(table, STAT_NAME, row) == name &&
                    trace_table_get(table, STAT_IDX, row) == (idx < 0 ? TRACE_NONE : (uint32_t)idx))
                        return row;
        row = trace_table_add(table);
        if (row == TRACE_NONE)
                return row;
        trace_table_set(table, STAT_NAME, row, name);
        if (idx >= 0)
                trace_table_set(table, STAT_IDX, row, (uint32_t)idx);
        trace_table_set(
                table, STAT_SEVERITY, row, trace_pool_add_text(&store->pool, stat_severity(text)));
        trace_table_set(table,
                        STAT_SOURCE,
                        row,
                        trace_pool_add_text(&store->pool, is_traced ? "trace" : "analysis"));
        trace_table_set_i64(table, STAT_VALUE, row, 0);
        return row;
}

void trace_store_count(TraceStore *store, const char *name, int32_t idx, uint64_t n) {
        TraceTable *table = trace_store_table(store, TRACE_TABLE_STAT);
        uint32_t row = store_stat(store, name, idx);

        if (row != TRACE_NONE)
                trace_table_set_i64(
                        table,
                        STAT_VALUE,
                        row,
                        (int64_t)((uint64_t)trace_table_i64(table, STAT_VALUE, row) + n));
}

void trace_store_set_stat(TraceStore *store, const char *name, int32_t idx, uint64_t value) {
        uint32_t row = store_stat(store, name, idx);

        if (row != TRACE_NONE)
                trace_table_set_i64(trace_store_table(store, TRACE_TABLE_STAT),
                                    STAT_VALUE,
                                    row,
                                    (int64_t)value);
}

static uint32_t store_metadata(TraceStore *store, const char *name) {
        TraceTable *table = trace_store_table(store, TRACE_TABLE_METADATA);
        uint32_t row = trace_table_add(table);

        if (row != TRACE_NONE)
                trace_table_set(table, METADATA_NAME, row, trace_pool_add_text(&store->pool, name));
        return row;
}

void trace_store_add_metadata(TraceStore *store, const char *name, uint32_t text) {
        uint32_t row = text ? store_metadata(store, name) : TRACE_NONE;

        if (row != TRACE_NONE)
                trace_table_set(
                        trace_store_table(store, TRACE_TABLE_METADATA), METADATA_TEXT, row, text);
}

void trace_store_add_metadata_number(TraceStore *store, const char *name, int64_t number) {
        uint32_t row = store_metadata(store, name);

        if (row != TRACE_NONE)
                trace_table_set_i64(
                        trace_store_table(store, TRACE_TABLE_METADATA), METADATA_INT, row, number);
}

/* In tables whose rows have a duration, it is column 1. */
static void table_bounds(const TraceTable *table, int64_t *start, int64_t *end) {
        bool lasts = table->def->n_columns > 1 && streq(table->def->columns[1].name, "dur");

        for (uint32_t row = 0; row < table->n; row++) {
                int64_t ts = trace_table_i64(table, 0, row), last = ts;
                int64_t dur = lasts ? trace_table_i64(table, 1, row) : 0;

                if (dur > 0 && __builtin_add_overflow(ts, dur, &last))
                        last = ts;
                *start = MIN(*start, ts);
                *end = MAX(*end, last);
        }
}

bool trace_store_bounds(const TraceStore *store, int64_t *ret_start, int64_t *ret_end) {
        static const TraceTableId ids[] = { TRACE_TABLE_SLICE,        TRACE_TABLE_TRACK_STATE,
                                            TRACE_TABLE_COUNTER,      TRACE_TABLE_SCHED,
                                            TRACE_TABLE_STATE,        TRACE_TABLE_LOG,
                                            TRACE_TABLE_KERNEL_EVENT, TRACE_TABLE_SAMPLE,
                                            TRACE_TABLE_STACK_SAMPLE, TRACE_TABLE_HEAP };

        *ret_start = INT64_MAX;
        *ret_end = INT64_MIN;
        for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
                table_bounds(&store->tables[ids[i]], ret_start, ret_end);
        if (store->kernel_end > 0) {
                *ret_start = MIN(*ret_start, store->kernel_start);
                *ret_end = MAX(*ret_end, store->kernel_end);
        }
        return *ret_start <= *ret_end;
}
