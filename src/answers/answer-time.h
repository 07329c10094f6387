/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer time: sums and ranges of times that a file chose
 */

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace-store.h"

/* Saturates at the largest or smallest value. */
static inline int64_t time_add(int64_t a, int64_t b) {
        int64_t sum;

        return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

static inline int64_t time_since(int64_t at, int64_t start) {
        int64_t ns;

        return __builtin_sub_overflow(at, start, &ns) ? (at > start ? INT64_MAX : INT64_MIN) : ns;
}

/* How much of the time from `ts` to `end` lies between the other two. */
static inline int64_t time_overlap(int64_t ts, int64_t end, int64_t from, int64_t to) {
        int64_t first = ts > from ? ts : from, last = end < to ? end : to;

        return last > first ? time_since(last, first) : 0;
}

/* Rounded down, and saturated. */
static inline int64_t time_of_real(double ns) {
        return ns >= 9.2e18 ? INT64_MAX : ns <= -9.2e18 ? INT64_MIN : (int64_t)ns;
}

/* From the first event to the end of the last one: of slices, counters, switches, samples and heaps; of the journal
 * only if there are none of these. Returns false if there is nothing. */
bool answer_time_bounds(const TraceStore *store, int64_t *ret_start, int64_t *ret_end);

/* The first row of a sorted table at or after a time. */
uint32_t answer_time_find(const TraceTable *table, int64_t at);
