/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * How long slices take, by name
 *
 * A percentile is reported only if there are enough slices for it to differ from the longest one: 0.99^n must be below
 * 2.5 %, which takes 367 slices for p99 and 36 for p90.
 */

#include <errno.h>

#include "answers/answer-questions.h"
#include "answers/answer-slices.h"
#include "answers/answer-tally.h"
#include "answers/answer-time.h"
#include "shared/quantile.h"

#define TIMES_P90_MIN 36
#define TIMES_P99_MIN 367

static const AnswerColumn facts[] = {
        [TIMES_FACT_N] = { "n", NULL, ANSWER_COUNT },
        [TIMES_FACT_NAMES] = { "names", NULL, ANSWER_COUNT },
        [TIMES_FACT_OPEN] = { "still_open", NULL, ANSWER_COUNT },
};

enum { COLUMN_P50 = TIMES_COLUMN_NS + 1, COLUMN_P90, COLUMN_P99, COLUMN_MAX, COLUMN_ID };

static const AnswerColumn columns[] = {
        [TIMES_COLUMN_NAME] = { "name", N_("NAME"), ANSWER_TEXT },
        [TIMES_COLUMN_N] = { "n", N_("TIMES"), ANSWER_COUNT },
        [TIMES_COLUMN_NS] = { "total_ns", N_("TOTAL"), ANSWER_NS },
        [COLUMN_P50] = { "p50_ns", N_("P50"), ANSWER_NS },
        [COLUMN_P90] = { "p90_ns", N_("P90"), ANSWER_NS },
        [COLUMN_P99] = { "p99_ns", N_("P99"), ANSWER_NS },
        [COLUMN_MAX] = { "max_ns", N_("LONGEST"), ANSWER_NS },
        [COLUMN_ID] = { "longest_id", N_("ITS ID"), ANSWER_COUNT },
};

typedef struct Times {
        const AnswerQuestion *question;
        uint32_t name; /* or 0: all */
        AnswerTally tally;
        uint32_t *rows; /* the counted slices */
        size_t n_rows, n_rows_allocated;
        uint64_t n_open;
} Times;

static void times_deinit(Times *times) {
        answer_tally_deinit(&times->tally);
        free(times->rows);
}

static int times_take(Times *times, uint32_t row) {
        const TraceStore *store = times->question->store;
        uint32_t name = trace_table_get(&store->tables[TRACE_TABLE_SLICE], SLICE_NAME, row);
        int64_t dur = answer_slice_dur(store, row);

        if (times->name && name != times->name)
                return 0;
        times->n_open += dur < 0;
        if (dur <= 0)
                return 0; /* zero: an instant */
        if (trace_reserve((void **)&times->rows,
                          &times->n_rows_allocated,
                          times->n_rows + 1,
                          sizeof(*times->rows)))
                return -ENOMEM;
        times->rows[times->n_rows++] = row;
        return answer_tally_add(&times->tally, name, row, dur);
}

static int times_collect(Times *times) {
        const AnswerQuestion *question = times->question;
        const TraceTable *table = &question->store->tables[TRACE_TABLE_SLICE];

        for (uint32_t row = answer_time_find(table, question->start); row < table->n; row++) {
                int r;

                if (answer_slice_ts(question->store, row) > question->end)
                        break;
                r = times_take(times, row);
                if (r)
                        return r;
        }
        return 0;
}

static void put_quantiles(AnswerValue *cells, double *values, size_t n) {
        answer_set(&cells[COLUMN_P50], time_of_real(quantile(values, n, 0.5)));
        if (n >= TIMES_P90_MIN)
                answer_set(&cells[COLUMN_P90], time_of_real(quantile(values, n, 0.9)));
        if (n >= TIMES_P99_MIN)
                answer_set(&cells[COLUMN_P99], time_of_real(quantile(values, n, 0.99)));
}

static void
put_name(Answer *answer, const Times *times, const AnswerTallyItem *item, double *values) {
        AnswerValue *cells = answer_add_row(answer);

        if (!cells)
                return;
        answer_set_name(
                answer, &cells[TIMES_COLUMN_NAME], times->question->store, (uint32_t)item->key);
        answer_set(&cells[TIMES_COLUMN_N], (int64_t)item->n);
        answer_set(&cells[TIMES_COLUMN_NS], item->total_ns);
        put_quantiles(cells, values, item->n);
        answer_set(&cells[COLUMN_MAX], item->max_ns);
        answer_set(&cells[COLUMN_ID], item->max_at);
}

/* Durations by name: those of one name together, in the tally's order before it is sorted. */
static int times_put(Answer *answer, Times *times) {
        const TraceStore *store = times->question->store;
        AnswerTally *tally = &times->tally;
        _cleanup_(freep) double *values = reallocarray(NULL, times->n_rows + 1, sizeof(*values));
        _cleanup_(freep) size_t *first = reallocarray(NULL, tally->n + 1, sizeof(*first));
        _cleanup_(trace_map_deinit) TraceMap places = { 0 };
        size_t n = 0;

        if (!values || !first)
                return -ENOMEM;
        answer_tally_sort(tally);
        for (size_t i = 0; i < tally->n; i++) {
                if (trace_map_set(&places, tally->items[i].key, i))
                        return -ENOMEM;
                first[i] = n;
                n += tally->items[i].n;
        }
        for (size_t i = 0; i < times->n_rows; i++) {
                uint32_t row = times->rows[i];
                uint32_t name = trace_table_get(&store->tables[TRACE_TABLE_SLICE], SLICE_NAME, row);

                values[first[trace_map_find(&places, name)]++] =
                        (double)answer_slice_dur(store, row);
        }
        for (size_t i = 0; i < tally->n; i++)
                put_name(answer, times, &tally->items[i], &values[first[i] - tally->items[i].n]);
        return 0;
}

static int times_find(Answer *answer, const AnswerQuestion *question) {
        _cleanup_(times_deinit)
                Times times = { .question = question, .name = answer_slice_name(question) };
        int r;

        if (question->slice && !times.name)
                return ANSWER_E_NO_SLICE;
        r = times_collect(&times);
        if (r == 0 && times.n_rows == 0)
                return ANSWER_E_NOTHING;
        if (r == 0)
                r = times_put(answer, &times);
        answer_set(&answer->facts[TIMES_FACT_N], (int64_t)times.n_rows);
        answer_set(&answer->facts[TIMES_FACT_NAMES], (int64_t)times.tally.n);
        answer_set(&answer->facts[TIMES_FACT_OPEN], (int64_t)times.n_open);
        return r;
}

const AnswerDef answer_times = {
        .name = "times",
        .record = "desktrace record -p apps",
        .parts = TRACE_PART_THREADS | TRACE_PART_EVENTS,
        .options = ANSWER_TAKES_SLICE,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = times_find,
};
