/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The virtual tables: one module over any table of the store
 *
 * A cursor goes over a range of rows, or over a list of rows from an index. The planner gets true numbers: a wrong
 * number of rows costs a join minutes. Only exact conditions are taken off SQLite's hands, so values of another type
 * are compared by its rules.
 */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "query/query-private.h"
#include "query/query-tables.h"
#include "query/query-vtab-base.h"

typedef struct Vtab {
        sqlite3_vtab base;
        Query *query;
        const QueryTable *def;
} Vtab;

typedef struct Cursor {
        sqlite3_vtab_cursor base;
        const uint32_t *rows; /* NULL: the range */
        bool is_backwards;    /* of the range, which is all rows then */
        size_t at, end;
} Cursor;

/* idxNum: tells xFilter what to do: the column of an index, and which bounds of time there are. */
enum {
        PLAN_SCAN,
        PLAN_ID,
        PLAN_INDEX,
        PLAN_GROUPS, /* all rows, grouped by value */
        PLAN_KIND = 0xff,
        PLAN_COLUMN_SHIFT = 8,
        PLAN_COLUMN = 0xff00,
        PLAN_FROM = 1 << 16,
        PLAN_TO = 1 << 17,
        PLAN_BACKWARDS = 1 << 18,
};

static const TraceTable *vtab_table(const Vtab *vtab) {
        return &vtab->query->store->tables[vtab->def->table];
}

static QueryIndex *vtab_index(const Vtab *vtab, unsigned stored) {
        return &vtab->query->indexes[vtab->def->table][stored];
}

static const char *column_type(const QueryTable *def, const QueryColumn *column) {
        TraceType type;

        switch (column->kind) {
        case QUERY_COLUMN_STORED:
                type = trace_table_def(def->table)->columns[column->stored].type;
                return type == TRACE_TYPE_NAME     ? "TEXT"
                       : type == TRACE_TYPE_DOUBLE ? "REAL"
                                                   : "INTEGER";
        case QUERY_COLUMN_STATE:
        case QUERY_COLUMN_ARG_TEXT:
        case QUERY_COLUMN_SINGLE:
                return "TEXT";
        case QUERY_COLUMN_ARG_REAL:
                return "REAL";
        default:
                return "INTEGER";
        }
}

static int vtab_declare(sqlite3 *db, const QueryTable *def) {
        sqlite3_str *text = sqlite3_str_new(db);
        char *sql;
        int r;

        sqlite3_str_appendall(text, "CREATE TABLE x(");
        for (size_t i = 0; i < def->n_columns; i++)
                sqlite3_str_appendf(text,
                                    "%s%s %s",
                                    i ? ", " : "",
                                    def->columns[i].name,
                                    column_type(def, &def->columns[i]));
        sqlite3_str_appendall(text, ")");
        sql = sqlite3_str_finish(text);
        r = sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
        sqlite3_free(sql);
        return r;
}

static int vtab_connect(sqlite3 *db,
                        void *aux,
                        int argc,
                        const char *const *argv,
                        sqlite3_vtab **ret,
                        char **ret_error) {
        const QueryTable *def = query_table_find(argv[0], strlen(argv[0]));
        int r;

        if (!def)
                return SQLITE_ERROR;
        r = vtab_declare(db, def);
        if (r == SQLITE_OK)
                r = query_vtab_new(ret, db, sizeof(Vtab));
        if (r != SQLITE_OK)
                return r;
        ((Vtab *)*ret)->query = aux;
        ((Vtab *)*ret)->def = def;
        return SQLITE_OK;
}

/*
 * Plans
 */

typedef struct Plan {
        int kind, column; /* stored */
        int constraint;   /* the constraint for each kind, or -1 */
        int from, to;     /* bounds of time, or -1 */
        bool is_backwards;
        double n_rows;
} Plan;

static bool column_is_id(const QueryTable *def, int column) {
        return column < 0 || def->columns[column].kind == QUERY_COLUMN_ID;
}

static bool column_is_time(const QueryTable *def, int column) {
        return column >= 0 && def->columns[column].kind == QUERY_COLUMN_STORED &&
               def->columns[column].stored == 0 && trace_table_def(def->table)->is_sorted;
}

/* The average number of rows that have one value of this column; < 0: it cannot have an index. */
static double index_rows(const Vtab *vtab, int column) {
        const QueryColumn *def = column >= 0 ? &vtab->def->columns[column] : NULL;
        const TraceTable *table = vtab_table(vtab);
        QueryIndex *index;

        if (!def || (def->kind != QUERY_COLUMN_STORED && def->kind != QUERY_COLUMN_STATE) ||
            !query_index_suits(trace_table_def(vtab->def->table)->columns[def->stored].type))
                return -1;
        index = vtab_index(vtab, def->stored);
        if (query_index_make(index, table, def->stored))
                return -1;
        return (double)table->n / (double)MAX(index->n_distinct, (size_t)1);
}

static void plan_consider_equal(Plan *plan, const Vtab *vtab, sqlite3_index_info *info, int i) {
        int column = info->aConstraint[i].iColumn;
        double n_rows;

        if (column_is_id(vtab->def, column)) {
                *plan = (Plan){
                        .kind = PLAN_ID, .constraint = i, .n_rows = 1, .from = -1, .to = -1
                };
                return;
        }
        if (plan->kind == PLAN_ID || strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
                return;
        n_rows = index_rows(vtab, column);
        if (n_rows < 0 || n_rows >= plan->n_rows)
                return;
        plan->kind = PLAN_INDEX;
        plan->column = (int)vtab->def->columns[column].stored;
        plan->constraint = i;
        plan->n_rows = n_rows;
}

static void plan_consider(Plan *plan, const Vtab *vtab, sqlite3_index_info *info, int i) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];

        if (!constraint->usable)
                return;
        switch (constraint->op) {
        case SQLITE_INDEX_CONSTRAINT_EQ:
                plan_consider_equal(plan, vtab, info, i);
                break;
        case SQLITE_INDEX_CONSTRAINT_GT:
        case SQLITE_INDEX_CONSTRAINT_GE:
                if (column_is_time(vtab->def, constraint->iColumn) && plan->from < 0)
                        plan->from = i;
                break;
        case SQLITE_INDEX_CONSTRAINT_LT:
        case SQLITE_INDEX_CONSTRAINT_LE:
                if (column_is_time(vtab->def, constraint->iColumn) && plan->to < 0)
                        plan->to = i;
                break;
        }
}

/* Rows come in the order of their ids, and so of time. An index serves where it only matters that equal values are
 * together. */
static void plan_order(Plan *plan, const Vtab *vtab, sqlite3_index_info *info) {
        const struct sqlite3_index_orderby *order = info->aOrderBy;

        if (info->nOrderBy != 1)
                return;
        if (!order->desc && (column_is_id(vtab->def, order->iColumn) ||
                             column_is_time(vtab->def, order->iColumn))) {
                info->orderByConsumed = 1;
                return;
        }
        if (plan->kind != PLAN_SCAN || plan->from >= 0 || plan->to >= 0)
                return;
        if (order->desc && column_is_id(vtab->def, order->iColumn)) {
                plan->is_backwards = true;
                info->orderByConsumed = 1;
                return;
        }
        if ((sqlite3_vtab_distinct(info) != 1 && sqlite3_vtab_distinct(info) != 2) ||
            index_rows(vtab, order->iColumn) < 0)
                return;
        plan->kind = PLAN_GROUPS;
        plan->column = (int)vtab->def->columns[order->iColumn].stored;
        info->orderByConsumed = 1;
}

/* The columns of the store that a column of a table is made of. */
static uint32_t sched_columns(const QueryColumn *column) {
        if (column->kind == QUERY_COLUMN_STORED || column->kind == QUERY_COLUMN_STATE)
                return 1u << column->stored;
        return column->kind == QUERY_COLUMN_END ? 1u << SCHED_TS | 1u << SCHED_DUR : 0;
}

static void note_needs(const Vtab *vtab, const sqlite3_index_info *info) {
        Query *query = vtab->query;

        query->needs |= vtab->def->parts;
        for (size_t i = 0; i < vtab->def->n_columns; i++) {
                const QueryColumn *column = &vtab->def->columns[i];

                if (!(info->colUsed & UINT64_C(1) << MIN(i, (size_t)63)))
                        continue;
                query->needs |= column->parts;
                if (vtab->def->table == TRACE_TABLE_SCHED)
                        query->sched_needs |= sched_columns(column);
        }
}

/* A bound of time selects an unknown part of the rows. */
#define BOUND_SHARE 4

static int vtab_best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
        const Vtab *vtab = (const Vtab *)base;
        double n = (double)vtab_table(vtab)->n;
        Plan plan = { .kind = PLAN_SCAN, .constraint = -1, .from = -1, .to = -1, .n_rows = n + 1 };
        int n_args = 0;

        note_needs(vtab, info);
        for (int i = 0; i < info->nConstraint; i++)
                plan_consider(&plan, vtab, info, i);
        if (plan.kind != PLAN_SCAN)
                plan.from = plan.to = -1;
        plan_order(&plan, vtab, info);
        info->idxNum = plan.kind | plan.column << PLAN_COLUMN_SHIFT |
                       (plan.is_backwards ? PLAN_BACKWARDS : 0);
        if (plan.constraint >= 0)
                info->aConstraintUsage[plan.constraint].argvIndex = ++n_args;
        if (plan.from >= 0) {
                info->aConstraintUsage[plan.from].argvIndex = ++n_args;
                info->idxNum |= PLAN_FROM;
                plan.n_rows /= BOUND_SHARE;
        }
        if (plan.to >= 0) {
                info->aConstraintUsage[plan.to].argvIndex = ++n_args;
                info->idxNum |= PLAN_TO;
                plan.n_rows /= BOUND_SHARE;
        }
        if (plan.kind == PLAN_ID)
                info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        info->estimatedRows = (sqlite3_int64)plan.n_rows + 1;
        info->estimatedCost = plan.n_rows + (plan.kind == PLAN_ID ? 0 : 4);
        return SQLITE_OK;
}

/*
 * Cursors
 */

static int cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret) {
        return query_cursor_new(ret, sizeof(Cursor));
}

/* The first row whose time is at or after this. */
static size_t table_find_time(const TraceTable *table, int64_t ts) {
        const int64_t *times = table->columns[0];
        size_t low = 0, high = times ? table->n : 0;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (times[middle] < ts)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* Rows on a bound are included: SQLite checks again. A bound that is no number does not restrict anything. */
static void
cursor_bound(Cursor *cursor, const TraceTable *table, sqlite3_value *value, bool is_from) {
        int type = sqlite3_value_type(value);
        int64_t ts;

        if (type == SQLITE_NULL)
                cursor->end = 0;
        if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
                return;
        ts = sqlite3_value_int64(value);
        if (is_from)
                cursor->at = MAX(cursor->at, table_find_time(table, ts == INT64_MIN ? ts : ts - 1));
        else
                cursor->end = MIN(cursor->end,
                                  ts >= INT64_MAX - 1 ? table->n : table_find_time(table, ts + 2));
}

/* The value as the column stores it. -1: no row has this value. -2: SQLite has to compare it itself. */
static int64_t column_value(const Vtab *vtab, unsigned stored, sqlite3_value *value) {
        TraceType type = trace_table_def(vtab->def->table)->columns[stored].type;
        const TracePool *pool = &vtab->query->store->pool;
        uint32_t name;

        if (sqlite3_value_type(value) == SQLITE_NULL)
                return -1;
        if (type != TRACE_TYPE_NAME && type != TRACE_TYPE_STATE)
                return sqlite3_value_type(value) == SQLITE_INTEGER ? sqlite3_value_int64(value)
                                                                   : -2;
        if (sqlite3_value_type(value) != SQLITE_TEXT)
                return -2;
        name = trace_pool_find(pool, sqlite3_value_text(value), (size_t)sqlite3_value_bytes(value));
        if (name == 0)
                return -1;
        if (type == TRACE_TYPE_NAME)
                return name;
        for (unsigned i = 1; i < vtab->query->store->n_states; i++)
                if (vtab->query->store->states[i] == name)
                        return i;
        return -1;
}

static void
cursor_find_value(Cursor *cursor, const Vtab *vtab, unsigned stored, sqlite3_value *value) {
        int64_t number = column_value(vtab, stored, value);

        if (number == -2)
                return;
        cursor->rows = NULL;
        cursor->at = 0;
        cursor->end = query_index_find(vtab_index(vtab, stored), number, &cursor->rows);
}

static void cursor_find_id(Cursor *cursor, sqlite3_value *value) {
        int64_t id = sqlite3_value_int64(value);

        if (sqlite3_value_type(value) == SQLITE_NULL)
                cursor->end = 0;
        if (sqlite3_value_type(value) != SQLITE_INTEGER)
                return;
        if (id < 0 || (uint64_t)id >= cursor->end) {
                cursor->end = 0;
                return;
        }
        cursor->at = (size_t)id;
        cursor->end = (size_t)id + 1;
}

static int cursor_filter(sqlite3_vtab_cursor *base,
                         int plan,
                         const char *text,
                         int argc,
                         sqlite3_value **argv) {
        Cursor *cursor = (Cursor *)base;
        const Vtab *vtab = (const Vtab *)base->pVtab;
        const TraceTable *table = vtab_table(vtab);
        unsigned stored = (unsigned)(plan & PLAN_COLUMN) >> PLAN_COLUMN_SHIFT;
        int i = 0;

        *cursor = (Cursor){ .base = cursor->base, .end = table->n };
        cursor->is_backwards = plan & PLAN_BACKWARDS;
        switch (plan & PLAN_KIND) {
        case PLAN_ID:
                cursor_find_id(cursor, argv[i++]);
                break;
        case PLAN_INDEX:
                cursor_find_value(cursor, vtab, stored, argv[i++]);
                break;
        case PLAN_GROUPS:
                cursor->rows = vtab_index(vtab, stored)->rows;
                break;
        }
        if (plan & PLAN_FROM)
                cursor_bound(cursor, table, argv[i++], true);
        if (plan & PLAN_TO)
                cursor_bound(cursor, table, argv[i++], false);
        return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *base) {
        ((Cursor *)base)->at++;
        return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *base) {
        const Cursor *cursor = (const Cursor *)base;

        return cursor->at >= cursor->end;
}

static uint32_t cursor_row(const Cursor *cursor) {
        if (cursor->rows)
                return cursor->rows[cursor->at];
        return (uint32_t)(cursor->is_backwards ? cursor->end - 1 - cursor->at : cursor->at);
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret) {
        *ret = cursor_row((const Cursor *)base);
        return SQLITE_OK;
}

/*
 * Values
 */

static void result_name(sqlite3_context *context, const TracePool *pool, uint32_t name) {
        if (name)
                sqlite3_result_text(context,
                                    trace_pool_text(pool, name),
                                    (int)trace_pool_length(pool, name),
                                    SQLITE_STATIC);
}

static void
result_stored(sqlite3_context *context, const Vtab *vtab, unsigned column, uint32_t row) {
        const TraceTable *table = vtab_table(vtab);
        TraceType type = table->def->columns[column].type;
        int64_t value;

        if (type == TRACE_TYPE_DOUBLE)
                sqlite3_result_double(context, trace_table_double(table, column, row));
        else if (type == TRACE_TYPE_NAME)
                result_name(
                        context, &vtab->query->store->pool, trace_table_get(table, column, row));
        else if (trace_table_number(table, column, row, &value))
                sqlite3_result_int64(context, value);
}

static bool arg_is_real(const Vtab *vtab, uint32_t row) {
        const char *type = trace_pool_text(&vtab->query->store->pool,
                                           trace_table_get(vtab_table(vtab), ARG_TYPE, row));

        return type && streq(type, "real");
}

/* An argument as text. */
static void result_arg_text(sqlite3_context *context, const Vtab *vtab, uint32_t row) {
        const TraceTable *table = vtab_table(vtab);
        const TracePool *pool = &vtab->query->store->pool;
        const char *type = trace_pool_text(pool, trace_table_get(table, ARG_TYPE, row));
        int64_t number = trace_table_i64(table, ARG_INT, row);
        char text[64];

        if (trace_table_get(table, ARG_STRING, row)) {
                result_name(context, pool, trace_table_get(table, ARG_STRING, row));
                return;
        }
        if (!type || (streq(type, "string") || streq(type, "json")))
                return;
        if (streq(type, "real"))
                sqlite3_snprintf(
                        sizeof(text), text, "%!.15g", trace_table_double(table, ARG_REAL, row));
        else if (streq(type, "bool"))
                snprintf(text, sizeof(text), "%s", number ? "true" : "false");
        else if (streq(type, "pointer"))
                snprintf(text, sizeof(text), "0x%llx", (unsigned long long)number);
        else if (streq(type, "uint"))
                snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
        else
                snprintf(text, sizeof(text), "%lld", (long long)number);
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

/* NULL if it has no known end. */
static void result_end(sqlite3_context *context, const TraceTable *table, uint32_t row) {
        int64_t end;

        if (!__builtin_add_overflow(
                    trace_table_i64(table, 0, row), trace_table_i64(table, 1, row), &end))
                sqlite3_result_int64(context, end);
}

static void result_self_dur(sqlite3_context *context, Query *query, uint32_t row) {
        const int64_t *self = query_self_durations(query);

        if (self)
                sqlite3_result_int64(context, self[row]);
        else
                sqlite3_result_error_nomem(context);
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number) {
        const Vtab *vtab = (const Vtab *)base->pVtab;
        const QueryColumn *column = &vtab->def->columns[number];
        const TraceTable *table = vtab_table(vtab);
        uint32_t row = cursor_row((const Cursor *)base);

        /* A value that was not read must never look like one that is not there. */
        if (UNLIKELY(vtab->query->sched_left_out && vtab->def->table == TRACE_TABLE_SCHED &&
                     vtab->query->sched_left_out & sched_columns(column)))
                return SQLITE_INTERNAL;
        switch (column->kind) {
        case QUERY_COLUMN_STORED:
                result_stored(context, vtab, column->stored, row);
                break;
        case QUERY_COLUMN_ID:
                sqlite3_result_int64(context, row);
                break;
        case QUERY_COLUMN_END:
                result_end(context, table, row);
                break;
        case QUERY_COLUMN_ZERO:
                sqlite3_result_int(context, 0);
                break;
        case QUERY_COLUMN_SINGLE:
                sqlite3_result_text(context, "single", -1, SQLITE_STATIC);
                break;
        case QUERY_COLUMN_STATE:
                result_name(
                        context,
                        &vtab->query->store->pool,
                        vtab->query->store->states[trace_table_get(table, column->stored, row)]);
                break;
        case QUERY_COLUMN_ARG_INT:
                if (!arg_is_real(vtab, row))
                        result_stored(context, vtab, column->stored, row);
                break;
        case QUERY_COLUMN_ARG_REAL:
                if (arg_is_real(vtab, row))
                        result_stored(context, vtab, column->stored, row);
                break;
        case QUERY_COLUMN_ARG_TEXT:
                result_arg_text(context, vtab, row);
                break;
        case QUERY_COLUMN_SELF_DUR:
                result_self_dur(context, vtab->query, row);
                break;
        case QUERY_COLUMN_NULL:
                break;
        }
        return SQLITE_OK;
}

/* Without xCreate, a table exists under the name of its module, and no other can be made with it. */
static const sqlite3_module module = {
        .iVersion = 1,
        .xConnect = vtab_connect,
        .xBestIndex = vtab_best_index,
        .xDisconnect = query_vtab_disconnect,
        .xOpen = cursor_open,
        .xClose = query_cursor_close,
        .xFilter = cursor_filter,
        .xNext = cursor_next,
        .xEof = cursor_eof,
        .xColumn = cursor_column,
        .xRowid = cursor_rowid,
};

int query_add_tables(Query *query) {
        for (size_t i = 0; i < query_tables_count(); i++) {
                int r = sqlite3_create_module(query->db, query_tables[i].name, &module, query);

                if (r != SQLITE_OK)
                        return r;
        }
        return SQLITE_OK;
}
