/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The slowest slices of a name, and how they differ from the usual ones
 *
 * Usual is the median of each part over all slices of the name in the range. The part that is furthest above its median
 * explains a slow slice; the answer adds the longest slice inside it.
 */

#include <errno.h>

#include "answers/answer-questions.h"
#include "answers/answer-slices.h"
#include "answers/answer-states.h"
#include "answers/answer-time.h"
#include "answers/answer-who.h"
#include "shared/quantile.h"

static const AnswerColumn facts[] = {
        [SLOWEST_FACT_NAME] = { "name", NULL, ANSWER_TEXT },
        [SLOWEST_FACT_N] = { "n", NULL, ANSWER_COUNT },
        [SLOWEST_FACT_P50] = { "p50_ns", NULL, ANSWER_NS },
        [SLOWEST_FACT_MAX] = { "max_ns", NULL, ANSWER_NS },
        [SLOWEST_FACT_WHAT] = { "different", NULL, ANSWER_WORD },
        [SLOWEST_FACT_EXCESS] = { "more_than_usual_ns", NULL, ANSWER_NS },
};

enum {
        COLUMN_ID,
        COLUMN_AT,
        COLUMN_DUR,
        COLUMN_THREAD,
        COLUMN_RAN,
        COLUMN_RUNNABLE,
        COLUMN_IO,
        COLUMN_SLEPT,
        COLUMN_WHAT,
        COLUMN_EXCESS,
        COLUMN_CHILD,
        COLUMN_CHILD_DUR
};

static const AnswerColumn columns[] = {
        [COLUMN_ID] = { "id", N_("ID"), ANSWER_COUNT },
        [COLUMN_AT] = { "at", N_("AT"), ANSWER_TIME },
        [COLUMN_DUR] = { "dur_ns", N_("TIME"), ANSWER_NS },
        [COLUMN_THREAD] = { "thread", N_("THREAD"), ANSWER_TEXT },
        [COLUMN_RAN] = { "ran_ns", N_("RAN"), ANSWER_NS },
        [COLUMN_RUNNABLE] = { "runnable_ns", N_("RUNNABLE"), ANSWER_NS },
        [COLUMN_IO] = { "blocked_ns", N_("BLOCKED"), ANSWER_NS },
        [COLUMN_SLEPT] = { "slept_ns", N_("SLEPT"), ANSWER_NS },
        [COLUMN_WHAT] = { "different", N_("DIFFERENT"), ANSWER_WORD },
        [COLUMN_EXCESS] = { "more_than_usual_ns", N_("BY"), ANSWER_NS },
        [COLUMN_CHILD] = { "inside", N_("LONGEST INSIDE"), ANSWER_TEXT },
        [COLUMN_CHILD_DUR] = { "inside_ns", NULL, ANSWER_NS },
};

enum { PART_RAN, PART_RUNNABLE, PART_BLOCKED, PART_SLEPT, _PARTS };

static const char *const part_words[_PARTS] = {
        [PART_RAN] = N_("it ran longer"),
        [PART_RUNNABLE] = N_("it waited longer for a CPU"),
        [PART_BLOCKED] = N_("it was blocked longer in the kernel"),
        [PART_SLEPT] = N_("it slept longer"),
};
static const char word_unknown[] = N_("not known: record scheduling as well");

typedef struct SlowSlice {
        uint32_t row, utid;
        int64_t dur;
        int64_t parts[_PARTS];
} SlowSlice;

typedef struct SlowSlices {
        const AnswerQuestion *question;
        SlowSlice *slices;
        size_t n, n_allocated;
        int64_t usual[_PARTS];
        bool has_states;
} SlowSlices;

static void slow_deinit(SlowSlices *slow) {
        free(slow->slices);
}

static int slow_collect(SlowSlices *slow, uint32_t name) {
        const TraceStore *store = slow->question->store;
        const TraceTable *table = &store->tables[TRACE_TABLE_SLICE];

        for (uint32_t row = answer_time_find(table, slow->question->start); row < table->n; row++) {
                if (answer_slice_ts(store, row) > slow->question->end)
                        break;
                if (trace_table_get(table, SLICE_NAME, row) != name ||
                    answer_slice_dur(store, row) < 0)
                        continue;
                if (trace_reserve((void **)&slow->slices,
                                  &slow->n_allocated,
                                  slow->n + 1,
                                  sizeof(*slow->slices)))
                        return -ENOMEM;
                slow->slices[slow->n++] = (SlowSlice){ .row = row,
                                                       .utid = answer_slice_thread(store, row),
                                                       .dur = answer_slice_dur(store, row) };
        }
        return 0;
}

static int compare_threads(const void *x, const void *y) {
        const SlowSlice *a = x, *b = y;

        return a->utid != b->utid ? (a->utid < b->utid ? -1 : 1)
                                  : (a->row < b->row ? -1 : a->row > b->row);
}

static int compare_durations(const void *x, const void *y) {
        const SlowSlice *a = x, *b = y;

        return a->dur != b->dur ? (a->dur > b->dur ? -1 : 1)
                                : (a->row < b->row ? -1 : a->row > b->row);
}

static void slow_divide(SlowSlices *slow, const AnswerStates *states, SlowSlice *slice) {
        int64_t sums[_ANSWER_STATES], from = answer_slice_ts(slow->question->store, slice->row);

        answer_states_add_up(states, from, time_add(from, slice->dur), sums);
        slice->parts[PART_RAN] = sums[ANSWER_STATE_RAN];
        slice->parts[PART_RUNNABLE] = sums[ANSWER_STATE_RUNNABLE];
        slice->parts[PART_BLOCKED] = time_add(sums[ANSWER_STATE_IO], sums[ANSWER_STATE_BLOCKED]);
        slice->parts[PART_SLEPT] = sums[ANSWER_STATE_SLEPT];
}

/* One thread after the other, so that each thread's states are found only once. */
static int slow_divide_all(SlowSlices *slow) {
        qsort(slow->slices, slow->n, sizeof(*slow->slices), compare_threads);
        for (size_t i = 0, end; i < slow->n; i = end) {
                _cleanup_(answer_states_deinit) AnswerStates states = { 0 };
                uint32_t utid = slow->slices[i].utid;
                int r = answer_states_init(
                        &states, slow->question->store, utid, slow->question->last);

                if (r)
                        return r;
                slow->has_states |= states.n > 0;
                for (end = i; end < slow->n && slow->slices[end].utid == utid; end++)
                        slow_divide(slow, &states, &slow->slices[end]);
        }
        return 0;
}

static int slow_find_usual(SlowSlices *slow, int64_t *ret_p50) {
        _cleanup_(freep) double *values = reallocarray(NULL, slow->n, sizeof(*values));

        if (!values)
                return -ENOMEM;
        for (size_t part = 0; part < _PARTS; part++) {
                for (size_t i = 0; i < slow->n; i++)
                        values[i] = (double)slow->slices[i].parts[part];
                slow->usual[part] = time_of_real(quantile(values, slow->n, 0.5));
        }
        for (size_t i = 0; i < slow->n; i++)
                values[i] = (double)slow->slices[i].dur;
        *ret_p50 = time_of_real(quantile(values, slow->n, 0.5));
        return 0;
}

/* The part that is furthest above its usual time. */
static size_t most_different(const SlowSlices *slow, const SlowSlice *slice, int64_t *ret_excess) {
        size_t most = 0;

        for (size_t part = 1; part < _PARTS; part++)
                if (slice->parts[part] - slow->usual[part] > slice->parts[most] - slow->usual[most])
                        most = part;
        *ret_excess = slice->parts[most] - slow->usual[most];
        return most;
}

static uint32_t longest_child(const TraceStore *store, const SlowSlice *slice) {
        const TraceTable *table = &store->tables[TRACE_TABLE_SLICE];
        int64_t end = time_add(answer_slice_ts(store, slice->row), slice->dur), longest = 0;
        uint32_t child = TRACE_NONE;

        for (uint32_t row = slice->row + 1; row < table->n; row++) {
                if (answer_slice_ts(store, row) > end)
                        break;
                if (trace_table_get(table, SLICE_PARENT, row) == slice->row &&
                    answer_slice_dur(store, row) > longest) {
                        child = row;
                        longest = answer_slice_dur(store, row);
                }
        }
        return child;
}

static void put_parts(AnswerValue *cells, const SlowSlices *slow, const SlowSlice *slice) {
        static const unsigned part_columns[_PARTS] = {
                COLUMN_RAN, COLUMN_RUNNABLE, COLUMN_IO, COLUMN_SLEPT
        };
        int64_t excess;
        size_t most = most_different(slow, slice, &excess);

        for (size_t part = 0; part < _PARTS; part++)
                answer_set(&cells[part_columns[part]], slice->parts[part]);
        if (excess > 0) {
                answer_set_word(&cells[COLUMN_WHAT], part_words[most]);
                answer_set(&cells[COLUMN_EXCESS], excess);
        }
}

static void put_slice(Answer *answer, const SlowSlices *slow, const SlowSlice *slice) {
        const TraceStore *store = slow->question->store;
        const TraceTable *table = &store->tables[TRACE_TABLE_SLICE];
        AnswerValue *cells = answer_add_row(answer);
        uint32_t child;

        if (!cells)
                return;
        answer_set(&cells[COLUMN_ID], slice->row);
        answer_set(&cells[COLUMN_AT],
                   time_since(answer_slice_ts(store, slice->row), slow->question->zero));
        answer_set(&cells[COLUMN_DUR], slice->dur);
        answer_set_thread(answer, &cells[COLUMN_THREAD], store, slice->utid);
        if (slow->has_states)
                put_parts(cells, slow, slice);
        child = longest_child(store, slice);
        if (child == TRACE_NONE)
                return;
        answer_set_name(
                answer, &cells[COLUMN_CHILD], store, trace_table_get(table, SLICE_NAME, child));
        answer_set(&cells[COLUMN_CHILD_DUR], answer_slice_dur(store, child));
}

static int slow_put(Answer *answer, SlowSlices *slow, uint32_t name) {
        int64_t p50, excess;
        size_t most;
        int r = slow_find_usual(slow, &p50);

        if (r)
                return r;
        qsort(slow->slices, slow->n, sizeof(*slow->slices), compare_durations);
        most = most_different(slow, &slow->slices[0], &excess);
        answer_set_name(answer, &answer->facts[SLOWEST_FACT_NAME], slow->question->store, name);
        answer_set(&answer->facts[SLOWEST_FACT_N], (int64_t)slow->n);
        answer_set(&answer->facts[SLOWEST_FACT_P50], p50);
        answer_set(&answer->facts[SLOWEST_FACT_MAX], slow->slices[0].dur);
        if (!slow->has_states)
                answer_set_word(&answer->facts[SLOWEST_FACT_WHAT], word_unknown);
        else if (excess > 0)
                answer_set_word(&answer->facts[SLOWEST_FACT_WHAT], part_words[most]);
        if (slow->has_states && excess > 0)
                answer_set(&answer->facts[SLOWEST_FACT_EXCESS], excess);
        for (size_t i = 0; i < slow->n; i++)
                put_slice(answer, slow, &slow->slices[i]);
        return 0;
}

static int slowest_find(Answer *answer, const AnswerQuestion *question) {
        _cleanup_(slow_deinit) SlowSlices slow = { .question = question };
        uint32_t name = answer_slice_name(question);
        int r = name ? slow_collect(&slow, name) : 0;

        if (r == 0 && slow.n == 0)
                return ANSWER_E_NO_SLICE;
        if (r == 0)
                r = slow_divide_all(&slow);
        return r ? r : slow_put(answer, &slow, name);
}

const AnswerDef answer_slowest = {
        .name = "slowest",
        .record = "desktrace record -p default",
        .parts = TRACE_PART_THREADS | TRACE_PART_EVENTS | TRACE_PART_SCHED | TRACE_PART_STATES,
        .options = ANSWER_TAKES_SLICE | ANSWER_NEEDS_SLICE,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = slowest_find,
};
