/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * slice_stats: the number and durations of slices, by name
 *
 * The same as GROUP BY name over slice, but computed from the columns in one pass: SQLite would have to be handed each
 * row separately. It is computed when a statement first needs it, and kept.
 */

#include <string.h>

#include "query/query-private.h"
#include "query/query-vtab-base.h"
#include "shared/quantile.h"

typedef struct SliceStat {
        uint32_t name;
        uint64_t n, n_open;         /* n_open of them have not ended, and count only as that */
        uint64_t total_ns, self_ns; /* bits of sums, which those of a hostile file overflow */
        double min, p50, p90, p99, max;
} SliceStat;

struct QuerySliceStats {
        size_t n;
        SliceStat stats[];
};

enum {
        COLUMN_NAME,
        COLUMN_N,
        COLUMN_OPEN,
        COLUMN_TOTAL,
        COLUMN_SELF,
        COLUMN_MIN,
        COLUMN_P50,
        COLUMN_P90,
        COLUMN_P99,
        COLUMN_MAX,
};

static const char declaration[] = "CREATE TABLE x(name TEXT, n INTEGER, n_open INTEGER, total_dur "
                                  "INTEGER, self_dur INTEGER, min_dur INTEGER, "
                                  "p50 REAL, p90 REAL, p99 REAL, max_dur INTEGER)";

/*
 * Making them
 */

static const uint32_t *slice_names(const TraceTable *table) {
        return table->columns[SLICE_NAME];
}

/* How many rows have each name, by its number. */
static void count_names(const TraceTable *table, uint32_t *counts) {
        const uint32_t *names = slice_names(table);

        for (size_t row = 0; row < table->n; row++)
                counts[names[row]]++;
}

static void stat_add_values(SliceStat *stat, double *values, size_t n) {
        if (n == 0)
                return;
        stat->p50 = quantile(values, n, 50 / 100.0);
        stat->p90 = quantile(values, n, 90 / 100.0);
        stat->p99 = quantile(values, n, 99 / 100.0);
        stat->min = stat->max = values[0];
        for (size_t i = 0; i < n; i++) {
                stat->min = MIN(stat->min, values[i]);
                stat->max = MAX(stat->max, values[i]);
        }
}

/* Each name gets a place among the stats, and its durations one among the values. */
typedef struct Grouping {
        uint32_t *places; /* by the name's number */
        size_t *ends;     /* by index: of its values */
        double *values;
} Grouping;

static void grouping_deinit(Grouping *grouping) {
        free(grouping->places);
        free(grouping->ends);
        free(grouping->values);
}

static void grouping_add_rows(Grouping *grouping,
                              struct QuerySliceStats *stats,
                              const TraceTable *table,
                              const int64_t *self) {
        const int64_t *durations = table->columns[SLICE_DUR];
        const uint32_t *names = slice_names(table);

        for (size_t row = 0; row < table->n; row++) {
                uint32_t place = grouping->places[names[row]];
                SliceStat *stat = &stats->stats[place];

                stat->n++;
                if (durations[row] < 0) {
                        stat->n_open++;
                        continue;
                }
                stat->total_ns += (uint64_t)durations[row];
                stat->self_ns += (uint64_t)self[row];
                grouping->values[grouping->ends[place]++] = (double)durations[row];
        }
}

/* Names in the order of their numbers, which is the order in the file. */
static struct QuerySliceStats *
stats_new(Grouping *grouping, const TracePool *pool, const TraceTable *table) {
        struct QuerySliceStats *stats;
        size_t n = 0, start = 0;

        for (size_t i = 0; i < pool->n_texts; i++)
                n += grouping->places[i] > 0;
        stats = calloc(1, sizeof(*stats) + n * sizeof(*stats->stats));
        grouping->ends = reallocarray(NULL, n + 1, sizeof(*grouping->ends));
        grouping->values = reallocarray(NULL, table->n + 1, sizeof(*grouping->values));
        if (!stats || !grouping->ends || !grouping->values) {
                free(stats);
                return NULL;
        }
        for (size_t i = 0; i < pool->n_texts; i++) {
                size_t n_rows = grouping->places[i];

                if (n_rows == 0)
                        continue;
                stats->stats[stats->n].name = (uint32_t)i;
                grouping->ends[stats->n] = start;
                grouping->places[i] = (uint32_t)stats->n++;
                start += n_rows;
        }
        return stats;
}

static struct QuerySliceStats *stats_make(Query *query) {
        const TraceTable *table = &query->store->tables[TRACE_TABLE_SLICE];
        const int64_t *self = query_self_durations(query);
        _cleanup_(grouping_deinit) Grouping grouping = { 0 };
        struct QuerySliceStats *stats;

        grouping.places = calloc(query->store->pool.n_texts, sizeof(*grouping.places));
        if (!grouping.places || !self)
                return NULL;
        count_names(table, grouping.places);
        stats = stats_new(&grouping, &query->store->pool, table);
        if (!stats)
                return NULL;
        grouping_add_rows(&grouping, stats, table, self);
        for (size_t i = 0; i < stats->n; i++) {
                size_t n = stats->stats[i].n - stats->stats[i].n_open;

                stat_add_values(&stats->stats[i], grouping.values + grouping.ends[i] - n, n);
        }
        return stats;
}

/*
 * The table
 */

typedef struct Vtab {
        sqlite3_vtab base;
        Query *query;
} Vtab;

typedef struct Cursor {
        sqlite3_vtab_cursor base;
        size_t at;
} Cursor;

static int stats_connect(sqlite3 *db,
                         void *aux,
                         int argc,
                         const char *const *argv,
                         sqlite3_vtab **ret,
                         char **ret_error) {
        int r = sqlite3_declare_vtab(db, declaration);

        if (r == SQLITE_OK)
                r = query_vtab_new(ret, db, sizeof(Vtab));
        if (r == SQLITE_OK)
                ((Vtab *)*ret)->query = aux;
        return r;
}

#define NAMES_USUAL 100

static int stats_best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
        ((Vtab *)base)->query->needs |= TRACE_PART_EVENTS;
        info->estimatedRows = NAMES_USUAL;
        info->estimatedCost = NAMES_USUAL;
        return SQLITE_OK;
}

static int stats_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret) {
        return query_cursor_new(ret, sizeof(Cursor));
}

static Query *cursor_query(const sqlite3_vtab_cursor *base) {
        return ((const Vtab *)base->pVtab)->query;
}

static int stats_filter(sqlite3_vtab_cursor *base,
                        int plan,
                        const char *text,
                        int argc,
                        sqlite3_value **argv) {
        Query *query = cursor_query(base);

        ((Cursor *)base)->at = 0;
        if (!query->slice_stats)
                query->slice_stats = stats_make(query);
        return query->slice_stats ? SQLITE_OK : SQLITE_NOMEM;
}

static int stats_next(sqlite3_vtab_cursor *base) {
        ((Cursor *)base)->at++;
        return SQLITE_OK;
}

static int stats_eof(sqlite3_vtab_cursor *base) {
        return ((const Cursor *)base)->at >= cursor_query(base)->slice_stats->n;
}

static int stats_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret) {
        *ret = (sqlite3_int64)((const Cursor *)base)->at;
        return SQLITE_OK;
}

/* NULL if none has ended. */
static void result_value(sqlite3_context *context, const SliceStat *stat, int column) {
        const double values[] = { stat->min, stat->p50, stat->p90, stat->p99, stat->max };
        double value = values[column - COLUMN_MIN];

        if (stat->n == stat->n_open)
                return;
        if (column == COLUMN_MIN || column == COLUMN_MAX)
                sqlite3_result_int64(context, (sqlite3_int64)value);
        else
                sqlite3_result_double(context, value);
}

static int stats_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
        const Query *query = cursor_query(base);
        const SliceStat *stat = &query->slice_stats->stats[((const Cursor *)base)->at];
        const char *name = trace_pool_text(&query->store->pool, stat->name);

        switch (column) {
        case COLUMN_NAME:
                if (name)
                        sqlite3_result_text(context, name, -1, SQLITE_TRANSIENT);
                break;
        case COLUMN_N:
                sqlite3_result_int64(context, (sqlite3_int64)stat->n);
                break;
        case COLUMN_OPEN:
                sqlite3_result_int64(context, (sqlite3_int64)stat->n_open);
                break;
        case COLUMN_TOTAL:
                sqlite3_result_int64(context, (sqlite3_int64)stat->total_ns);
                break;
        case COLUMN_SELF:
                sqlite3_result_int64(context, (sqlite3_int64)stat->self_ns);
                break;
        default:
                result_value(context, stat, column);
        }
        return SQLITE_OK;
}

static const sqlite3_module module = {
        .iVersion = 1,
        .xConnect = stats_connect,
        .xBestIndex = stats_best_index,
        .xDisconnect = query_vtab_disconnect,
        .xOpen = stats_open,
        .xClose = query_cursor_close,
        .xFilter = stats_filter,
        .xNext = stats_next,
        .xEof = stats_eof,
        .xColumn = stats_column,
        .xRowid = stats_rowid,
};

int query_add_slice_stats(Query *query) {
        return sqlite3_create_module(query->db, "slice_stats", &module, query);
}
