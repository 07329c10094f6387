/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Query: SQL over a trace
 *
 * The tables are virtual ones over the columns of a TraceStore, with the names that people know from Perfetto's trace
 * processor. A statement says which parts of the file it needs; only these are read, when the first statement needs
 * them.
 *
 * The SQL may come from a stranger: it reaches no file and no other database, loads no code, and is bounded in time and
 * memory. What it creates is in memory, and gone with the query.
 */

#include <stdbool.h>
#include <stdint.h>

#include "shared/macro.h"

typedef struct Query Query;
typedef struct sqlite3_stmt sqlite3_stmt;
typedef struct TraceStore TraceStore;

#define QUERY_FILES_MAX 16
/* How much memory SQLite may use besides the trace: for sorting, and for tables that statements create. */
#define QUERY_HEAP_BYTES_MAX  (UINT64_C(1) << 30)
#define QUERY_VALUE_BYTES_MAX (64 << 20) /* limit of one text or blob */

typedef struct QueryOptions {
        uint64_t n_bytes_max; /* memory for the trace; 0: by the size of the file */
        uint64_t
                timeout_ns; /* limit for each statement, including what it reads of the trace; 0: none */
        bool is_interactive; /* many statements will come, so ids must not change between them */
} QueryOptions;

enum {
        _QUERY_E_SUCCESS,
        QUERY_E_DONE,      /* there is no further statement, or no further row */
        QUERY_E_SQL,       /* query_error() says why */
        QUERY_E_TIMED_OUT, /* or interrupted */
        QUERY_E_MEMORY,    /* a memory limit was exceeded */
        QUERY_E_NO_TRACE,  /* the file has no packet */
};

/* The caller keeps the descriptors, which are read when data is needed, possibly several times. Returns 0, or an
 * errno. */
int query_new(Query **ret, const int *fds, size_t n_fds, const QueryOptions *options);
Query *query_free(Query *query);
DEFINE_CLEANUP(Query *, query_free)

/* Prepares the first statement of *sql, and moves *sql to the one after it. Returns 0, an outcome, or an errno. */
int query_prepare(Query *query, const char **sql, sqlite3_stmt **ret);
/* 0: *query has a row. */
int query_step(Query *query, sqlite3_stmt *statement);

const char *query_error(const Query *query);
/* May be called from another thread or a signal handler. */
void query_interrupt(Query *query);

/* The store of what has been read so far, or NULL. */
const TraceStore *query_store(const Query *query);
/* Reads these parts now. Returns 0, an outcome, or an errno. */
int query_load(Query *query, unsigned parts);
