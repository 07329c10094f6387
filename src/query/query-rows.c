/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Values computed from the store's rows on first use
 */

#include "query/query-private.h"

void query_forget_rows(Query *query) {
        for (size_t i = 0; i < _TRACE_TABLE_N; i++)
                for (size_t j = 0; j < QUERY_COLUMNS_MAX; j++)
                        query_index_deinit(&query->indexes[i][j]);
        free(TAKE(query->self_dur));
        free(TAKE(query->slice_stats));
}

const int64_t *query_self_durations(Query *query) {
        const TraceTable *table = &query->store->tables[TRACE_TABLE_SLICE];
        const int64_t *durations;
        const uint32_t *parents;

        if (query->self_dur)
                return query->self_dur;
        query->self_dur = reallocarray(NULL, table->n + 1, sizeof(*query->self_dur));
        if (!query->self_dur)
                return NULL;
        durations = table->columns[SLICE_DUR];
        parents = table->columns[SLICE_PARENT];
        for (size_t row = 0; row < table->n; row++) {
                query->self_dur[row] = durations[row];
                /* Sums of hostile files overflow. */
                if (parents[row] != TRACE_NONE)
                        query->self_dur[parents[row]] =
                                (int64_t)((uint64_t)query->self_dur[parents[row]] -
                                          (uint64_t)durations[row]);
        }
        return query->self_dur;
}
