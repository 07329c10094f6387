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
#include "trace/trace-service.h"
#include "trace/trace-stats.h"

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

#define SYSTEM_ROWS_MAX 64 /* for files that repeat this again and again */

static const char *const system_names[_TRACE_SYSTEM_FIELDS] = {
        [TRACE_SYSTEM_NAME] = "system_name",
        [TRACE_SYSTEM_VERSION] = "system_version",
        [TRACE_SYSTEM_RELEASE] = "system_release",
        [TRACE_SYSTEM_MACHINE] = "system_machine",
        [TRACE_SYSTEM_SERVICE_VERSION] = "tracing_service_version",
        [TRACE_SYSTEM_PAGE_BYTES] = "system_page_size",
        [TRACE_SYSTEM_CPUS] = "system_cpus",
        [TRACE_SYSTEM_RAM_BYTES] = "system_ram_bytes",
        [TRACE_SYSTEM_BOOT_ID] = "system_boot_id",
        [TRACE_SYSTEM_OS_ID] = "system_os_id",
        [TRACE_SYSTEM_OS_VERSION] = "system_os_version",
        [TRACE_SYSTEM_CPU_MODEL] = "system_cpu_model",
};

static void add_system_field(TraceImport *import, TraceSystemField which, const WireField *field) {
        uint32_t text;

        if (field->type != WIRE_BYTES) {
                trace_store_add_metadata_number(
                        import->store, system_names[which], (int64_t)field->value);
                if (which == TRACE_SYSTEM_PAGE_BYTES)
                        import->page_bytes = field->value;
                return;
        }
        text = import_text(import, field);
        trace_store_add_metadata(import->store, system_names[which], text);
        if (which == TRACE_SYSTEM_RELEASE)
                trace_sched_set_kernel(&import->sched, trace_pool_text(&import->store->pool, text));
}

void import_system_info(TraceImport *import, const ImportPacket *packet, const WireField *payload) {
        TraceSystemInfo info;

        if (trace_store_table(import->store, TRACE_TABLE_METADATA)->n > SYSTEM_ROWS_MAX)
                return;
        trace_system_info_read(&info, payload);
        for (size_t i = 0; i < _TRACE_SYSTEM_FIELDS; i++)
                if (info.fields[i].number)
                        add_system_field(import, (TraceSystemField)i, &info.fields[i]);
}

void import_trace_uuid(TraceImport *import, const ImportPacket *packet, const WireField *uuid) {
        uint64_t n[2];

        trace_uuid_read(n, uuid);
        trace_store_add_metadata(
                import->store,
                "trace_uuid",
                trace_pool_add_format(&import->store->pool,
                                      "%08x-%04x-%04x-%04x-%012llx",
                                      (unsigned)(n[0] >> 32),
                                      (unsigned)(n[0] >> 16) & 0xffff,
                                      (unsigned)n[0] & 0xffff,
                                      (unsigned)(n[1] >> 48),
                                      (unsigned long long)(n[1] & 0xffffffffffff)));
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

static void add_source(ConfigSources *sources, const TraceRecordedSource *source) {
        sources->sum = crc32(sources->sum, source->bytes.data, (uInt)source->bytes.n_bytes);
        if (sources->n < SOURCES_MAX && source->name.type == WIRE_BYTES)
                sources->names[sources->n++] = source->name;
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
        TraceRecordedSource source;
        TraceRecordedConfig read;
        WireReader reader;

        trace_recorded_config_read(&read, config);
        if (read.session_name.type == WIRE_BYTES)
                trace_store_add_metadata(import->store,
                                         "unique_session_name",
                                         import_text(import, &read.session_name));
        wire_reader_init_field(&reader, config);
        while (trace_recorded_config_next_source(&reader, &source))
                add_source(&sources, &source);
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
 * Statistics
 */

static const char *const buffer_stats[_TRACE_BUFFER_STATS] = {
        [TRACE_BUFFER_BYTES_WRITTEN] = "traced_buf_bytes_written",
        [TRACE_BUFFER_CHUNKS_WRITTEN] = "traced_buf_chunks_written",
        [TRACE_BUFFER_CHUNKS_OVERWRITTEN] = "traced_buf_chunks_overwritten",
        [TRACE_BUFFER_WRITE_WRAPS] = "traced_buf_write_wrap_count",
        [TRACE_BUFFER_PATCHES_SUCCEEDED] = "traced_buf_patches_succeeded",
        [TRACE_BUFFER_PATCHES_FAILED] = "traced_buf_patches_failed",
        [TRACE_BUFFER_READAHEADS_SUCCEEDED] = "traced_buf_readaheads_succeeded",
        [TRACE_BUFFER_READAHEADS_FAILED] = "traced_buf_readaheads_failed",
        [TRACE_BUFFER_ABI_VIOLATIONS] = "traced_buf_abi_violations",
        [TRACE_BUFFER_CHUNKS_REWRITTEN] = "traced_buf_chunks_rewritten",
        [TRACE_BUFFER_SIZE] = "traced_buf_buffer_size",
        [TRACE_BUFFER_BYTES_OVERWRITTEN] = "traced_buf_bytes_overwritten",
        [TRACE_BUFFER_BYTES_READ] = "traced_buf_bytes_read",
        [TRACE_BUFFER_CHUNKS_READ] = "traced_buf_chunks_read",
        [TRACE_BUFFER_CHUNKS_DISCARDED] = "traced_buf_chunks_discarded",
        [TRACE_BUFFER_WRITER_LOSSES] = "traced_buf_trace_writer_packet_loss",
};

static const char *const service_stats[_TRACE_STATS] = {
        [TRACE_STAT_PRODUCERS_CONNECTED] = "traced_producers_connected",
        [TRACE_STAT_PRODUCERS_SEEN] = "traced_producers_seen",
        [TRACE_STAT_SOURCES_REGISTERED] = "traced_data_sources_registered",
        [TRACE_STAT_SOURCES_SEEN] = "traced_data_sources_seen",
        [TRACE_STAT_SESSIONS] = "traced_tracing_sessions",
        [TRACE_STAT_BUFFERS] = "traced_total_buffers",
        [TRACE_STAT_CHUNKS_DISCARDED] = "traced_chunks_discarded",
        [TRACE_STAT_PATCHES_DISCARDED] = "traced_patches_discarded",
        [TRACE_STAT_FLUSHES_REQUESTED] = "traced_flushes_requested",
        [TRACE_STAT_FLUSHES_SUCCEEDED] = "traced_flushes_succeeded",
        [TRACE_STAT_FLUSHES_FAILED] = "traced_flushes_failed",
};

static void set_stats(TraceImport *import,
                      const char *const *names,
                      size_t n_names,
                      int32_t idx,
                      const uint64_t *numbers,
                      uint64_t found) {
        for (size_t i = 0; i < n_names; i++)
                if (names[i] && found & UINT64_C(1) << i)
                        trace_store_set_stat(import->store, names[i], idx, numbers[i]);
}

#define BUFFERS_MAX 128

static void set_buffer_stats(TraceImport *import, const WireField *payload) {
        uint64_t numbers[_TRACE_BUFFER_STATS], found;
        WireReader reader;
        WireField buffer;

        wire_reader_init_field(&reader, payload);
        for (int32_t i = 0; i < BUFFERS_MAX && trace_stats_next_buffer(&reader, &buffer); i++) {
                found = trace_buffer_stats_read(numbers, &buffer);
                set_stats(import, buffer_stats, _TRACE_BUFFER_STATS, i, numbers, found);
        }
}

void import_trace_stats(TraceImport *import, const ImportPacket *packet, const WireField *payload) {
        uint64_t numbers[_TRACE_STATS];
        const uint64_t found = trace_stats_read(numbers, payload);
        const uint64_t outcome = numbers[TRACE_STAT_FINAL_FLUSH];

        set_stats(import, service_stats, _TRACE_STATS, -1, numbers, found);
        set_buffer_stats(import, payload);
        if (!outcome)
                return;
        trace_store_set_stat(import->store,
                             "traced_final_flush_succeeded",
                             -1,
                             outcome == TRACE_FINAL_FLUSH_SUCCEEDED);
        trace_store_set_stat(import->store,
                             "traced_final_flush_failed",
                             -1,
                             outcome == TRACE_FINAL_FLUSH_FAILED);
}

typedef struct KernelStat {
        uint32_t number;
        const char *begin, *end, *delta;
} KernelStat;

static const KernelStat kernel_stats[] = {
        { TRACE_KERNEL_STAT_ENTRIES,
          "ftrace_cpu_entries_begin",
          "ftrace_cpu_entries_end",
          "ftrace_cpu_entries_delta" },
        { TRACE_KERNEL_STAT_OVERRUN,
          "ftrace_cpu_overrun_begin",
          "ftrace_cpu_overrun_end",
          "ftrace_cpu_overrun_delta" },
        { TRACE_KERNEL_STAT_COMMIT_OVERRUN,
          "ftrace_cpu_commit_overrun_begin",
          "ftrace_cpu_commit_overrun_end",
          "ftrace_cpu_commit_overrun_delta" },
        { TRACE_KERNEL_STAT_BYTES,
          "ftrace_cpu_bytes_begin",
          "ftrace_cpu_bytes_end",
          "ftrace_cpu_bytes_delta" },
        { TRACE_KERNEL_STAT_DROPPED,
          "ftrace_cpu_dropped_events_begin",
          "ftrace_cpu_dropped_events_end",
          "ftrace_cpu_dropped_events_delta" },
        { TRACE_KERNEL_STAT_READ,
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

static void set_kernel_stats(TraceImport *import, const uint64_t *numbers, bool is_end) {
        if (numbers[TRACE_KERNEL_STAT_CPU] >= TRACE_CPUS_MAX)
                return;
        for (size_t i = 0; i < ARRAY_SIZE(kernel_stats); i++) {
                const KernelStat *stat = &kernel_stats[i];
                int32_t cpu = (int32_t)numbers[TRACE_KERNEL_STAT_CPU];
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

void import_ftrace_stats(TraceImport *import,
                         const ImportPacket *packet,
                         const WireField *payload) {
        const TraceStatsPhase phase = trace_kernel_stats_phase(payload);
        uint64_t numbers[_TRACE_KERNEL_STATS];
        WireReader reader;

        if (phase == TRACE_STATS_UNKNOWN)
                return;
        wire_reader_init_field(&reader, payload);
        while (trace_kernel_stats_next_cpu(&reader, numbers))
                set_kernel_stats(import, numbers, phase == TRACE_STATS_END);
}
