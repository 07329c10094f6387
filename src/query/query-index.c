/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Query index: the rows of each value of a column */

#include "query/query-index.h"

#include <errno.h>

/* Numbers are chosen by files, so only those close to each other are sorted by counting. */
#define SPREAD_MAX 4

void query_index_deinit(QueryIndex *index) {
        free(index->rows);
        free(index->starts);
        *index = (QueryIndex){ 0 };
}

bool query_index_suits(TraceType type) {
        return type == TRACE_TYPE_ID || type == TRACE_TYPE_NAME || type == TRACE_TYPE_U16 ||
               type == TRACE_TYPE_U8 || type == TRACE_TYPE_STATE || type == TRACE_TYPE_I32;
}

/* The index into starts; rows without a value come last. */
static size_t
index_place(const QueryIndex *index, const TraceTable *table, unsigned column, uint32_t row) {
        int64_t value;

        return trace_table_number(table, column, row, &value) ? (size_t)value : index->n_values;
}

static int index_measure(QueryIndex *index, const TraceTable *table, unsigned column) {
        int64_t value, most = -1;

        for (uint32_t row = 0; row < table->n; row++)
                if (trace_table_number(table, column, row, &value)) {
                        if (value < 0)
                                return -E2BIG;
                        most = MAX(most, value);
                }
        if (most > (int64_t)(table->n * SPREAD_MAX + (1u << 20)))
                return -E2BIG;
        index->n_values = (size_t)(most + 1);
        return 0;
}

static void index_count(QueryIndex *index, const TraceTable *table, unsigned column) {
        uint32_t start = 0;

        for (uint32_t row = 0; row < table->n; row++)
                index->starts[index_place(index, table, column, row)]++;
        for (size_t i = 0; i <= index->n_values; i++) {
                uint32_t n = index->starts[i];

                index->n_distinct += n > 0;
                index->starts[i] = start;
                start += n;
        }
        index->starts[index->n_values + 1] = start;
}

/* Each start moves to its end, which is the next one's start: then all are moved back by one. */
static void index_fill(QueryIndex *index, const TraceTable *table, unsigned column) {
        for (uint32_t row = 0; row < table->n; row++)
                index->rows[index->starts[index_place(index, table, column, row)]++] = row;
        for (size_t i = index->n_values + 1; i > 0; i--)
                index->starts[i] = index->starts[i - 1];
        index->starts[0] = 0;
}

int query_index_make(QueryIndex *index, const TraceTable *table, unsigned column) {
        int r;

        if (index->is_made)
                return 0;
        r = index_measure(index, table, column);
        if (r)
                return r;
        index->starts = calloc(index->n_values + 2, sizeof(*index->starts));
        index->rows = reallocarray(NULL, table->n + 1, sizeof(*index->rows));
        if (!index->starts || !index->rows) {
                query_index_deinit(index);
                return -ENOMEM;
        }
        index_count(index, table, column);
        index_fill(index, table, column);
        index->is_made = true;
        return 0;
}

size_t query_index_find(const QueryIndex *index, int64_t value, const uint32_t **ret) {
        if (value < 0 || (uint64_t)value >= index->n_values)
                return 0;
        *ret = index->rows + index->starts[value];
        return index->starts[value + 1] - index->starts[value];
}
