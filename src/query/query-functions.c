/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Functions that SQLite lacks: some of Perfetto's, and percentiles
 */

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "query/query-private.h"
#include "shared/quantile.h"

#define NS_PER_S INT64_C(1000000000)

/*
 * Percentiles
 */

typedef struct Percentile {
        double *values;
        size_t n, n_allocated;
        double p;
        bool is_broken;
} Percentile;

static void percentile_add(sqlite3_context *context, Percentile *percentile, sqlite3_value *value) {
        int type = sqlite3_value_numeric_type(value);

        if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
                return; /* like other aggregates */
        if (percentile->n == percentile->n_allocated) {
                size_t more = percentile->n_allocated ? percentile->n_allocated * 2 : 64;
                double *larger =
                        sqlite3_realloc64(percentile->values, more * sizeof(*percentile->values));

                if (!larger) {
                        percentile->is_broken = true;
                        sqlite3_result_error_nomem(context);
                        return;
                }
                percentile->values = larger;
                percentile->n_allocated = more;
        }
        percentile->values[percentile->n++] = sqlite3_value_double(value);
}

static void percentile_step(sqlite3_context *context, int argc, sqlite3_value **argv) {
        Percentile *percentile = sqlite3_aggregate_context(context, sizeof(*percentile));

        if (!percentile) {
                sqlite3_result_error_nomem(context);
                return;
        }
        percentile->p = argc > 1 ? sqlite3_value_double(argv[1]) : 50;
        if (!(percentile->p >= 0 && percentile->p <= 100)) {
                percentile->is_broken = true;
                sqlite3_result_error(context, "a percentile is from 0 to 100", -1);
                return;
        }
        percentile_add(context, percentile, argv[0]);
}

static void percentile_final(sqlite3_context *context) {
        Percentile *percentile = sqlite3_aggregate_context(context, 0);

        if (!percentile)
                return;
        if (!percentile->is_broken && percentile->n)
                sqlite3_result_double(
                        context, quantile(percentile->values, percentile->n, percentile->p / 100));
        sqlite3_free(percentile->values);
        percentile->values = NULL;
}

/*
 * Of the trace
 */

static uint32_t find_arg(const TraceStore *store, int64_t set, uint32_t key) {
        const TraceTable *table = &store->tables[TRACE_TABLE_ARG];

        if (set < 0 || (uint64_t)set >= table->n)
                return TRACE_NONE;
        for (uint32_t row = (uint32_t)set;
             row < table->n && trace_table_get(table, ARG_SET, row) == (uint32_t)set;
             row++)
                if (trace_table_get(table, ARG_KEY, row) == key)
                        return row;
        return TRACE_NONE;
}

static void result_arg(sqlite3_context *context, const TraceStore *store, uint32_t row) {
        const TraceTable *table = &store->tables[TRACE_TABLE_ARG];
        uint32_t text = trace_table_get(table, ARG_STRING, row);
        const char *type = trace_pool_text(&store->pool, trace_table_get(table, ARG_TYPE, row));
        int64_t number;

        if (text)
                sqlite3_result_text(context,
                                    trace_pool_text(&store->pool, text),
                                    (int)trace_pool_length(&store->pool, text),
                                    SQLITE_TRANSIENT);
        else if (type && streq(type, "real"))
                sqlite3_result_double(context, trace_table_double(table, ARG_REAL, row));
        else if (trace_table_number(table, ARG_INT, row, &number))
                sqlite3_result_int64(context, number);
}

static void extract_arg(sqlite3_context *context, int argc, sqlite3_value **argv) {
        const Query *query = sqlite3_user_data(context);
        uint32_t key, row;

        if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER ||
            sqlite3_value_type(argv[1]) != SQLITE_TEXT)
                return;
        key = trace_pool_find(&query->store->pool,
                              sqlite3_value_text(argv[1]),
                              (size_t)sqlite3_value_bytes(argv[1]));
        row = key ? find_arg(query->store, sqlite3_value_int64(argv[0]), key) : TRACE_NONE;
        if (row != TRACE_NONE)
                result_arg(context, query->store, row);
}

static void bound(sqlite3_context *context, int which) {
        const Query *query = sqlite3_user_data(context);
        int64_t start, end;

        if (!trace_store_bounds(query->store, &start, &end))
                start = end = 0;
        sqlite3_result_int64(context, which == 0 ? start : which == 1 ? end : end - start);
}

static void trace_start(sqlite3_context *context, int argc, sqlite3_value **argv) {
        bound(context, 0);
}

static void trace_end(sqlite3_context *context, int argc, sqlite3_value **argv) {
        bound(context, 1);
}

static void trace_dur(sqlite3_context *context, int argc, sqlite3_value **argv) {
        bound(context, 2);
}

/* By how much the wall clock is ahead of trace time. */
static bool realtime_offset(const Query *query, int64_t *ret) {
        const TraceTable *table = &query->store->tables[TRACE_TABLE_METADATA];
        static const char key[] = "trace_realtime_offset_ns";
        uint32_t name = trace_pool_find(&query->store->pool, key, strlen(key));

        for (uint32_t row = 0; name && row < table->n; row++)
                if (trace_table_get(table, METADATA_NAME, row) == name)
                        return trace_table_number(table, METADATA_INT, row, ret);
        return false;
}

static bool value_realtime(sqlite3_context *context, sqlite3_value *value, int64_t *ret) {
        int64_t offset;

        return sqlite3_value_type(value) == SQLITE_INTEGER &&
               realtime_offset(sqlite3_user_data(context), &offset) &&
               !__builtin_add_overflow(sqlite3_value_int64(value), offset, ret);
}

static void to_realtime(sqlite3_context *context, int argc, sqlite3_value **argv) {
        int64_t ns;

        if (value_realtime(context, argv[0], &ns))
                sqlite3_result_int64(context, ns);
}

static void abs_time_str(sqlite3_context *context, int argc, sqlite3_value **argv) {
        char date[32], text[64];
        struct tm parts;
        int64_t ns;
        time_t s;

        if (!value_realtime(context, argv[0], &ns) || ns < 0)
                return;
        s = (time_t)(ns / NS_PER_S);
        if (!gmtime_r(&s, &parts) || strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts) == 0)
                return;
        snprintf(text, sizeof(text), "%s.%09lldZ", date, (long long)(ns % NS_PER_S));
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

typedef struct Function {
        const char *name;
        int n_args;
        void (*call)(sqlite3_context *context, int argc, sqlite3_value **argv);
        void (*step)(sqlite3_context *context, int argc, sqlite3_value **argv);
        void (*final)(sqlite3_context *context);
} Function;

static const Function functions[] = {
        { "percentile", 2, NULL, percentile_step, percentile_final },
        { "median", 1, NULL, percentile_step, percentile_final },
        { "extract_arg", 2, extract_arg, NULL, NULL },
        { "trace_start", 0, trace_start, NULL, NULL },
        { "trace_end", 0, trace_end, NULL, NULL },
        { "trace_dur", 0, trace_dur, NULL, NULL },
        { "to_realtime", 1, to_realtime, NULL, NULL },
        { "abs_time_str", 1, abs_time_str, NULL, NULL },
};

int query_add_functions(Query *query) {
        for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
                const Function *function = &functions[i];
                int r = sqlite3_create_function_v2(query->db,
                                                   function->name,
                                                   function->n_args,
                                                   SQLITE_UTF8 | SQLITE_INNOCUOUS,
                                                   query,
                                                   function->call,
                                                   function->step,
                                                   function->final,
                                                   NULL);

                if (r != SQLITE_OK)
                        return r;
        }
        return SQLITE_OK;
}
