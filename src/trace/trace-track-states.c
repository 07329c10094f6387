/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace track states: which state each track is in, from when to when */

#include "trace/trace-track-states.h"

void trace_track_states_deinit(TraceTrackStates *states) {
        trace_map_deinit(&states->open);
        trace_args_deinit(&states->merged);
        *states = (TraceTrackStates){ 0 };
}

static TraceTable *state_table(const TraceTrackStates *states) {
        return trace_store_table(states->store, TRACE_TABLE_TRACK_STATE);
}

static void
state_add_args(TraceTrackStates *states, TraceTable *table, uint32_t row, uint32_t args) {
        uint32_t before = trace_table_get(table, TRACK_STATE_ARGS, row);

        if (args == TRACE_NONE)
                return;
        if (before != TRACE_NONE)
                args = trace_arg_sets_join(
                        states->sets, states->store, &states->merged, before, args);
        trace_table_set(table, TRACK_STATE_ARGS, row, args);
}

static uint32_t state_begin(TraceTable *table,
                            uint32_t track,
                            int64_t at_ns,
                            uint32_t category,
                            uint32_t value,
                            uint32_t args) {
        uint32_t row = trace_table_add(table);

        if (row == TRACE_NONE)
                return row;
        trace_table_set_i64(table, TRACK_STATE_TS, row, at_ns);
        trace_table_set_i64(table, TRACK_STATE_DUR, row, -1);
        trace_table_set(table, TRACK_STATE_TRACK, row, track);
        trace_table_set(table, TRACK_STATE_CATEGORY, row, category);
        trace_table_set(table, TRACK_STATE_VALUE, row, value);
        if (args != TRACE_NONE)
                trace_table_set(table, TRACK_STATE_ARGS, row, args);
        return row;
}

void trace_track_states_set(TraceTrackStates *states,
                            uint32_t track,
                            int64_t at_ns,
                            uint32_t category,
                            uint32_t value,
                            uint32_t args) {
        TraceTable *table = state_table(states);
        uint64_t known = trace_map_find(&states->open, track);
        uint32_t row = known == TRACE_MAP_NONE ? TRACE_NONE : (uint32_t)known;

        if (row != TRACE_NONE && trace_table_get(table, TRACK_STATE_VALUE, row) == value) {
                state_add_args(states, table, row, args);
                return;
        }
        if (row != TRACE_NONE)
                trace_table_set_i64(table,
                                    TRACK_STATE_DUR,
                                    row,
                                    at_ns - trace_table_i64(table, TRACK_STATE_TS, row));
        row = value ? state_begin(table, track, at_ns, category, value, args) : TRACE_NONE;
        if (trace_map_set(&states->open, track, row))
                states->store->budget.is_over = true;
}
