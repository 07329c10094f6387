/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Fleet tally: sums of thread states that can be added up over many recordings */

#include "client/fleet-tally.h"

#include "answers/answer-states.h"
#include "answers/answer-time.h"
#include "trace/trace-map.h"

#define NS_PER_S INT64_C(1000000000)

static int compare_keys(const void *left, const void *right) {
        uint64_t x = *(const uint64_t *)left, y = *(const uint64_t *)right; /* first in both */

        return x < y ? -1 : x > y;
}

/* Returns the key's place in the array, and adds the key if need be; TRACE_MAP_NONE: no memory. */
static uint64_t find_place(TraceMap *places, GArray *items, uint64_t key) {
        uint64_t place = trace_map_find(places, key);

        if (place != TRACE_MAP_NONE)
                return place;
        if (trace_map_set(places, key, items->len))
                return TRACE_MAP_NONE;
        g_array_set_size(items, items->len + 1);
        return items->len - 1;
}

/* Whether the thread was woken; otherwise it was taken off a CPU and can still run. */
static bool is_wakeup(const TraceStore *store, uint32_t row) {
        const TraceTable *states = &store->tables[TRACE_TABLE_STATE];

        return trace_table_get(states, STATE_STATE, row) == TRACE_STATE_RUNNABLE &&
               trace_table_get(states, STATE_WAKER_UTID, row) != TRACE_NONE;
}

/*
 * By second
 */

typedef struct Times {
        const TraceStore *store;
        TraceMap places;
        GArray *items; /* FleetTime */
        int64_t offset;
        int64_t first; /* second of the first event */
        size_t n_pieces;
        bool has_no_memory;
} Times;

static int64_t second_of(int64_t ns) {
        return ns / NS_PER_S;
}

/* Returns NULL if memory has run out, or if the time is too far away. */
static FleetTime *find_time(Times *times, int64_t second, uint32_t upid) {
        uint64_t key = (uint64_t)(second - times->first) << 32 | upid, place;
        FleetTime *item;

        if (second < times->first || second - times->first > UINT32_MAX ||
            times->n_pieces++ >= FLEET_PIECES_MAX)
                return NULL;
        place = find_place(&times->places, times->items, key);
        if (place == TRACE_MAP_NONE) {
                times->has_no_memory = true;
                return NULL;
        }
        item = &g_array_index(times->items, FleetTime, place);
        item->key = key;
        item->second = second;
        item->upid = upid;
        return item;
}

static void add_time(FleetTime *item, unsigned state, int64_t ns) {
        int64_t *sum = state == ANSWER_STATE_RAN        ? &item->running_ns
                       : state == ANSWER_STATE_RUNNABLE ? &item->runnable_ns
                                                        : &item->io_ns;

        *sum = time_add(*sum, ns);
}

/* Splits a state at full seconds. Returns false if a part of it was left out. */
static bool add_state(Times *times, uint32_t row, unsigned state) {
        const TraceTable *states = &times->store->tables[TRACE_TABLE_STATE];
        uint32_t utid = trace_table_get(states, STATE_UTID, row),
                 upid = utid == TRACE_NONE
                                ? TRACE_NONE
                                : trace_table_get(&times->store->tables[TRACE_TABLE_THREAD],
                                                  THREAD_UPID,
                                                  utid);
        int64_t ts = time_add(trace_table_i64(states, STATE_TS, row), times->offset),
                end = time_add(ts, MAX(trace_table_i64(states, STATE_DUR, row), 0));
        FleetTime *item = ts < 0 ? NULL : find_time(times, second_of(ts), upid);

        if (!item)
                return false; /* no memory, or a time before 1970 */
        item->n_switches += state == ANSWER_STATE_RAN;
        item->n_wakeups += is_wakeup(times->store, row);
        while (item && ts < end) {
                int64_t next = MIN(end, time_add(second_of(ts) * NS_PER_S, NS_PER_S));

                add_time(item, state, next - ts);
                ts = next;
                item = ts < end ? find_time(times, second_of(ts), upid) : NULL;
        }
        return ts >= end;
}

GArray *fleet_times(const TraceStore *store, int64_t realtime_offset, uint64_t *ret_n_left_out) {
        const TraceTable *states = &store->tables[TRACE_TABLE_STATE];
        Times times = { .store = store,
                        .offset = realtime_offset,
                        .items = g_array_new(FALSE, TRUE, sizeof(FleetTime)) };

        *ret_n_left_out = 0;
        if (states->n)
                times.first =
                        second_of(time_add(trace_table_i64(states, STATE_TS, 0), realtime_offset));
        for (uint32_t row = 0; row < states->n && !times.has_no_memory; row++) {
                unsigned state = answer_state_of(store, row);

                if (state <= ANSWER_STATE_IO)
                        *ret_n_left_out += !add_state(&times, row, state);
        }
        trace_map_deinit(&times.places);
        if (times.has_no_memory) {
                g_array_unref(times.items);
                return NULL;
        }
        g_array_sort(times.items, compare_keys);
        return times.items;
}

/*
 * By delay
 */

static unsigned log2_of(uint64_t ns) {
        return 63u - (unsigned)__builtin_clzll(ns | 1);
}

GArray *fleet_delays(const TraceStore *store) {
        const TraceTable *states = &store->tables[TRACE_TABLE_STATE];
        _cleanup_(trace_map_deinit) TraceMap places = { 0 };
        GArray *items = g_array_new(FALSE, TRUE, sizeof(FleetDelay));

        for (uint32_t row = 0; row < states->n; row++) {
                uint32_t utid = trace_table_get(states, STATE_UTID, row);
                int64_t ns = trace_table_i64(states, STATE_DUR, row);
                uint64_t place, key = (uint64_t)utid << 6;
                FleetDelay *item;

                if (ns < 0 || utid == TRACE_NONE || !is_wakeup(store, row))
                        continue;
                key |= log2_of((uint64_t)ns);
                place = find_place(&places, items, key);
                if (place == TRACE_MAP_NONE) {
                        g_array_unref(items);
                        return NULL;
                }
                item = &g_array_index(items, FleetDelay, place);
                item->key = key;
                item->utid = utid;
                item->log2_ns = log2_of((uint64_t)ns);
                item->n++;
                item->total_ns = time_add(item->total_ns, ns);
        }
        g_array_sort(items, compare_keys);
        return items;
}
