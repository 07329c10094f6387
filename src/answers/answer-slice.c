/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Where the time of one slice went
 *
 * Each piece of it is attributed to its cause: a CPU, the threads that occupied the CPU on which the thread ran next,
 * or a wait and who ended it. Time for which no state of the thread is known is reported as unknown.
 */

#include "answers/answer-cores.h"
#include "answers/answer-questions.h"
#include "answers/answer-slices.h"
#include "answers/answer-states.h"
#include "answers/answer-time.h"
#include "answers/answer-who.h"

static const AnswerColumn facts[] = {
        [SLICE_FACT_NAME] = { "name", NULL, ANSWER_TEXT },
        [SLICE_FACT_ID] = { "id", NULL, ANSWER_COUNT },
        [SLICE_FACT_AT] = { "at", NULL, ANSWER_TIME },
        [SLICE_FACT_DUR] = { "dur_ns", NULL, ANSWER_NS },
        [SLICE_FACT_THREAD] = { "thread", NULL, ANSWER_TEXT },
        [SLICE_FACT_RAN] = { "ran_ns", NULL, ANSWER_NS },
        [SLICE_FACT_RUNNABLE] = { "runnable_ns", NULL, ANSWER_NS },
        [SLICE_FACT_IO] = { "io_ns", NULL, ANSWER_NS },
        [SLICE_FACT_BLOCKED] = { "blocked_ns", NULL, ANSWER_NS },
        [SLICE_FACT_SLEPT] = { "slept_ns", NULL, ANSWER_NS },
        [SLICE_FACT_UNKNOWN] = { "unknown_ns", NULL, ANSWER_NS },
        [SLICE_FACT_OPEN] = { "is_open", NULL, ANSWER_COUNT },
};

enum { COLUMN_WHAT, COLUMN_WHO, COLUMN_NS, COLUMN_SHARE, COLUMN_N, COLUMN_LONGEST, COLUMN_IN };

static const AnswerColumn columns[] = {
        [COLUMN_WHAT] = { "what", N_("WHAT"), ANSWER_WORD },
        [COLUMN_WHO] = { "who", N_("WHO"), ANSWER_TEXT },
        [COLUMN_NS] = { "ns", N_("TIME"), ANSWER_NS },
        [COLUMN_SHARE] = { "share", N_("SHARE"), ANSWER_SHARE },
        [COLUMN_N] = { "n", N_("TIMES"), ANSWER_COUNT },
        [COLUMN_LONGEST] = { "longest_ns", N_("LONGEST"), ANSWER_NS },
        [COLUMN_IN] = { "function", N_("IN"), ANSWER_TEXT },
};

static const char *const words[_ANSWER_STATES] = {
        [ANSWER_STATE_RAN] = N_("ran"),
        [ANSWER_STATE_RUNNABLE] = N_("waited for a CPU behind"),
        [ANSWER_STATE_IO] = N_("waited for IO, ended by"),
        [ANSWER_STATE_BLOCKED] = N_("was blocked in the kernel, ended by"),
        [ANSWER_STATE_SLEPT] = N_("slept, woken by"),
        [ANSWER_STATE_OTHER] = N_("was stopped"),
};

/* Keys: the function in the upper half, the other thread in the lower. */
typedef struct SliceParts {
        const AnswerQuestion *question;
        AnswerStates states;
        AnswerCores cores;
        AnswerTally tallies[_ANSWER_STATES];
        int64_t from, to;
} SliceParts;

static void parts_deinit(SliceParts *parts) {
        answer_states_deinit(&parts->states);
        answer_cores_deinit(&parts->cores);
        for (size_t i = 0; i < _ANSWER_STATES; i++)
                answer_tally_deinit(&parts->tallies[i]);
}

/* The rest belongs to no other thread: the CPU was idle, or took a while to switch. */
static int take_runnable(SliceParts *parts, size_t i, int64_t from, int64_t ns) {
        const TraceTable *table = &parts->question->store->tables[TRACE_TABLE_STATE];
        AnswerTally *tally = &parts->tallies[ANSWER_STATE_RUNNABLE], others = { 0 };
        uint32_t cpu = i + 1 < parts->states.n
                               ? trace_table_get(table, STATE_CPU, parts->states.rows[i + 1])
                               : TRACE_NONE;
        int64_t left = ns;
        int r = answer_cores_tally(&parts->cores, cpu, from, time_add(from, ns), 0, &others);

        for (size_t k = 0; r == 0 && k < others.n; k++) {
                left -= MIN(left, others.items[k].total_ns);
                r = answer_tally_add(tally, others.items[k].key, from, others.items[k].total_ns);
        }
        if (r == 0 && left > 0)
                r = answer_tally_add(tally, TRACE_NONE, from, left);
        answer_tally_deinit(&others);
        return r;
}

static int take_state(SliceParts *parts, size_t i) {
        const TraceStore *store = parts->question->store;
        uint32_t row = parts->states.rows[i], who = TRACE_NONE, function;
        AnswerState state = answer_state_of(store, row);
        int64_t begin = answer_states_begin(&parts->states, i), from = MAX(begin, parts->from);
        int64_t ns =
                time_overlap(begin, answer_states_end(&parts->states, i), parts->from, parts->to);

        if (ns == 0)
                return 0;
        if (state == ANSWER_STATE_RUNNABLE)
                return take_runnable(parts, i, from, ns);
        if (state != ANSWER_STATE_RAN && answer_states_end(&parts->states, i) <= parts->to)
                who = answer_states_waker(&parts->states, i);
        function = trace_table_get(&store->tables[TRACE_TABLE_STATE], STATE_FUNCTION, row);
        return answer_tally_add(&parts->tallies[state], (uint64_t)function << 32 | who, from, ns);
}

static int take_states(SliceParts *parts) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < parts->states.n; i++) {
                if (answer_states_begin(&parts->states, i) >= parts->to)
                        break;
                r = take_state(parts, i);
        }
        return r;
}

static void
put_part(Answer *answer, const SliceParts *parts, AnswerState state, const AnswerTallyItem *item) {
        const TraceStore *store = parts->question->store;
        AnswerValue *cells = answer_add_row(answer);

        if (!cells)
                return;
        answer_set_word(&cells[COLUMN_WHAT], words[state]);
        if ((uint32_t)item->key == 0)
                answer_set_word(&cells[COLUMN_WHO], answer_interrupt);
        else
                answer_set_thread(answer, &cells[COLUMN_WHO], store, (uint32_t)item->key);
        answer_set(&cells[COLUMN_NS], item->total_ns);
        answer_set_share(&cells[COLUMN_SHARE], item->total_ns, time_since(parts->to, parts->from));
        answer_set(&cells[COLUMN_N], (int64_t)item->n);
        answer_set(&cells[COLUMN_LONGEST], item->max_ns);
        answer_set_name(answer, &cells[COLUMN_IN], store, (uint32_t)(item->key >> 32));
}

/* Takes the longest of all heads until none is left. */
static void put_parts(Answer *answer, SliceParts *parts) {
        size_t next[_ANSWER_STATES] = { 0 };

        for (size_t i = 0; i < _ANSWER_STATES; i++)
                answer_tally_sort(&parts->tallies[i]);
        for (;;) {
                size_t best = _ANSWER_STATES;

                for (size_t i = 0; i < _ANSWER_STATES; i++)
                        if (next[i] < parts->tallies[i].n &&
                            (best == _ANSWER_STATES ||
                             parts->tallies[i].items[next[i]].total_ns >
                                     parts->tallies[best].items[next[best]].total_ns))
                                best = i;
                if (best == _ANSWER_STATES)
                        return;
                put_part(answer, parts, (AnswerState)best, &parts->tallies[best].items[next[best]]);
                next[best]++;
        }
}

static void put_facts(Answer *answer, const SliceParts *parts, uint32_t row, uint32_t utid) {
        const AnswerQuestion *question = parts->question;
        const TraceStore *store = question->store;
        int64_t sums[_ANSWER_STATES], dur = time_since(parts->to, parts->from), known = 0;
        AnswerValue *values = answer->facts;

        answer_states_add_up(&parts->states, parts->from, parts->to, sums);
        for (size_t i = 0; i < _ANSWER_STATES; i++)
                known = time_add(known, sums[i]);
        answer_set_name(answer,
                        &values[SLICE_FACT_NAME],
                        store,
                        trace_table_get(&store->tables[TRACE_TABLE_SLICE], SLICE_NAME, row));
        answer_set_thread(answer, &values[SLICE_FACT_THREAD], store, utid);
        answer_set(&values[SLICE_FACT_ID], row);
        answer_set(&values[SLICE_FACT_AT], time_since(parts->from, question->zero));
        answer_set(&values[SLICE_FACT_DUR], dur);
        answer_set(&values[SLICE_FACT_RAN], sums[ANSWER_STATE_RAN]);
        answer_set(&values[SLICE_FACT_RUNNABLE], sums[ANSWER_STATE_RUNNABLE]);
        answer_set(&values[SLICE_FACT_IO], sums[ANSWER_STATE_IO]);
        answer_set(&values[SLICE_FACT_BLOCKED], sums[ANSWER_STATE_BLOCKED]);
        answer_set(&values[SLICE_FACT_SLEPT], sums[ANSWER_STATE_SLEPT]);
        answer_set(&values[SLICE_FACT_UNKNOWN],
                   time_add(MAX(dur - known, INT64_C(0)), sums[ANSWER_STATE_OTHER]));
        answer_set(&values[SLICE_FACT_OPEN], answer_slice_dur(store, row) < 0);
}

static int slice_find(Answer *answer, const AnswerQuestion *question) {
        _cleanup_(parts_deinit) SliceParts parts = { .question = question };
        uint32_t row = answer_slice_find(question), utid;
        int r;

        if (row == TRACE_NONE)
                return ANSWER_E_NO_SLICE;
        utid = answer_slice_thread(question->store, row);
        parts.from = answer_slice_ts(question->store, row);
        parts.to = answer_slice_end(question, row);
        r = answer_states_init(&parts.states, question->store, utid, question->last);
        if (r == 0)
                r = answer_cores_init(&parts.cores, question->store);
        if (r == 0)
                r = take_states(&parts);
        if (r)
                return r;
        put_parts(answer, &parts);
        put_facts(answer, &parts, row, utid);
        return 0;
}

const AnswerDef answer_slice = {
        .name = "slice",
        .record = "desktrace record -p default",
        .parts = TRACE_PART_THREADS | TRACE_PART_EVENTS | TRACE_PART_SCHED | TRACE_PART_STATES,
        .options = ANSWER_TAKES_SLICE | ANSWER_NEEDS_SLICE,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = slice_find,
};
