/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer tally: how often and how long, for each key
 */

#include "trace/trace-map.h"

typedef struct AnswerTallyItem {
        uint64_t key;
        uint64_t n;
        int64_t total_ns, max_ns;
        int64_t max_at; /* when the longest began */
} AnswerTallyItem;

typedef struct AnswerTally {
        AnswerTallyItem *items;
        size_t n, n_allocated;
        TraceMap places;
} AnswerTally;

void answer_tally_deinit(AnswerTally *tally);

/* Returns 0, or -ENOMEM. */
int answer_tally_add(AnswerTally *tally, uint64_t key, int64_t at, int64_t ns);
/* Likewise, but adds only time and counts nothing. */
int answer_tally_add_time(AnswerTally *tally, uint64_t key, int64_t ns);

/* The longest first, and of equals the more frequent one first; no key can be added afterwards. */
void answer_tally_sort(AnswerTally *tally);
/* Likewise, by the count. */
void answer_tally_sort_by_count(AnswerTally *tally);

/* Returns NULL if nothing was counted. */
const AnswerTallyItem *answer_tally_most(const AnswerTally *tally);
