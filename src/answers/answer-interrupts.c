/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Time spent in interrupts: their handlers are slices on the tracks of CPUs. */

#include "answers/answer-questions.h"
#include "answers/answer-slices.h"
#include "answers/answer-tally.h"
#include "answers/answer-time.h"

static const AnswerColumn facts[] = {
        [INTERRUPTS_FACT_TOTAL] = { "total_ns", NULL, ANSWER_NS },
        [INTERRUPTS_FACT_N] = { "n", NULL, ANSWER_COUNT },
        [INTERRUPTS_FACT_MAX] = { "max_ns", NULL, ANSWER_NS },
};

enum { COLUMN_N = INTERRUPTS_COLUMN_NS + 1, COLUMN_MAX, COLUMN_AT };

static const AnswerColumn columns[] = {
        [INTERRUPTS_COLUMN_NAME] = { "name", N_("NAME"), ANSWER_TEXT },
        [INTERRUPTS_COLUMN_NS] = { "total_ns", N_("TIME"), ANSWER_NS },
        [COLUMN_N] = { "n", N_("TIMES"), ANSWER_COUNT },
        [COLUMN_MAX] = { "longest_ns", N_("LONGEST"), ANSWER_NS },
        [COLUMN_AT] = { "longest_at", N_("AT"), ANSWER_TIME },
};

typedef struct Interrupts {
        AnswerTally tally; /* by name */
        int64_t total, max;
        uint64_t n;
} Interrupts;

static void interrupts_deinit(Interrupts *interrupts) {
        answer_tally_deinit(&interrupts->tally);
}

static int take_slice(Interrupts *interrupts, const AnswerQuestion *question, uint32_t row) {
        const TraceTable *table = &question->store->tables[TRACE_TABLE_SLICE];
        int64_t ts = answer_slice_ts(question->store, row),
                dur = answer_slice_dur(question->store, row), ns;

        ns = dur > 0 ? time_overlap(ts, time_add(ts, dur), question->start, question->end) : 0;
        if (ns == 0)
                return 0;
        interrupts->n++;
        interrupts->total = time_add(interrupts->total, ns);
        interrupts->max = MAX(interrupts->max, ns);
        return answer_tally_add(
                &interrupts->tally, trace_table_get(table, SLICE_NAME, row), ts, ns);
}

static void put_name(Answer *answer, const AnswerQuestion *question, const AnswerTallyItem *item) {
        AnswerValue *cells = answer_add_row(answer);

        if (!cells)
                return;
        answer_set_name(
                answer, &cells[INTERRUPTS_COLUMN_NAME], question->store, (uint32_t)item->key);
        answer_set(&cells[INTERRUPTS_COLUMN_NS], item->total_ns);
        answer_set(&cells[COLUMN_N], (int64_t)item->n);
        answer_set(&cells[COLUMN_MAX], item->max_ns);
        answer_set(&cells[COLUMN_AT], time_since(item->max_at, question->zero));
}

static int interrupts_find(Answer *answer, const AnswerQuestion *question) {
        const TraceTable *table = &question->store->tables[TRACE_TABLE_SLICE];
        uint32_t category = trace_pool_find(&question->store->pool, "irq", strlen("irq"));
        _cleanup_(interrupts_deinit) Interrupts interrupts = { 0 };
        int r = 0;

        for (uint32_t row = 0; category && r == 0 && row < table->n; row++)
                if (trace_table_get(table, SLICE_CATEGORY, row) == category)
                        r = take_slice(&interrupts, question, row);
        if (r == 0 && interrupts.n == 0)
                return ANSWER_E_NOTHING;
        answer_tally_sort(&interrupts.tally);
        for (size_t i = 0; i < interrupts.tally.n; i++)
                put_name(answer, question, &interrupts.tally.items[i]);
        answer_set(&answer->facts[INTERRUPTS_FACT_TOTAL], interrupts.total);
        answer_set(&answer->facts[INTERRUPTS_FACT_N], (int64_t)interrupts.n);
        answer_set(&answer->facts[INTERRUPTS_FACT_MAX], interrupts.max);
        return r;
}

const AnswerDef answer_interrupts = {
        .name = "interrupts",
        .record = "desktrace record -p interrupts",
        .parts = TRACE_PART_THREADS | TRACE_PART_EVENTS | TRACE_PART_SCHED,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = interrupts_find,
};
