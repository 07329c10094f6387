/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Query index: the rows of each value of a column
 *
 * Values are small numbers (threads, tracks, names), so rows are sorted by counting.
 */

#include <stdbool.h>

#include "trace/trace-table.h"

typedef struct QueryIndex {
        uint32_t *rows;   /* by value, and of one value in order; those without a value last */
        uint32_t *starts; /* of each value in rows, and the end: n_values + 2 of them */
        size_t n_values;
        size_t n_distinct;
        bool is_made;
} QueryIndex;

void query_index_deinit(QueryIndex *index);

/* Whether this type of column can have one. */
bool query_index_suits(TraceType type);
/* 0, or -ENOMEM; -E2BIG for values that are too large. */
int query_index_make(QueryIndex *index, const TraceTable *table, unsigned column);

/* The rows with a value. */
size_t query_index_find(const QueryIndex *index, int64_t value, const uint32_t **ret);
