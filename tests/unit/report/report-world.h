/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A store whose rows the tests make themselves
 */

#include "trace/trace-store.h"

#define STORE_BYTES_MAX (UINT64_C(1) << 30)

static inline uint32_t add_slice(TraceStore *store,
                                 uint32_t track,
                                 unsigned depth,
                                 int64_t ts,
                                 int64_t duration,
                                 const char *name) {
        TraceTable *slices = trace_store_table(store, TRACE_TABLE_SLICE);
        uint32_t row = trace_table_add(slices);

        trace_table_set_i64(slices, SLICE_TS, row, ts);
        trace_table_set_i64(slices, SLICE_DUR, row, duration);
        trace_table_set(slices, SLICE_TRACK, row, track);
        trace_table_set(slices, SLICE_DEPTH, row, depth);
        trace_table_set(slices, SLICE_NAME, row, trace_pool_add_text(&store->pool, name));
        return row;
}

static inline uint32_t add_track(TraceStore *store, const char *name, unsigned kind) {
        TraceTable *tracks = trace_store_table(store, TRACE_TABLE_TRACK);
        uint32_t row = trace_table_add(tracks);

        trace_table_set(tracks, TRACK_NAME, row, trace_pool_add_text(&store->pool, name));
        trace_table_set(tracks, TRACK_KIND, row, kind);
        return row;
}

static inline void add_value(TraceStore *store, uint32_t track, int64_t ts, double value) {
        TraceTable *counters = trace_store_table(store, TRACE_TABLE_COUNTER);
        uint32_t row = trace_table_add(counters);

        trace_table_set_i64(counters, COUNTER_TS, row, ts);
        trace_table_set(counters, COUNTER_TRACK, row, track);
        trace_table_set_double(counters, COUNTER_VALUE, row, value);
}
