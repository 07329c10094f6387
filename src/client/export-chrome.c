/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Export chrome: the JSON that chrome://tracing, Perfetto and Spall read */

#include "client/export-chrome.h"

#include "client/export-rows.h"
#include "client/json-writer.h"
#include "trace/trace-store.h"

typedef struct Chrome {
        bool has_events;
} Chrome;

static void event_begin(JsonWriter *writer, const char *phase, int64_t pid, int64_t tid) {
        json_writer_init(writer, JSON_SHORT);
        json_begin_object(writer, NULL);
        json_string(writer, "ph", phase);
        json_int(writer, "pid", pid);
        json_int(writer, "tid", tid);
}

/* Writes each event on a line of its own. */
static void event_end(Export *export, Chrome *chrome, JsonWriter *writer) {
        json_end_object(writer);
        fprintf(export->stream, "%s%s", chrome->has_events ? ",\n" : "\n", writer->text->str);
        json_writer_deinit(writer);
        chrome->has_events = true;
        export->n_rows++;
}

static void put_text(JsonWriter *writer, const char *key, sqlite3_stmt *row, int column) {
        g_autofree char *text = export_text(row, column);

        json_string(writer, key, text ? text : "");
}

/* key, name, pid, tid */
static int take_name(Export *export, sqlite3_stmt *row, void *user_data) {
        JsonWriter writer;

        event_begin(&writer, "M", sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 3));
        put_text(&writer, "name", row, 0);
        json_begin_object(&writer, "args");
        put_text(&writer, "name", row, 1);
        json_end_object(&writer);
        event_end(export, user_data, &writer);
        return 0;
}

static int take_arg(Export *export, sqlite3_stmt *row, void *user_data) {
        g_autofree char *key = export_text(row, 0);

        if (key)
                put_text(user_data, key, row, 1);
        return 0;
}

static void put_args(Export *export, JsonWriter *writer, sqlite3_stmt *row, int column) {
        g_autofree char *sql =
                g_strdup_printf("SELECT key, display_value FROM args WHERE arg_set_id = %lld",
                                (long long)sqlite3_column_int64(row, column));

        json_begin_object(writer, "args");
        export_each(export, sql, take_arg, writer);
        json_end_object(writer);
}

/* ts, dur, name, category, pid, tid, arg_set_id */
static int take_slice(Export *export, sqlite3_stmt *row, void *user_data) {
        int64_t dur = sqlite3_column_int64(row, 1);
        JsonWriter writer;

        event_begin(&writer,
                    dur < 0    ? "B"
                    : dur == 0 ? "i"
                               : "X",
                    sqlite3_column_int64(row, 4),
                    sqlite3_column_int64(row, 5));
        put_text(&writer, "name", row, 2);
        put_text(&writer, "cat", row, 3);
        json_double(&writer, "ts", export_us(export, row, 0));
        if (dur > 0)
                json_double(&writer, "dur", (double)dur / 1000);
        if (dur == 0)
                json_string(&writer, "s", "t");
        if (sqlite3_column_type(row, 6) != SQLITE_NULL)
                put_args(export, &writer, row, 6);
        event_end(export, user_data, &writer);
        return 0;
}

/* ts, name, pid, value */
static int take_counter(Export *export, sqlite3_stmt *row, void *user_data) {
        JsonWriter writer;

        event_begin(&writer, "C", sqlite3_column_int64(row, 2), 0);
        put_text(&writer, "name", row, 1);
        json_double(&writer, "ts", export_us(export, row, 0));
        json_begin_object(&writer, "args");
        json_double(&writer, "value", sqlite3_column_double(row, 3));
        json_end_object(&writer);
        event_end(export, user_data, &writer);
        return 0;
}

/* id, then ts, pid and tid of both ends */
static int take_flow(Export *export, sqlite3_stmt *row, void *user_data) {
        for (int end = 0; end < 2; end++) {
                JsonWriter writer;

                event_begin(&writer,
                            end ? "f" : "s",
                            sqlite3_column_int64(row, 2 + 3 * end),
                            sqlite3_column_int64(row, 3 + 3 * end));
                json_string(&writer, "name", "flow");
                json_string(&writer, "cat", "flow");
                json_int(&writer, "id", sqlite3_column_int64(row, 0));
                json_double(&writer, "ts", export_us(export, row, 1 + 3 * end));
                if (end)
                        json_string(&writer, "bp", "e");
                event_end(export, user_data, &writer);
        }
        return 0;
}

static int take_left_out(Export *export, sqlite3_stmt *row, void *user_data) {
        export->n_left_out = (uint64_t)sqlite3_column_int64(row, 0);
        return 0;
}

/* Slices of threads nest, as the format requires; it has no place for slices on other tracks. */
static int export_events(Export *export, Chrome *chrome) {
        g_autofree char *range = export_range(export, "s.ts", "s.ts + max(s.dur, 0)"),
                        *counted = export_range(export, "c.ts", "c.ts");
        g_autofree char *sql =
                g_strconcat("SELECT s.ts, s.dur, s.name, s.category, "
                            "coalesce(p.pid, t.tid), t.tid, s.arg_set_id FROM slice s "
                            "JOIN any_track k ON k.id = s.track_id JOIN thread t ON "
                            "t.id = k.utid LEFT JOIN process p ON p.id = t.upid "
                            "WHERE 1",
                            range,
                            NULL);
        g_autofree char *counters = g_strconcat(
                "SELECT c.ts, k.name || CASE WHEN k.cpu IS NULL THEN '' ELSE ' ' || k.cpu "
                "END, coalesce(p.pid, 0), c.value FROM counter c JOIN any_track k ON k.id "
                "= c.track_id LEFT JOIN thread t ON t.id = k.utid LEFT JOIN process p ON "
                "p.id = coalesce(k.upid, t.upid) WHERE 1",
                counted,
                NULL);
        g_autofree char *others =
                g_strconcat("SELECT count(*) FROM slice s JOIN any_track k ON k.id = s.track_id "
                            "WHERE k.utid IS NULL",
                            range,
                            NULL);
        int r = export_each(export, sql, take_slice, chrome);

        if (r == 0)
                r = export_each(export, counters, take_counter, chrome);
        return r ? r : export_each(export, others, take_left_out, NULL);
}

static int export_flows(Export *export, Chrome *chrome) {
        g_autofree char *range = export_range(export, "a.ts", "b.ts");
        g_autofree char *sql = g_strconcat(
                "SELECT f.id, a.ts, coalesce(a.pid, a.tid), a.tid, b.ts, coalesce(b.pid, b.tid), "
                "b.tid "
                "FROM flow f JOIN thread_slice a ON a.id = f.slice_out JOIN thread_slice b ON "
                "b.id = f.slice_in WHERE 1",
                range,
                NULL);

        return export_each(export, sql, take_flow, chrome);
}

int export_chrome(Export *export) {
        Chrome chrome = { 0 };
        int r = query_load(export->query, TRACE_PART_THREADS | TRACE_PART_EVENTS | TRACE_PART_ARGS);

        if (r)
                return r;
        fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", export->stream);
        r = export_each(
                export,
                "SELECT 'process_name', name, pid, 0 FROM process WHERE name IS NOT NULL "
                "UNION ALL SELECT 'thread_name', t.name, coalesce(p.pid, t.tid), t.tid FROM "
                "thread t LEFT JOIN process p ON p.id = t.upid WHERE t.name IS NOT NULL",
                take_name,
                &chrome);
        if (r == 0)
                r = export_events(export, &chrome);
        if (r == 0)
                r = export_flows(export, &chrome);
        fputs("\n]}\n", export->stream);
        return r;
}
