/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Declarations that the files of this folder share
 */

#include <sqlite3.h>

#include "query/query-index.h"
#include "query/query.h"
#include "trace/trace-store.h"

#define QUERY_COLUMNS_MAX 24

struct Query {
        sqlite3 *db;
        TraceStore *store; /* never NULL: empty at first */
        unsigned needs;    /* of the statement that is being prepared */
        unsigned loaded;
        uint32_t sched_needs,
                sched_left_out; /* likewise, columns of this largest of tables: bits of SCHED_… */
        bool is_loaded;
        QueryIndex indexes[_TRACE_TABLE_N][QUERY_COLUMNS_MAX];
        int64_t *self_dur;                   /* by slice; made on first use */
        struct QuerySliceStats *slice_stats; /* likewise */
        int fds[QUERY_FILES_MAX];
        size_t n_fds;
        QueryOptions options;
        uint64_t deadline_ns;
        volatile bool is_interrupted; /* set by a signal handler */
        const char *problem;          /* an error of ours, if it is not SQLite's */
};

/* Each adds its part to the database. SQLITE_OK, or an error. */
int query_add_tables(Query *query);
int query_add_slice_stats(Query *query);
int query_add_views(Query *query);
int query_add_functions(Query *query);
/* Allows only reading, and writing to memory. */
int query_restrict(Query *query);

/* If the statement, which is the only one, just counts the rows of one of our tables: the same as a statement that asks
 * for the last row. SQLite does likewise for tables of its own. To be freed with sqlite3_free(); NULL: it is another
 * statement. */
char *query_shorten_count(const char *sql);

/* Whether a module of Perfetto's standard library is available. Its tables always are. */
bool query_has_module(const char *name, size_t n);

/* Frees what depends on the store's rows. */
void query_forget_rows(Query *query);
/* Returns NULL if memory has run out. */
const int64_t *query_self_durations(Query *query);
