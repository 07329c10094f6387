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
        uint32_t *rows;   /* rows by value, in order within each; those without a value last */
        uint32_t *starts; /* where each value begins in rows, and the end: n_values + 2 of them */
        size_t n_values;
        size_t n_distinct;
        bool is_made;
} QueryIndex;

void query_index_deinit(QueryIndex *index);

/* Whether a column of this type can have one. */
bool query_index_suits(TraceType type);
/* Returns 0, or -ENOMEM; -E2BIG if values are too large. */
int query_index_make(QueryIndex *index, const TraceTable *table, unsigned column);

/* The rows that have a value. */
size_t query_index_find(const QueryIndex *index, int64_t value, const uint32_t **ret);
