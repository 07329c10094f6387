/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Query tables: the columns that SQL sees, and where they come from
 */

#include "trace/trace-store.h"

typedef enum QueryColumnKind {
        QUERY_COLUMN_STORED,
        QUERY_COLUMN_ID,   /* the row's number */
        QUERY_COLUMN_END,  /* columns 0 and 1: a time and a duration */
        QUERY_COLUMN_NULL, /* Desktrace's reader never knows it */
        QUERY_COLUMN_ZERO,
        QUERY_COLUMN_SINGLE,  /* "single" */
        QUERY_COLUMN_STATE,   /* a state, by name */
        QUERY_COLUMN_ARG_INT, /* values of an argument, by type */
        QUERY_COLUMN_ARG_REAL,
        QUERY_COLUMN_ARG_TEXT,
        QUERY_COLUMN_SELF_DUR,
} QueryColumnKind;

typedef struct QueryColumn {
        const char *name;
        QueryColumnKind kind;
        unsigned stored;
        unsigned parts; /* parts it needs besides those of its table */
} QueryColumn;

typedef struct QueryTable {
        const char *name;
        TraceTableId table;
        unsigned parts;
        const QueryColumn *columns;
        size_t n_columns;
} QueryTable;

extern const QueryTable query_tables[];
/* Returns NULL if no table has this name. */
const QueryTable *query_table_find(const char *name, size_t n);
size_t query_tables_count(void);
