/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Export tables: rows of the trace's tables, as text or as a database */

#include "client/export-tables.h"

#include <string.h>

#include "client/export-rows.h"
#include "client/query-output.h"
#include "trace/trace-store.h"

/* clang-format off */
static const struct {
        const char *name;
        const char *last;  /* SQL for when a row ends; NULL: it has no time */
        bool is_on_demand; /* not in a database unless it is asked for */
} tables[] = {
        { "slice", "ts + max(dur, 0)", false },
        { "thread", NULL, false },
        { "process", NULL, false },
        { "track", NULL, false },
        { "thread_track", NULL, false },
        { "process_track", NULL, false },
        { "cpu_track", NULL, false },
        { "state", "ts + max(dur, 0)", false },
        { "state_track", NULL, false },
        { "thread_state_track", NULL, false },
        { "process_state_track", NULL, false },
        { "counter", "ts", false },
        { "counter_track", NULL, false },
        { "thread_counter_track", NULL, false },
        { "process_counter_track", NULL, false },
        { "cpu_counter_track", NULL, false },
        { "sched", "ts + max(dur, 0)", false },
        { "thread_state", "ts + max(dur, 0)", false },
        { "spurious_sched_wakeup", "ts", false },
        { "args", NULL, false },
        { "flow", NULL, false },
        { "logs", "ts", false },
        { "linux_systemd_journald_logs", "ts", false },
        { "perf_sample", "ts", false },
        { "stack_sample", "ts", false },
        { "stack_profile_callsite", NULL, false },
        { "stack_profile_frame", NULL, false },
        { "stack_profile_mapping", NULL, false },
        { "stack_profile_symbol", NULL, false },
        { "stats", NULL, false },
        { "metadata", NULL, false },
        { "clock_snapshot", "ts", false },
        { "cpu", NULL, false },
        { "trace_bounds", NULL, false },
        { "ftrace_event", "ts", true },
        { "thread_slice", "ts + max(dur, 0)", true },
        { "process_slice", "ts + max(dur, 0)", true },
        { "slice_self_dur", NULL, true },
};
/* clang-format on */

static size_t find_table(const char *name) {
        size_t i = 0;

        while (i < ARRAY_SIZE(tables) && !streq(tables[i].name, name))
                i++;
        return i;
}

bool export_has_table(const char *name) {
        return find_table(name) < ARRAY_SIZE(tables);
}

static char *select_table(const Export *export, const char *name) {
        size_t i = find_table(name);
        g_autofree char *range =
                tables[i].last ? export_range(export, "ts", tables[i].last) : g_strdup("");

        return g_strdup_printf("SELECT * FROM %s WHERE 1%s", name, range);
}

char *export_select(const Export *export) {
        return export->sql ? g_strdup(export->sql)
                           : select_table(export, export->tables ? export->tables[0] : "slice");
}

/*
 * As text: one table, or one statement
 */

static int export_rows(Export *export, QueryFormat format) {
        const QueryOutput output = {
                .format = format, .json = JSON_SHORT, .has_legend = true, .stream = export->stream
        };
        g_autofree char *select = export_select(export);
        const char *sql = select;
        sqlite3_stmt *statement = NULL;
        int r = query_prepare(export->query, &sql, &statement);

        if (r == 0)
                r = query_output_run(&output, export->query, statement);
        sqlite3_finalize(statement);
        return r == QUERY_E_DONE ? 0 : r;
}

int export_csv(Export *export) {
        return export_rows(export, QUERY_FORMAT_CSV);
}

int export_jsonl(Export *export) {
        return export_rows(export, QUERY_FORMAT_JSON_LINES);
}

/*
 * As a database
 */

typedef struct Database {
        sqlite3 *db;
        sqlite3_stmt *insert;
} Database;

static int database_exec(sqlite3 *db, const char *sql) {
        return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : EXPORT_E_DATABASE;
}

/* CREATE TABLE and INSERT for the columns of a row, with the trace's names. */
static int database_begin(Database *database, const char *name, sqlite3_stmt *row) {
        g_autoptr(GString) create = g_string_new(NULL), insert = g_string_new(NULL);
        int n = sqlite3_column_count(row), r;

        g_string_printf(create, "CREATE TABLE \"%s\" (", name);
        g_string_printf(insert, "INSERT INTO \"%s\" VALUES (", name);
        for (int i = 0; i < n; i++) {
                g_string_append_printf(
                        create, "%s\"%s\"", i > 0 ? ", " : "", sqlite3_column_name(row, i));
                g_string_append(insert, i > 0 ? ", ?" : "?");
        }
        g_string_append(create, ")");
        g_string_append(insert, ")");
        r = database_exec(database->db, create->str);
        if (r == 0 &&
            sqlite3_prepare_v2(database->db, insert->str, -1, &database->insert, NULL) != SQLITE_OK)
                r = EXPORT_E_DATABASE;
        return r;
}

static int database_add(Database *database, sqlite3_stmt *row) {
        for (int i = 0; i < sqlite3_column_count(row); i++)
                sqlite3_bind_value(database->insert, i + 1, sqlite3_column_value(row, i));
        if (sqlite3_step(database->insert) != SQLITE_DONE)
                return EXPORT_E_DATABASE;
        sqlite3_reset(database->insert);
        return 0;
}

static int export_table(Export *export, Database *database, const char *name) {
        g_autofree char *select = select_table(export, name);
        const char *sql = select;
        sqlite3_stmt *statement = NULL;
        int r = query_prepare(export->query, &sql, &statement);

        if (r == 0)
                r = database_begin(database, name, statement);
        while (r == 0) {
                r = query_step(export->query, statement);
                if (r == 0)
                        r = database_add(database, statement);
                export->n_rows += r == 0;
        }
        sqlite3_finalize(database->insert);
        database->insert = NULL;
        sqlite3_finalize(statement);
        return r == QUERY_E_DONE ? 0 : r;
}

/* Reads all parts at once; otherwise each table would read the file again. */
static int load_tables(Export *export) {
        unsigned parts = TRACE_PART_ALL;

        if (!export->tables)
                parts &= ~(unsigned)TRACE_PART_KERNEL;
        return query_load(export->query, parts);
}

static int export_all(Export *export, Database *database) {
        int r = load_tables(export);

        if (r == 0)
                r = database_exec(database->db,
                                  "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
        for (size_t i = 0; r == 0 && !export->tables && i < ARRAY_SIZE(tables); i++)
                if (!tables[i].is_on_demand)
                        r = export_table(export, database, tables[i].name);
        for (size_t i = 0; r == 0 && export->tables && export->tables[i]; i++)
                r = export_table(export, database, export->tables[i]);
        return r ? r : database_exec(database->db, "COMMIT");
}

int export_sqlite(Export *export) {
        Database database = { 0 };
        int r = sqlite3_open_v2(export->path, &database.db, SQLITE_OPEN_READWRITE, NULL) ==
                                SQLITE_OK
                        ? 0
                        : EXPORT_E_DATABASE;

        if (r == 0)
                r = export_all(export, &database);
        if (sqlite3_close(database.db) != SQLITE_OK && r == 0)
                r = EXPORT_E_DATABASE;
        return r;
}
