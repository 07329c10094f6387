/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answer tally: how often and how long, for each key */

#include "answers/answer-tally.h"

#include <errno.h>
#include <stdlib.h>

#include "answers/answer-time.h"

void answer_tally_deinit(AnswerTally *tally) {
        trace_map_deinit(&tally->places);
        free(tally->items);
        *tally = (AnswerTally){ 0 };
}

static AnswerTallyItem *tally_item(AnswerTally *tally, uint64_t key) {
        uint64_t place = trace_map_find(&tally->places, key);

        if (place != TRACE_MAP_NONE)
                return &tally->items[place];
        if (trace_reserve((void **)&tally->items,
                          &tally->n_allocated,
                          tally->n + 1,
                          sizeof(*tally->items)) ||
            trace_map_set(&tally->places, key, tally->n))
                return NULL;
        tally->items[tally->n] = (AnswerTallyItem){ .key = key };
        return &tally->items[tally->n++];
}

int answer_tally_add(AnswerTally *tally, uint64_t key, int64_t at, int64_t ns) {
        AnswerTallyItem *item = tally_item(tally, key);

        if (!item)
                return -ENOMEM;
        if (item->n++ == 0 || ns > item->max_ns) {
                item->max_ns = ns;
                item->max_at = at;
        }
        item->total_ns = time_add(item->total_ns, ns);
        return 0;
}

int answer_tally_add_time(AnswerTally *tally, uint64_t key, int64_t ns) {
        AnswerTallyItem *item = tally_item(tally, key);

        if (!item)
                return -ENOMEM;
        item->total_ns = time_add(item->total_ns, ns);
        return 0;
}

static int compare_keys(const AnswerTallyItem *a, const AnswerTallyItem *b) {
        return a->key < b->key ? -1 : a->key > b->key;
}

static int compare_times(const void *x, const void *y) {
        const AnswerTallyItem *a = x, *b = y;

        if (a->total_ns != b->total_ns)
                return a->total_ns > b->total_ns ? -1 : 1;
        if (a->n != b->n)
                return a->n > b->n ? -1 : 1;
        return compare_keys(a, b);
}

static int compare_counts(const void *x, const void *y) {
        const AnswerTallyItem *a = x, *b = y;

        if (a->n != b->n)
                return a->n > b->n ? -1 : 1;
        return compare_keys(a, b);
}

void answer_tally_sort(AnswerTally *tally) {
        if (tally->n)
                qsort(tally->items, tally->n, sizeof(*tally->items), compare_times);
}

void answer_tally_sort_by_count(AnswerTally *tally) {
        if (tally->n)
                qsort(tally->items, tally->n, sizeof(*tally->items), compare_counts);
}

const AnswerTallyItem *answer_tally_most(const AnswerTally *tally) {
        const AnswerTallyItem *most = NULL;

        for (size_t i = 0; i < tally->n; i++)
                if (!most || compare_times(&tally->items[i], most) < 0)
                        most = &tally->items[i];
        return most;
}
