/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Query tables: the columns that SQL sees, and where they come from */

#include "query/query-tables.h"

#include <string.h>
#include <strings.h>

#define STORED(name, column) \
        { name, QUERY_COLUMN_STORED, column, 0 }
#define ARGS(name, column) \
        { name, QUERY_COLUMN_STORED, column, TRACE_PART_ARGS }
#define ID(name) \
        { name, QUERY_COLUMN_ID, 0, 0 }
#define NOTHING(name) \
        { name, QUERY_COLUMN_NULL, 0, 0 }
#define ZERO(name) \
        { name, QUERY_COLUMN_ZERO, 0, 0 }

/* clang-format off */
static const QueryColumn slice[] = {
        ID("id"), STORED("ts", SLICE_TS), STORED("dur", SLICE_DUR), STORED("track_id", SLICE_TRACK),
        STORED("category", SLICE_CATEGORY), STORED("name", SLICE_NAME), STORED("depth", SLICE_DEPTH),
        STORED("parent_id", SLICE_PARENT), ARGS("arg_set_id", SLICE_ARGS), NOTHING("thread_ts"), NOTHING("thread_dur"),
        NOTHING("thread_instruction_count"), NOTHING("thread_instruction_delta"), STORED("cat", SLICE_CATEGORY),
        ID("slice_id"),
};
static const QueryColumn slice_self_dur[] = { ID("id"), { "self_dur", QUERY_COLUMN_SELF_DUR, 0, 0 } };
static const QueryColumn track[] = {
        ID("id"), STORED("name", TRACK_NAME), STORED("type", TRACK_TYPE),
        ARGS("dimension_arg_set_id", TRACK_DIMENSION_ARGS), STORED("parent_id", TRACK_PARENT),
        ARGS("source_arg_set_id", TRACK_SOURCE_ARGS), ZERO("machine_id"), NOTHING("track_group_id"),
        STORED("unit", TRACK_UNIT), STORED("description", TRACK_DESCRIPTION), STORED("kind", TRACK_KIND),
        { "utid", QUERY_COLUMN_STORED, TRACK_UTID, TRACE_PART_THREADS },
        { "upid", QUERY_COLUMN_STORED, TRACK_UPID, TRACE_PART_THREADS }, STORED("cpu", TRACK_CPU),
};
static const QueryColumn state[] = {
        ID("id"), STORED("ts", TRACK_STATE_TS), STORED("dur", TRACK_STATE_DUR),
        STORED("track_id", TRACK_STATE_TRACK), STORED("category", TRACK_STATE_CATEGORY),
        STORED("value", TRACK_STATE_VALUE), ARGS("arg_set_id", TRACK_STATE_ARGS),
};
static const QueryColumn counter[] = {
        ID("id"), STORED("ts", COUNTER_TS), STORED("track_id", COUNTER_TRACK), STORED("value", COUNTER_VALUE),
        NOTHING("arg_set_id"),
};
static const QueryColumn thread[] = {
        ID("id"), ID("utid"), STORED("tid", THREAD_TID), STORED("name", THREAD_NAME), STORED("start_ts", THREAD_START),
        STORED("end_ts", THREAD_END), STORED("upid", THREAD_UPID), STORED("is_main_thread", THREAD_IS_MAIN),
        STORED("is_idle", THREAD_IS_IDLE), ZERO("machine_id"), NOTHING("arg_set_id"),
        STORED("stable_id", THREAD_STABLE_ID),
};
static const QueryColumn process[] = {
        ID("id"), ID("upid"), STORED("pid", PROCESS_PID), STORED("name", PROCESS_NAME),
        STORED("start_ts", PROCESS_START), STORED("end_ts", PROCESS_END), STORED("parent_upid", PROCESS_PARENT),
        STORED("uid", PROCESS_UID), NOTHING("android_appid"), NOTHING("android_user_id"),
        STORED("cmdline", PROCESS_CMDLINE), ARGS("arg_set_id", PROCESS_ARGS), ZERO("machine_id"),
        STORED("unit", PROCESS_UNIT), STORED("user_unit", PROCESS_USER_UNIT), STORED("app_id", PROCESS_APP),
        STORED("container", PROCESS_CONTAINER), STORED("stable_id", PROCESS_STABLE_ID),
};
static const QueryColumn sched[] = {
        ID("id"), STORED("ts", SCHED_TS), STORED("dur", SCHED_DUR), STORED("cpu", SCHED_CPU),
        STORED("utid", SCHED_UTID), { "end_state", QUERY_COLUMN_STATE, SCHED_END_STATE, 0 },
        STORED("priority", SCHED_PRIORITY), STORED("ucpu", SCHED_CPU), { "ts_end", QUERY_COLUMN_END, 0, 0 },
};
static const QueryColumn thread_state[] = {
        ID("id"), STORED("ts", STATE_TS), STORED("dur", STATE_DUR), STORED("cpu", STATE_CPU),
        STORED("utid", STATE_UTID), { "state", QUERY_COLUMN_STATE, STATE_STATE, 0 },
        STORED("io_wait", STATE_IO_WAIT), STORED("blocked_function", STATE_FUNCTION),
        STORED("waker_utid", STATE_WAKER_UTID), STORED("waker_id", STATE_WAKER_ID), STORED("irq_context", STATE_IRQ),
        STORED("ucpu", STATE_CPU),
};
static const QueryColumn wakeup[] = {
        ID("id"), STORED("ts", WAKEUP_TS), STORED("thread_state_id", WAKEUP_STATE), STORED("irq_context", WAKEUP_IRQ),
        STORED("utid", WAKEUP_UTID), STORED("waker_utid", WAKEUP_WAKER),
};
static const QueryColumn args[] = {
        ID("id"), STORED("arg_set_id", ARG_SET), STORED("flat_key", ARG_FLAT_KEY), STORED("key", ARG_KEY),
        { "int_value", QUERY_COLUMN_ARG_INT, ARG_INT, 0 }, STORED("string_value", ARG_STRING),
        { "real_value", QUERY_COLUMN_ARG_REAL, ARG_REAL, 0 }, STORED("value_type", ARG_TYPE),
        { "display_value", QUERY_COLUMN_ARG_TEXT, 0, 0 },
};
static const QueryColumn flow[] = {
        ID("id"), STORED("slice_out", FLOW_OUT), STORED("slice_in", FLOW_IN), NOTHING("trace_id"),
        NOTHING("arg_set_id"),
};
static const QueryColumn ftrace_event[] = {
        ID("id"), STORED("ts", KERNEL_TS), STORED("name", KERNEL_NAME), STORED("cpu", KERNEL_CPU),
        STORED("utid", KERNEL_UTID), NOTHING("arg_set_id"), STORED("common_flags", KERNEL_FLAGS),
        STORED("ucpu", KERNEL_CPU),
};
static const QueryColumn logs[] = {
        ID("id"), STORED("ts", LOG_TS), STORED("utid", LOG_UTID), STORED("prio", LOG_PRIO), STORED("tag", LOG_TAG),
        STORED("msg", LOG_MSG), STORED("comm", LOG_COMM), STORED("systemd_unit", LOG_UNIT),
        STORED("hostname", LOG_HOST), STORED("transport", LOG_TRANSPORT), STORED("pid", LOG_PID),
        STORED("uid", LOG_UID),
};
static const QueryColumn stats[] = {
        ID("id"), STORED("name", STAT_NAME), STORED("key", STAT_NAME), STORED("idx", STAT_IDX),
        STORED("severity", STAT_SEVERITY), STORED("source", STAT_SOURCE), STORED("value", STAT_VALUE),
        NOTHING("description"), ZERO("machine_id"), ZERO("trace_id"),
};
static const QueryColumn metadata[] = {
        ID("id"), STORED("name", METADATA_NAME), { "key_type", QUERY_COLUMN_SINGLE, 0, 0 },
        STORED("int_value", METADATA_INT), STORED("str_value", METADATA_TEXT), ZERO("machine_id"), ZERO("trace_id"),
};
static const QueryColumn clock_snapshot[] = {
        ID("id"), STORED("ts", CLOCK_TS), STORED("clock_id", CLOCK_ID), STORED("clock_name", CLOCK_NAME),
        STORED("clock_value", CLOCK_VALUE), STORED("snapshot_id", CLOCK_SNAPSHOT), ZERO("machine_id"),
};
static const QueryColumn perf_sample[] = {
        ID("id"), STORED("ts", PERF_TS), STORED("utid", PERF_UTID), STORED("cpu", PERF_CPU),
        STORED("cpu_mode", PERF_MODE), STORED("callsite_id", PERF_CALLSITE), STORED("unwind_error", PERF_ERROR),
        STORED("perf_session_id", PERF_SESSION), STORED("ucpu", PERF_CPU),
};
static const QueryColumn stack_sample[] = {
        ID("id"), STORED("ts", WEIGHED_TS), STORED("source", WEIGHED_SOURCE), STORED("utid", WEIGHED_UTID),
        STORED("cpu", WEIGHED_CPU), STORED("ucpu", WEIGHED_CPU), STORED("cpu_mode", WEIGHED_MODE),
        STORED("callsite_id", WEIGHED_CALLSITE), STORED("unwind_error", WEIGHED_ERROR),
        STORED("session_id", WEIGHED_SESSION), STORED("counter", WEIGHED_COUNTER), STORED("unit", WEIGHED_UNIT),
        STORED("weight", WEIGHED_WEIGHT),
};
static const QueryColumn heap_allocation[] = {
        ID("id"), STORED("ts", HEAP_TS), STORED("upid", HEAP_UPID), STORED("heap_name", HEAP_HEAP),
        STORED("callsite_id", HEAP_CALLSITE), STORED("count", HEAP_COUNT), STORED("size", HEAP_SIZE),
        STORED("recording", HEAP_RECORDING),
};
static const QueryColumn heap_site[] = {
        ID("id"), STORED("upid", HEAP_SITE_UPID), STORED("heap_name", HEAP_SITE_HEAP),
        STORED("callsite_id", HEAP_SITE_CALLSITE), STORED("sampling_interval_bytes", HEAP_SITE_INTERVAL),
        STORED("at_exit", HEAP_SITE_AT_EXIT), STORED("recording", HEAP_SITE_RECORDING),
        STORED("thread_name", HEAP_SITE_THREAD),
        STORED("allocated", HEAP_SITE_SUMS), STORED("n_allocated", HEAP_SITE_SUMS + 1),
        STORED("freed", HEAP_SITE_SUMS + 2), STORED("n_freed", HEAP_SITE_SUMS + 3),
        STORED("at_peak", HEAP_SITE_SUMS + 4), STORED("n_at_peak", HEAP_SITE_SUMS + 5),
        STORED("freed_soon", HEAP_SITE_SUMS + 6), STORED("n_freed_soon", HEAP_SITE_SUMS + 7),
};
static const QueryColumn callsite[] = {
        ID("id"), STORED("depth", CALLSITE_DEPTH), STORED("parent_id", CALLSITE_PARENT),
        STORED("frame_id", CALLSITE_FRAME),
};
static const QueryColumn frame[] = {
        ID("id"), STORED("name", FRAME_NAME), STORED("mapping", FRAME_MAPPING_ID), STORED("rel_pc", FRAME_REL_PC),
        STORED("symbol_set_id", FRAME_SYMBOL_SET), NOTHING("deobfuscated_name"),
};
static const QueryColumn mapping[] = {
        ID("id"), STORED("build_id", MAPPED_BUILD_ID), STORED("exact_offset", MAPPED_EXACT_OFFSET),
        STORED("start_offset", MAPPED_START_OFFSET), STORED("start", MAPPED_START), STORED("end", MAPPED_END),
        STORED("load_bias", MAPPED_LOAD_BIAS), STORED("name", MAPPED_NAME),
};
static const QueryColumn symbol[] = {
        ID("id"), STORED("symbol_set_id", SYMBOL_SET), STORED("name", SYMBOL_NAME), STORED("source_file", SYMBOL_FILE),
        STORED("line_number", SYMBOL_LINE), NOTHING("inlined"),
};
static const QueryColumn cpu[] = {
        ID("id"), ID("ucpu"), STORED("cpu", CPU_NUMBER), NOTHING("cluster_id"), STORED("processor", CPU_PROCESSOR),
        ZERO("machine_id"), STORED("capacity", CPU_CAPACITY), NOTHING("arg_set_id"),
};

#define PARTS_ARGS   (TRACE_PART_ARGS | TRACE_PART_EVENTS | TRACE_PART_THREADS)
#define PARTS_KERNEL (TRACE_PART_KERNEL | TRACE_PART_THREADS)
#define PARTS_STACKS (TRACE_PART_STACKS | TRACE_PART_THREADS)
#define PARTS_LOGS   (TRACE_PART_LOGS | TRACE_PART_THREADS)
/* Counts of rows, except arguments and raw events. */
#define PARTS_STATS (TRACE_PART_ALL & ~(TRACE_PART_ARGS | TRACE_PART_KERNEL))

const QueryTable query_tables[] = {
        { "slice", TRACE_TABLE_SLICE, TRACE_PART_EVENTS, slice, ARRAY_SIZE(slice) },
        { "slice_self_dur", TRACE_TABLE_SLICE, TRACE_PART_EVENTS, slice_self_dur, ARRAY_SIZE(slice_self_dur) },
        { "any_track", TRACE_TABLE_TRACK, TRACE_PART_EVENTS, track, ARRAY_SIZE(track) },
        { "state", TRACE_TABLE_TRACK_STATE, TRACE_PART_EVENTS, state, ARRAY_SIZE(state) },
        { "counter", TRACE_TABLE_COUNTER, TRACE_PART_EVENTS, counter, ARRAY_SIZE(counter) },
        { "thread", TRACE_TABLE_THREAD, TRACE_PART_THREADS, thread, ARRAY_SIZE(thread) },
        { "process", TRACE_TABLE_PROCESS, TRACE_PART_THREADS, process, ARRAY_SIZE(process) },
        { "sched", TRACE_TABLE_SCHED, TRACE_PART_SCHED, sched, ARRAY_SIZE(sched) },
        { "thread_state", TRACE_TABLE_STATE, TRACE_PART_STATES, thread_state, ARRAY_SIZE(thread_state) },
        { "spurious_sched_wakeup", TRACE_TABLE_WAKEUP, TRACE_PART_STATES, wakeup, ARRAY_SIZE(wakeup) },
        { "args", TRACE_TABLE_ARG, PARTS_ARGS, args, ARRAY_SIZE(args) },
        { "flow", TRACE_TABLE_FLOW, TRACE_PART_EVENTS, flow, ARRAY_SIZE(flow) },
        { "ftrace_event", TRACE_TABLE_KERNEL_EVENT, PARTS_KERNEL, ftrace_event, ARRAY_SIZE(ftrace_event) },
        { "any_log", TRACE_TABLE_LOG, PARTS_LOGS, logs, ARRAY_SIZE(logs) },
        { "stats", TRACE_TABLE_STAT, PARTS_STATS, stats, ARRAY_SIZE(stats) },
        { "metadata", TRACE_TABLE_METADATA, 0, metadata, ARRAY_SIZE(metadata) },
        { "clock_snapshot", TRACE_TABLE_CLOCK, 0, clock_snapshot, ARRAY_SIZE(clock_snapshot) },
        { "perf_sample", TRACE_TABLE_SAMPLE, PARTS_STACKS, perf_sample, ARRAY_SIZE(perf_sample) },
        { "stack_sample", TRACE_TABLE_STACK_SAMPLE, PARTS_STACKS, stack_sample, ARRAY_SIZE(stack_sample) },
        { "heap_profile_allocation", TRACE_TABLE_HEAP, PARTS_STACKS, heap_allocation, ARRAY_SIZE(heap_allocation) },
        { "heap_site", TRACE_TABLE_HEAP_SITE, PARTS_STACKS, heap_site, ARRAY_SIZE(heap_site) },
        { "stack_profile_callsite", TRACE_TABLE_CALLSITE, PARTS_STACKS, callsite, ARRAY_SIZE(callsite) },
        { "stack_profile_frame", TRACE_TABLE_FRAME, PARTS_STACKS, frame, ARRAY_SIZE(frame) },
        { "stack_profile_mapping", TRACE_TABLE_MAPPING, PARTS_STACKS, mapping, ARRAY_SIZE(mapping) },
        { "stack_profile_symbol", TRACE_TABLE_SYMBOL, PARTS_STACKS, symbol, ARRAY_SIZE(symbol) },
        { "cpu", TRACE_TABLE_CPU, 0, cpu, ARRAY_SIZE(cpu) },
};
/* clang-format on */

const QueryTable *query_table_find(const char *name, size_t n) {
        for (size_t i = 0; i < ARRAY_SIZE(query_tables); i++)
                if (strlen(query_tables[i].name) == n &&
                    strncasecmp(query_tables[i].name, name, n) == 0)
                        return &query_tables[i];
        return NULL;
}

size_t query_tables_count(void) {
        return ARRAY_SIZE(query_tables);
}
