/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What is computed of the store's rows, once it is asked for
 */

#include "query/query-private.h"

void query_forget_rows(Query *query) {
        for (size_t i = 0; i < _TRACE_TABLE_N; i++)
                for (size_t j = 0; j < QUERY_COLUMNS_MAX; j++)
                        query_index_deinit(&query->indexes[i][j]);
        free(TAKE(query->self_dur));
}

const int64_t *query_self_durations(Query *query) {
        const TraceTable *table = &query->store->tables[TRACE_TABLE_SLICE];

        if (query->self_dur)
                return query->self_dur;
        query->self_dur = reallocarray(NULL, table->n + 1, sizeof(*query->self_dur));
        if (!query->self_dur)
                return NULL;
        for (uint32_t row = 0; row < table->n; row++) {
                uint32_t parent = trace_table_get(table, SLICE_PARENT, row);
                int64_t dur = trace_table_i64(table, SLICE_DUR, row);

                query->self_dur[row] = dur;
                if (parent != TRACE_NONE)
                        query->self_dur[parent] -= dur;
        }
        return query->self_dur;
}
