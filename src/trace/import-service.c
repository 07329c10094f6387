/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What the service reports about the recording and the machine
 */

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "trace/import.h"
#include "trace/trace-clock-snapshot.h"
#include "trace/trace-names.h"

/*
 * Clocks
 */

static void
clock_row(TraceImport *import, const TraceClockReading *reading, int64_t at_ns, uint32_t snapshot) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_CLOCK);
        const char *name = trace_clock_name(reading->id);
        uint32_t row = trace_table_add(table);

        if (row == TRACE_NONE)
                return;
        trace_table_set_i64(table, CLOCK_TS, row, at_ns);
        trace_table_set(table, CLOCK_ID, row, reading->id);
        if (name) {
                char upper[64];
                size_t n = MIN(strlen(name), sizeof(upper) - 1);

                for (size_t i = 0; i < n; i++)
                        upper[i] = name[i] == '-' ? '_' : (char)(name[i] & ~0x20);
                trace_table_set(
                        table, CLOCK_NAME, row, trace_pool_add(&import->store->pool, upper, n));
        }
        trace_table_set_i64(table, CLOCK_VALUE, row, (int64_t)reading->timestamp);
        trace_table_set(table, CLOCK_SNAPSHOT, row, snapshot);
}

/* The time of a snapshot is a reading of the clock of trace time, if the snapshot has one. */
static void clock_rows(TraceImport *import, const TraceClockSnapshot *snapshot) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_CLOCK);
        uint32_t number = 0;

        if (table->n)
                number = trace_table_get(table, CLOCK_SNAPSHOT, (uint32_t)table->n - 1) + 1;
        if (snapshot->has_realtime && !import->has_realtime) {
                import->has_realtime = true;
                trace_store_add_metadata_number(import->store,
                                                "trace_realtime_offset_ns",
                                                (int64_t)snapshot->realtime_ahead_ns);
        }
        for (size_t i = 0; i < snapshot->n && snapshot->has_trace_time; i++)
                clock_row(import, &snapshot->readings[i], (int64_t)snapshot->trace_time_ns, number);
}

void import_clock_snapshot(TraceImport *import,
                           const ImportPacket *packet,
                           const WireField *bytes) {
        TraceClockSnapshot snapshot;

        if (trace_clock_snapshot_read(&snapshot, import->clocks, packet->sequence->id, bytes))
                trace_store_count(import->store, "clock_snapshot_refused", -1, 1);
        else
                clock_rows(import, &snapshot);
}

/*
 * The machine
 */

static void take_utsname(TraceImport *import, const WireField *message) {
        static const char *const names[] = {
                NULL, "system_name", "system_version", "system_release", "system_machine"
        };
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0) {
                uint32_t text;

                if (field.type != WIRE_BYTES || field.number >= ARRAY_SIZE(names) ||
                    !names[field.number])
                        continue;
                text = import_text(import, &field);
                trace_store_add_metadata(import->store, names[field.number], text);
                if (field.number == 3)
                        trace_sched_set_kernel(&import->sched,
                                               trace_pool_text(&import->store->pool, text));
        }
}

/* Fields of SystemInfo. The last ones are Desktrace's own. */
static const struct {
        uint32_t number;
        bool is_text;
        const char *name;
} system_fields[] = {
        { 4, true, "tracing_service_version" },
        { 6, false, "system_page_size" },
        { 8, false, "system_cpus" },
        { 16, false, "system_ram_bytes" },
        { 1900, true, "system_boot_id" },
        { 1901, true, "system_os_id" },
        { 1902, true, "system_os_version" },
        { 1903, true, "system_cpu_model" },
};

static void take_system_field(TraceImport *import, const WireField *field) {
        for (size_t i = 0; i < ARRAY_SIZE(system_fields); i++) {
                if (system_fields[i].number != field->number)
                        continue;
                if (system_fields[i].is_text && field->type == WIRE_BYTES)
                        trace_store_add_metadata(
                                import->store, system_fields[i].name, import_text(import, field));
                else if (!system_fields[i].is_text && field->type == WIRE_VARINT)
                        trace_store_add_metadata_number(
                                import->store, system_fields[i].name, (int64_t)field->value);
                if (field->number == 6 && field->type == WIRE_VARINT)
                        import->page_bytes = field->value;
        }
}

void import_system_info(TraceImport *import, const ImportPacket *packet, const WireField *info) {
        WireReader reader;
        WireField field;

        if (trace_store_table(import->store, TRACE_TABLE_METADATA)->n > 64)
                return; /* a limit for files that repeat this again and again */
        wire_reader_init_field(&reader, info);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1 && field.type == WIRE_BYTES)
                        take_utsname(import, &field);
                else
                        take_system_field(import, &field);
        }
}

void import_trace_uuid(TraceImport *import, const ImportPacket *packet, const WireField *uuid) {
        uint64_t n[3];

        trace_read_numbers(uuid, n, ARRAY_SIZE(n));
        trace_store_add_metadata(
                import->store,
                "trace_uuid",
                trace_pool_add_format(&import->store->pool,
                                      "%08x-%04x-%04x-%04x-%012llx",
                                      (unsigned)(n[1] >> 32),
                                      (unsigned)(n[1] >> 16) & 0xffff,
                                      (unsigned)n[1] & 0xffff,
                                      (unsigned)(n[2] >> 48),
                                      (unsigned long long)(n[2] & 0xffffffffffff)));
}

/*
 * The config
 */

#define SOURCES_MAX       64 /* how many of a config's sources are named */
#define SOURCES_BYTES_MAX 1024

typedef struct ConfigSources {
        WireField names[SOURCES_MAX];
        size_t n;
        uLong sum; /* a limit for the configs of all sources together */
} ConfigSources;

static int compare_names(const void *x, const void *y) {
        const WireField *a = x, *b = y;
        int r = memcmp(a->data, b->data, MIN(a->n_bytes, b->n_bytes));

        return r ? r : (a->n_bytes > b->n_bytes) - (a->n_bytes < b->n_bytes);
}

/* Field 1 contains the config, which contains the name. */
static bool read_first(const WireField *message, WireField *ret) {
        WireReader reader;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, ret) > 0)
                if (ret->number == 1 && ret->type == WIRE_BYTES)
                        return true;
        return false;
}

static void add_source(ConfigSources *sources, const WireField *source) {
        WireField config;

        sources->sum = crc32(sources->sum, source->data, (uInt)source->n_bytes);
        if (sources->n < SOURCES_MAX && read_first(source, &config) &&
            read_first(&config, &sources->names[sources->n]))
                sources->n++;
}

/* Stores the names in order, as far as there is room, and a checksum that changes with any setting. */
static void name_sources(TraceImport *import, ConfigSources *sources) {
        char text[SOURCES_BYTES_MAX];
        size_t n = 0;

        if (sources->n == 0)
                return;
        qsort(sources->names, sources->n, sizeof(*sources->names), compare_names);
        for (size_t i = 0; i < sources->n; i++) {
                const WireField *name = &sources->names[i];

                if (name->n_bytes > sizeof(text) - n - 2)
                        break;
                if (i) {
                        memcpy(text + n, ", ", 2);
                        n += 2;
                }
                memcpy(text + n, name->data, name->n_bytes);
                n += name->n_bytes;
        }
        trace_store_add_metadata(import->store,
                                 "trace_config_sources",
                                 trace_pool_add(&import->store->pool, text, n));
        trace_store_add_metadata_number(
                import->store, "trace_config_sources_sum", (int64_t)sources->sum);
}

void import_trace_config(TraceImport *import, const ImportPacket *packet, const WireField *config) {
        ConfigSources sources = { 0 };
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, config);
        while (wire_read(&reader, &field) > 0) {
                if (field.type != WIRE_BYTES)
                        continue;
                if (field.number == 2)
                        add_source(&sources, &field);
                else if (field.number == 22)
                        trace_store_add_metadata(
                                import->store, "unique_session_name", import_text(import, &field));
        }
        name_sources(import, &sources);
        trace_store_add_metadata_number(
                import->store, "trace_config_bytes", (int64_t)config->n_bytes);
}

static void cpu_row(TraceImport *import, const WireField *message) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_CPU);
        uint32_t row = trace_table_add(table);
        WireReader reader;
        WireField field;

        if (row == TRACE_NONE)
                return;
        trace_table_set(table, CPU_NUMBER, row, row);
        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1 && field.type == WIRE_BYTES)
                        trace_table_set(table, CPU_PROCESSOR, row, import_text(import, &field));
                else if (field.number == 3 && field.type == WIRE_VARINT)
                        trace_table_set(table, CPU_CAPACITY, row, (uint32_t)field.value);
        }
}

void import_cpu_info(TraceImport *import, const ImportPacket *packet, const WireField *info) {
        WireReader reader;
        WireField field;

        if (trace_store_table(import->store, TRACE_TABLE_CPU)->n)
                return;
        wire_reader_init_field(&reader, info);
        while (wire_read(&reader, &field) > 0)
                if (field.number == 1 && field.type == WIRE_BYTES &&
                    trace_store_table(import->store, TRACE_TABLE_CPU)->n < TRACE_CPUS_MAX)
                        cpu_row(import, &field);
}

/*
 * Statistics: each packet has sums since the start, so only the last one counts
 */

typedef struct StatField {
        uint32_t number;
        const char *name;
} StatField;

static const StatField buffer_stats[] = {
        { 1, "traced_buf_bytes_written" },        { 2, "traced_buf_chunks_written" },
        { 3, "traced_buf_chunks_overwritten" },   { 4, "traced_buf_write_wrap_count" },
        { 5, "traced_buf_patches_succeeded" },    { 6, "traced_buf_patches_failed" },
        { 7, "traced_buf_readaheads_succeeded" }, { 8, "traced_buf_readaheads_failed" },
        { 9, "traced_buf_abi_violations" },       { 10, "traced_buf_chunks_rewritten" },
        { 12, "traced_buf_buffer_size" },         { 13, "traced_buf_bytes_overwritten" },
        { 14, "traced_buf_bytes_read" },          { 17, "traced_buf_chunks_read" },
        { 18, "traced_buf_chunks_discarded" },    { 19, "traced_buf_trace_writer_packet_loss" },
};

static const StatField service_stats[] = {
        { 2, "traced_producers_connected" },     { 3, "traced_producers_seen" },
        { 4, "traced_data_sources_registered" }, { 5, "traced_data_sources_seen" },
        { 6, "traced_tracing_sessions" },        { 7, "traced_total_buffers" },
        { 8, "traced_chunks_discarded" },        { 9, "traced_patches_discarded" },
        { 12, "traced_flushes_requested" },      { 13, "traced_flushes_succeeded" },
        { 14, "traced_flushes_failed" },
};

static void take_stats(TraceImport *import,
                       const WireField *message,
                       const StatField *fields,
                       size_t n_fields,
                       int32_t idx) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0)
                for (size_t i = 0; i < n_fields; i++)
                        if (fields[i].number == field.number && field.type == WIRE_VARINT)
                                trace_store_set_stat(
                                        import->store, fields[i].name, idx, field.value);
}

#define BUFFERS_MAX 128

void import_trace_stats(TraceImport *import, const ImportPacket *packet, const WireField *stats) {
        int32_t n_buffers = 0;
        WireReader reader;
        WireField field;

        take_stats(import, stats, service_stats, ARRAY_SIZE(service_stats), -1);
        wire_reader_init_field(&reader, stats);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1 && field.type == WIRE_BYTES && n_buffers < BUFFERS_MAX)
                        take_stats(import,
                                   &field,
                                   buffer_stats,
                                   ARRAY_SIZE(buffer_stats),
                                   n_buffers++);
                else if (field.number == 15 && field.type == WIRE_VARINT && field.value) {
                        trace_store_set_stat(import->store,
                                             "traced_final_flush_succeeded",
                                             -1,
                                             field.value == 1);
                        trace_store_set_stat(
                                import->store, "traced_final_flush_failed", -1, field.value == 2);
                }
        }
}

typedef struct KernelStat {
        uint32_t number;
        const char *begin, *end, *delta;
} KernelStat;

static const KernelStat kernel_stats[] = {
        { 2, "ftrace_cpu_entries_begin", "ftrace_cpu_entries_end", "ftrace_cpu_entries_delta" },
        { 3, "ftrace_cpu_overrun_begin", "ftrace_cpu_overrun_end", "ftrace_cpu_overrun_delta" },
        { 4,
          "ftrace_cpu_commit_overrun_begin",
          "ftrace_cpu_commit_overrun_end",
          "ftrace_cpu_commit_overrun_delta" },
        { 5, "ftrace_cpu_bytes_begin", "ftrace_cpu_bytes_end", "ftrace_cpu_bytes_delta" },
        { 8,
          "ftrace_cpu_dropped_events_begin",
          "ftrace_cpu_dropped_events_end",
          "ftrace_cpu_dropped_events_delta" },
        { 9,
          "ftrace_cpu_read_events_begin",
          "ftrace_cpu_read_events_end",
          "ftrace_cpu_read_events_delta" },
};

static int64_t stat_value(const TraceStore *store, const char *text, int32_t idx) {
        const TraceTable *table = &store->tables[TRACE_TABLE_STAT];
        uint32_t name = trace_pool_find(&store->pool, text, strlen(text));

        for (uint32_t row = 0; row < table->n; row++)
                if (trace_table_get(table, STAT_NAME, row) == name &&
                    trace_table_get(table, STAT_IDX, row) == (uint32_t)idx)
                        return trace_table_i64(table, STAT_VALUE, row);
        return 0;
}

static void take_kernel_stats(TraceImport *import, const WireField *message, bool is_end) {
        uint64_t numbers[10];

        trace_read_numbers(message, numbers, ARRAY_SIZE(numbers));
        if (numbers[1] >= TRACE_CPUS_MAX)
                return;
        for (size_t i = 0; i < ARRAY_SIZE(kernel_stats); i++) {
                const KernelStat *stat = &kernel_stats[i];
                int32_t cpu = (int32_t)numbers[1];
                uint64_t value = numbers[stat->number];

                trace_store_set_stat(import->store, is_end ? stat->end : stat->begin, cpu, value);
                if (is_end)
                        trace_store_set_stat(
                                import->store,
                                stat->delta,
                                cpu,
                                value - (uint64_t)stat_value(import->store, stat->begin, cpu));
        }
}

void import_ftrace_stats(TraceImport *import, const ImportPacket *packet, const WireField *stats) {
        uint64_t numbers[2];
        WireReader reader;
        WireField field;

        trace_read_numbers(stats, numbers, ARRAY_SIZE(numbers));
        if (numbers[1] != 1 && numbers[1] != 2)
                return;
        wire_reader_init_field(&reader, stats);
        while (wire_read(&reader, &field) > 0)
                if (field.number == 2 && field.type == WIRE_BYTES)
                        take_kernel_stats(import, &field, numbers[1] == 2);
}
