/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answer time: sums and ranges of times that a file chose */

#include "answers/answer-time.h"

static void table_bounds(const TraceTable *table, bool lasts, int64_t *start, int64_t *end) {
        for (uint32_t row = 0; row < table->n; row++) {
                int64_t ts = trace_table_i64(table, 0, row);
                int64_t dur = lasts ? trace_table_i64(table, 1, row) : 0;

                *start = MIN(*start, ts);
                *end = MAX(*end, dur > 0 ? time_add(ts, dur) : ts);
        }
}

/* Samples that are weighted with time cover all of it. */
static void sample_bounds(const TraceStore *store, int64_t *start, int64_t *end) {
        const TraceTable *table = &store->tables[TRACE_TABLE_STACK_SAMPLE];
        const uint32_t ns = trace_pool_find(&store->pool, "ns", 2);

        for (uint32_t row = 0; row < table->n; row++) {
                int64_t ts = trace_table_i64(table, WEIGHED_TS, row);

                *start = MIN(*start, ts);
                if (trace_table_get(table, WEIGHED_UNIT, row) == ns)
                        ts = time_add(ts, trace_table_i64(table, WEIGHED_WEIGHT, row));
                *end = MAX(*end, ts);
        }
}

bool answer_time_bounds(const TraceStore *store, int64_t *ret_start, int64_t *ret_end) {
        int64_t start = INT64_MAX, end = INT64_MIN;

        table_bounds(&store->tables[TRACE_TABLE_SLICE], true, &start, &end);
        table_bounds(&store->tables[TRACE_TABLE_TRACK_STATE], true, &start, &end);
        table_bounds(&store->tables[TRACE_TABLE_SCHED], true, &start, &end);
        table_bounds(&store->tables[TRACE_TABLE_COUNTER], false, &start, &end);
        table_bounds(&store->tables[TRACE_TABLE_SAMPLE], false, &start, &end);
        table_bounds(&store->tables[TRACE_TABLE_HEAP], false, &start, &end);
        sample_bounds(store, &start, &end);
        if (start > end)
                table_bounds(&store->tables[TRACE_TABLE_LOG], false, &start, &end);
        *ret_start = start;
        *ret_end = end;
        return start <= end;
}

uint32_t answer_time_find(const TraceTable *table, int64_t at) {
        uint32_t low = 0, high = (uint32_t)table->n;

        while (low < high) {
                uint32_t middle = low + (high - low) / 2;

                if (trace_table_i64(table, 0, middle) < at)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}
