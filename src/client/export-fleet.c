/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Export fleet: a recording as files in a tree that the recordings of all machines share (docs/FLEET.md) */

#include "client/export-fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-id128.h>
#include <time.h>
#include <unistd.h>

#include "build-config.h"
#include "client/export-parquet.h"
#include "client/export-rows.h"
#include "client/export-slices.h"
#include "client/fleet-tally.h"
#include "client/parquet-writer.h"

/* Identifies this use of the machine's id: the id that is written is derived from both, and does not reveal the
 * machine's. */
#define FLEET_APPLICATION \
        SD_ID128_MAKE(b4, e3, 6c, 1f, 7a, 2d, 4d, 0e, 9c, 55, 0f, a1, 83, 6e, 20, d7)

#define UUID_MAX 36

typedef struct Fleet {
        Export *export;
        const TraceStore *store;
        char uuid[UUID_MAX + 1];
        char day[16];
        char machine[FLEET_MACHINE_MAX + 1];
        int64_t offset; /* by the wall clock */
} Fleet;

typedef struct FleetColumn {
        const char *name;
        ParquetType type;
        const char *sql; /* NULL: the table is not made by SQL */
} FleetColumn;

typedef struct FleetTable {
        const char *name;
        const FleetColumn *columns;
        size_t n_columns;
        const char *from; /* the statement from FROM on, or NULL */
        int (*put)(Fleet *fleet, ParquetWriter *writer);
} FleetTable;

/*
 * The columns that statements return. Their types are written down, as they have to be the same in all files, whatever
 * the rows are.
 */

/* clang-format off */
#define METADATA(column, name) "(SELECT " column " FROM metadata WHERE name = '" name "' LIMIT 1)"
#define PROCESS_COLUMNS                                                                                   \
        { "pid", PARQUET_INT64, "p.pid" }, { "process", PARQUET_TEXT, "p.name" },                         \
        { "app_id", PARQUET_TEXT, "p.app_id" }, { "unit", PARQUET_TEXT, "p.unit" },                       \
        { "user_unit", PARQUET_TEXT, "p.user_unit" }, { "container", PARQUET_TEXT, "p.container" }

static const FleetColumn trace_columns[] = {
        { "start_realtime_ns", PARQUET_INT64, "to_realtime(trace_start())" },
        { "duration_ns", PARQUET_INT64, "trace_dur()" },
        { "session", PARQUET_TEXT, METADATA("str_value", "unique_session_name") },
        { "kernel", PARQUET_TEXT, METADATA("str_value", "system_release") },
        { "architecture", PARQUET_TEXT, METADATA("str_value", "system_machine") },
        { "n_cpus", PARQUET_INT64, METADATA("int_value", "system_cpus") },
        { "service_version", PARQUET_TEXT, METADATA("str_value", "tracing_service_version") },
        { "export_version", PARQUET_TEXT, "'" DESKTRACE_VERSION "'" },
        { "n_lost", PARQUET_INT64, "(SELECT coalesce(sum(value), 0) FROM stats WHERE severity <> 'info')" },
        { "boot_id", PARQUET_TEXT, METADATA("str_value", "system_boot_id") },
        { "os_id", PARQUET_TEXT, METADATA("str_value", "system_os_id") },
        { "os_version", PARQUET_TEXT, METADATA("str_value", "system_os_version") },
        { "cpu_model", PARQUET_TEXT, METADATA("str_value", "system_cpu_model") },
        { "ram_bytes", PARQUET_INT64, METADATA("int_value", "system_ram_bytes") },
        { "page_size", PARQUET_INT64, METADATA("int_value", "system_page_size") },
};
static const FleetColumn slice_columns[] = {
        { "id", PARQUET_INT64, "s.id" }, { "realtime_ns", PARQUET_INT64, "to_realtime(s.ts)" },
        { "dur", PARQUET_INT64, "nullif(s.dur, -1)" }, { "name", PARQUET_TEXT, "s.name" },
        { "category", PARQUET_TEXT, "s.category" }, { "depth", PARQUET_INT64, "s.depth" },
        { "parent_id", PARQUET_INT64, "s.parent_id" },
        { "self_ns", PARQUET_INT64, "CASE WHEN s.dur >= 0 THEN d.self_dur END" },
        { "track", PARQUET_TEXT, "k.name" }, { "tid", PARQUET_INT64, "t.tid" }, { "thread", PARQUET_TEXT, "t.name" },
        PROCESS_COLUMNS,
        { "args", PARQUET_TEXT, "CASE WHEN s.arg_set_id IS NOT NULL THEN (SELECT json_group_object(key, "
          "coalesce(int_value, string_value, real_value)) FROM args a WHERE a.arg_set_id = s.arg_set_id) END" },
};
static const FleetColumn counter_columns[] = {
        { "realtime_ns", PARQUET_INT64, "to_realtime(c.ts)" }, { "name", PARQUET_TEXT, "k.name" },
        { "unit_of_value", PARQUET_TEXT, "k.unit" }, { "value", PARQUET_DOUBLE, "c.value" },
        { "cpu", PARQUET_INT64, "k.cpu" }, { "tid", PARQUET_INT64, "t.tid" }, PROCESS_COLUMNS,
};
static const FleetColumn log_columns[] = {
        { "realtime_ns", PARQUET_INT64, "to_realtime(l.ts)" }, { "prio", PARQUET_INT64, "l.prio" },
        { "tag", PARQUET_TEXT, "l.tag" }, { "msg", PARQUET_TEXT, "l.msg" },
        { "unit", PARQUET_TEXT, "l.systemd_unit" }, { "transport", PARQUET_TEXT, "l.transport" },
};
static const FleetColumn loss_columns[] = {
        { "name", PARQUET_TEXT, "name" }, { "idx", PARQUET_INT64, "idx" }, { "severity", PARQUET_TEXT, "severity" },
        { "value", PARQUET_INT64, "value" },
};
#undef PROCESS_COLUMNS
#define PROCESS_COLUMNS                                                                                   \
        { "pid", PARQUET_INT64, NULL }, { "process", PARQUET_TEXT, NULL }, { "app_id", PARQUET_TEXT, NULL }, \
        { "unit", PARQUET_TEXT, NULL }, { "user_unit", PARQUET_TEXT, NULL }, { "container", PARQUET_TEXT, NULL }
static const FleetColumn time_columns[] = {
        { "realtime_s", PARQUET_INT64, NULL }, PROCESS_COLUMNS, { "running_ns", PARQUET_INT64, NULL },
        { "runnable_ns", PARQUET_INT64, NULL }, { "blocked_io_ns", PARQUET_INT64, NULL },
        { "n_switches", PARQUET_INT64, NULL }, { "n_wakeups", PARQUET_INT64, NULL },
};
static const FleetColumn delay_columns[] = {
        PROCESS_COLUMNS, { "tid", PARQUET_INT64, NULL }, { "thread", PARQUET_TEXT, NULL },
        { "log2_ns", PARQUET_INT64, NULL }, { "n", PARQUET_INT64, NULL }, { "total_ns", PARQUET_INT64, NULL },
};
/* clang-format on */

static int put_times(Fleet *fleet, ParquetWriter *writer);
static int put_delays(Fleet *fleet, ParquetWriter *writer);

#define COLUMNS(name) (name), ARRAY_SIZE(name)
#define FROM_TRACKS                                                                          \
        "JOIN any_track k ON k.id = track_id LEFT JOIN thread t ON t.id = k.utid LEFT JOIN " \
        "process p ON p.id = coalesce(k.upid, t.upid)"

static const FleetTable tables[] = {
        { "trace", COLUMNS(trace_columns), "(SELECT 1)", NULL },
        { "slice",
          COLUMNS(slice_columns),
          "slice s LEFT JOIN slice_self_dur d ON d.id = s.id " FROM_TRACKS,
          NULL },
        { "counter", COLUMNS(counter_columns), "counter c " FROM_TRACKS, NULL },
        { "cpu_time", COLUMNS(time_columns), NULL, put_times },
        { "wakeup_latency", COLUMNS(delay_columns), NULL, put_delays },
        { "log", COLUMNS(log_columns), "linux_systemd_journald_logs l", NULL },
        { "loss", COLUMNS(loss_columns), "stats WHERE severity <> 'info' AND value > 0", NULL },
};

static char *select_of(const Fleet *fleet, const FleetTable *table) {
        g_autoptr(GString) sql = g_string_new(NULL);

        g_string_printf(sql, "SELECT '%s'", fleet->uuid);
        for (size_t i = 0; i < table->n_columns; i++)
                g_string_append_printf(sql, ", %s", table->columns[i].sql);
        g_string_append_printf(sql, " FROM %s", table->from);
        return g_string_free(g_steal_pointer(&sql), FALSE);
}

/*
 * Sums
 */

static void put_text(ParquetColumn *column, const char *text) {
        if (text && *text)
                parquet_column_add_text(column, text);
        else
                parquet_column_add_nothing(column);
}

/* Writes the columns of a process, from this column on. Returns the next column. */
static size_t put_process(Fleet *fleet, ParquetWriter *writer, size_t column, uint32_t upid) {
        static const unsigned names[] = {
                PROCESS_NAME, PROCESS_APP, PROCESS_UNIT, PROCESS_USER_UNIT, PROCESS_CONTAINER
        };
        const TraceTable *processes = &fleet->store->tables[TRACE_TABLE_PROCESS];

        if (upid == TRACE_NONE)
                parquet_column_add_nothing(parquet_writer_column(writer, column));
        else
                parquet_column_add_int64(parquet_writer_column(writer, column),
                                         (int32_t)trace_table_get(processes, PROCESS_PID, upid));
        column++;
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                put_text(parquet_writer_column(writer, column++),
                         upid == TRACE_NONE
                                 ? NULL
                                 : export_name(fleet->store, TRACE_TABLE_PROCESS, names[i], upid));
        return column;
}

static void put_numbers(ParquetWriter *writer, size_t column, const int64_t *numbers, size_t n) {
        for (size_t i = 0; i < n; i++)
                parquet_column_add_int64(parquet_writer_column(writer, column + i), numbers[i]);
}

static int put_times(Fleet *fleet, ParquetWriter *writer) {
        uint64_t n_left_out;
        g_autoptr(GArray) times = fleet_times(fleet->store, fleet->offset, &n_left_out);
        int r = 0;

        if (!times)
                return -ENOMEM;
        fleet->export->n_left_out += n_left_out;
        for (guint i = 0; r == 0 && i < times->len; i++) {
                const FleetTime *time = &g_array_index(times, FleetTime, i);
                const int64_t numbers[] = { time->running_ns,
                                            time->runnable_ns,
                                            time->io_ns,
                                            (int64_t)time->n_switches,
                                            (int64_t)time->n_wakeups };
                size_t column;

                put_text(parquet_writer_column(writer, 0), fleet->uuid);
                put_numbers(writer, 1, &time->second, 1);
                column = put_process(fleet, writer, 2, time->upid);
                put_numbers(writer, column, numbers, ARRAY_SIZE(numbers));
                r = parquet_writer_end_row(writer);
        }
        return r;
}

static int put_delays(Fleet *fleet, ParquetWriter *writer) {
        const TraceTable *threads = &fleet->store->tables[TRACE_TABLE_THREAD];
        g_autoptr(GArray) delays = fleet_delays(fleet->store);
        int r = 0;

        if (!delays)
                return -ENOMEM;
        for (guint i = 0; r == 0 && i < delays->len; i++) {
                const FleetDelay *delay = &g_array_index(delays, FleetDelay, i);
                const int64_t tid = (int32_t)trace_table_get(threads, THREAD_TID, delay->utid),
                              numbers[] = { delay->log2_ns, (int64_t)delay->n, delay->total_ns };
                size_t column;

                put_text(parquet_writer_column(writer, 0), fleet->uuid);
                column = put_process(
                        fleet, writer, 1, trace_table_get(threads, THREAD_UPID, delay->utid));
                put_numbers(writer, column++, &tid, 1);
                put_text(parquet_writer_column(writer, column++),
                         export_name(fleet->store, TRACE_TABLE_THREAD, THREAD_NAME, delay->utid));
                put_numbers(writer, column, numbers, ARRAY_SIZE(numbers));
                r = parquet_writer_end_row(writer);
        }
        return r;
}

/*
 * Files
 */

static int write_table(Fleet *fleet, const FleetTable *table, FILE *stream) {
        g_autoptr(ParquetWriter) writer = parquet_writer_new(stream);
        g_autofree char *sql = table->from ? select_of(fleet, table) : NULL;
        int r;

        parquet_writer_add_column(writer, "trace_uuid", PARQUET_TEXT);
        for (size_t i = 0; i < table->n_columns; i++)
                parquet_writer_add_column(writer, table->columns[i].name, table->columns[i].type);
        r = sql ? export_each(fleet->export, sql, export_parquet_take, writer)
                : table->put(fleet, writer);
        return r ? r : parquet_writer_finish(writer);
}

static char *table_directory(const Fleet *fleet, const FleetTable *table) {
        return g_strdup_printf("%s/%s/day=%s/machine=%s",
                               fleet->export->path,
                               table->name,
                               fleet->day,
                               fleet->machine);
}

/* The file has another name until it is complete, as engines may read the tree at any time. */
static int write_file(Fleet *fleet, const FleetTable *table) {
        g_autofree char *directory = table_directory(fleet, table),
                        *path = g_strdup_printf("%s/%s.parquet", directory, fleet->uuid),
                        *part = g_strdup_printf("%s/.%s.XXXXXX", directory, fleet->uuid);
        FILE *stream;
        int fd, r;

        if (g_mkdir_with_parents(directory, 0755) < 0 || (fd = mkostemp(part, O_CLOEXEC)) < 0)
                return EXPORT_E_WRITE;
        stream = fdopen(fd, "w");
        r = stream ? write_table(fleet, table, stream) : EXPORT_E_WRITE;
        if (r == 0 && (fflush(stream) != 0 || fchmod(fd, 0644) < 0 || rename(part, path) < 0))
                r = EXPORT_E_WRITE;
        if (r) {
                int reason = errno;

                unlink(part);
                errno = reason;
        }
        if (stream)
                fclose(stream);
        else
                close(fd);
        return r;
}

static bool is_wanted(const Export *export, const FleetTable *table) {
        return !export->tables || g_strv_contains((const char *const *)export->tables, table->name);
}

static int check_file(Fleet *fleet, const FleetTable *table) {
        g_autofree char *directory = table_directory(fleet, table),
                        *path = g_strdup_printf("%s/%s.parquet", directory, fleet->uuid);

        return fleet->export->replace || access(path, F_OK) < 0 ? 0 : EXPORT_E_EXISTS;
}

/* If one of the files exists, none is written. */
static int for_tables(Fleet *fleet, int (*call)(Fleet *fleet, const FleetTable *table)) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(tables); i++)
                if (is_wanted(fleet->export, &tables[i]))
                        r = call(fleet, &tables[i]);
        return r;
}

/*
 * The recording
 */

bool export_fleet_has_table(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
                if (streq(tables[i].name, name))
                        return true;
        return false;
}

bool export_fleet_is_machine(const char *name) {
        size_t n = strlen(name);

        return n > 0 && n <= FLEET_MACHINE_MAX && name[0] != '.' &&
               strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_.") == n;
}

static int find_machine(Fleet *fleet) {
        sd_id128_t machine;

        if (fleet->export->machine) {
                g_strlcpy(fleet->machine, fleet->export->machine, sizeof(fleet->machine));
                return 0;
        }
        if (sd_id128_get_machine_app_specific(FLEET_APPLICATION, &machine) < 0)
                return EXPORT_E_NO_MACHINE;
        sd_id128_to_string(machine, fleet->machine);
        return 0;
}

/* The date at the trace's beginning, in UTC. */
static int find_day(Fleet *fleet) {
        struct tm parts;
        int64_t ns;
        time_t s;

        if (!export_realtime_offset(fleet->store, &fleet->offset) ||
            __builtin_add_overflow(fleet->export->zero, fleet->offset, &ns) || ns < 0)
                return EXPORT_E_NO_CLOCK;
        s = (time_t)(ns / 1000000000);
        if (!gmtime_r(&s, &parts) ||
            strftime(fleet->day, sizeof(fleet->day), "%Y-%m-%d", &parts) == 0)
                return EXPORT_E_NO_CLOCK;
        return 0;
}

/* The name becomes part of file names and of SQL text. */
static int find_uuid(Fleet *fleet) {
        const char *uuid = export_metadata(fleet->store, "trace_uuid");

        if (!uuid || !*uuid || strlen(uuid) > UUID_MAX ||
            strspn(uuid, "0123456789abcdef-") != strlen(uuid))
                return EXPORT_E_NO_UUID;
        g_strlcpy(fleet->uuid, uuid, sizeof(fleet->uuid));
        return 0;
}

/* Reads all parts at once: if a later statement needed more, the trace would be read again, and its threads would get
 * other numbers. */
int export_fleet(Export *export) {
        int r = query_load(export->query, TRACE_PART_ALL & ~(unsigned)TRACE_PART_KERNEL);
        Fleet fleet = { .export = export, .store = query_store(export->query) };

        if (r == 0)
                r = find_uuid(&fleet);
        if (r == 0)
                r = find_day(&fleet);
        if (r == 0)
                r = find_machine(&fleet);
        if (r == 0)
                r = for_tables(&fleet, check_file);
        return r ? r : for_tables(&fleet, write_file);
}
