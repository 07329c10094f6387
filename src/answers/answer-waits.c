/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Waits for a CPU, by thread, and what was running there
 *
 * A wait is the time in which a thread could run and did not. What had the CPU that it ran on next in the meantime is
 * what it waited behind.
 */

#include <errno.h>

#include "answers/answer-cores.h"
#include "answers/answer-questions.h"
#include "answers/answer-states.h"
#include "answers/answer-time.h"
#include "answers/answer-who.h"
#include "shared/quantile.h"

static const AnswerColumn facts[] = {
        [WAITS_FACT_TOTAL] = { "total_ns", NULL, ANSWER_NS },
        [WAITS_FACT_N] = { "n", NULL, ANSWER_COUNT },
        [WAITS_FACT_P50] = { "p50_ns", NULL, ANSWER_NS },
        [WAITS_FACT_P99] = { "p99_ns", NULL, ANSWER_NS },
        [WAITS_FACT_MAX] = { "max_ns", NULL, ANSWER_NS },
};

enum { COLUMN_N = WAITS_COLUMN_NS + 1, COLUMN_MAX, COLUMN_AT, COLUMN_BEHIND, COLUMN_BEHIND_NS };

static const AnswerColumn columns[] = {
        [WAITS_COLUMN_WHO] = { "thread", N_("WHO"), ANSWER_TEXT },
        [WAITS_COLUMN_NS] = { "waited_ns", N_("WAITED"), ANSWER_NS },
        [COLUMN_N] = { "n", N_("TIMES"), ANSWER_COUNT },
        [COLUMN_MAX] = { "longest_ns", N_("LONGEST"), ANSWER_NS },
        [COLUMN_AT] = { "longest_at", N_("AT"), ANSWER_TIME },
        [COLUMN_BEHIND] = { "behind", N_("MOSTLY BEHIND"), ANSWER_TEXT },
        [COLUMN_BEHIND_NS] = { "behind_ns", N_("FOR"), ANSWER_NS },
};

typedef struct Waits {
        const AnswerQuestion *question;
        AnswerCores cores;
        AnswerTally waiting; /* by thread */
        AnswerTally behind;  /* by both */
        double *values;
        size_t n, n_allocated;
        int64_t total;
} Waits;

static void waits_deinit(Waits *waits) {
        answer_cores_deinit(&waits->cores);
        answer_tally_deinit(&waits->waiting);
        answer_tally_deinit(&waits->behind);
        free(waits->values);
}

static int take_wait(Waits *waits, uint32_t utid, int64_t ts, int64_t end, uint32_t cpu) {
        int64_t from = MAX(ts, waits->question->start),
                ns = time_overlap(ts, end, waits->question->start, waits->question->end);
        int r;

        if (ns == 0)
                return 0;
        if (trace_reserve((void **)&waits->values,
                          &waits->n_allocated,
                          waits->n + 1,
                          sizeof(*waits->values)))
                return -ENOMEM;
        waits->values[waits->n++] = (double)ns;
        waits->total = time_add(waits->total, ns);
        r = answer_tally_add(&waits->waiting, utid, from, ns);
        if (r)
                return r;
        return answer_cores_tally(
                &waits->cores, cpu, from, time_add(from, ns), utid, &waits->behind);
}

/* Backwards, so that each state finds the next one of its thread. */
static int take_waits(Waits *waits) {
        const TraceStore *store = waits->question->store;
        const TraceTable *table = &store->tables[TRACE_TABLE_STATE];
        _cleanup_(trace_map_deinit) TraceMap next = { 0 };
        int r = 0;

        for (uint32_t row = (uint32_t)table->n; r == 0 && row-- > 0;) {
                uint32_t utid = trace_table_get(table, STATE_UTID, row);
                int64_t ts = trace_table_i64(table, STATE_TS, row),
                        dur = trace_table_i64(table, STATE_DUR, row);
                uint64_t after = trace_map_find(&next, utid);

                if (dur > 0 && answer_state_of(store, row) == ANSWER_STATE_RUNNABLE)
                        r = take_wait(waits,
                                      utid,
                                      ts,
                                      time_add(ts, dur),
                                      after == TRACE_MAP_NONE
                                              ? TRACE_NONE
                                              : trace_table_get(table, STATE_CPU, (uint32_t)after));
                if (r == 0)
                        r = trace_map_set(&next, utid, row);
        }
        return r;
}

static void
put_thread(Answer *answer, const Waits *waits, const AnswerTallyItem *item, const TraceMap *most) {
        const TraceStore *store = waits->question->store;
        AnswerValue *cells = answer_add_row(answer);
        uint64_t place = trace_map_find(most, item->key);
        const AnswerTallyItem *behind;

        if (!cells)
                return;
        answer_set_thread(answer, &cells[WAITS_COLUMN_WHO], store, (uint32_t)item->key);
        answer_set(&cells[WAITS_COLUMN_NS], item->total_ns);
        answer_set(&cells[COLUMN_N], (int64_t)item->n);
        answer_set(&cells[COLUMN_MAX], item->max_ns);
        answer_set(&cells[COLUMN_AT], time_since(item->max_at, waits->question->zero));
        if (place == TRACE_MAP_NONE)
                return;
        behind = &waits->behind.items[place];
        answer_set_thread(answer, &cells[COLUMN_BEHIND], store, (uint32_t)behind->key);
        answer_set(&cells[COLUMN_BEHIND_NS], behind->total_ns);
}

static int waits_put(Answer *answer, Waits *waits) {
        _cleanup_(trace_map_deinit) TraceMap most = { 0 };

        answer_tally_sort(&waits->waiting);
        answer_tally_sort(&waits->behind);
        for (size_t i = waits->behind.n; i-- > 0;) /* the longest is set last, and stays */
                if (trace_map_set(&most, waits->behind.items[i].key >> 32, i))
                        return -ENOMEM;
        for (size_t i = 0; i < waits->waiting.n; i++)
                put_thread(answer, waits, &waits->waiting.items[i], &most);
        answer_set(&answer->facts[WAITS_FACT_TOTAL], waits->total);
        answer_set(&answer->facts[WAITS_FACT_N], (int64_t)waits->n);
        if (!waits->n)
                return 0;
        answer_set(&answer->facts[WAITS_FACT_P50],
                   time_of_real(quantile(waits->values, waits->n, 0.5)));
        answer_set(&answer->facts[WAITS_FACT_P99],
                   time_of_real(quantile(waits->values, waits->n, 0.99)));
        answer_set(&answer->facts[WAITS_FACT_MAX],
                   time_of_real(quantile(waits->values, waits->n, 1)));
        return 0;
}

static int waits_find(Answer *answer, const AnswerQuestion *question) {
        _cleanup_(waits_deinit) Waits waits = { .question = question };
        int r;

        if (question->store->tables[TRACE_TABLE_STATE].n == 0)
                return ANSWER_E_NOTHING;
        r = answer_cores_init(&waits.cores, question->store);
        if (r == 0)
                r = take_waits(&waits);
        return r ? r : waits_put(answer, &waits);
}

const AnswerDef answer_waits = {
        .name = "waits",
        .record = "desktrace record -p scheduling",
        .parts = TRACE_PART_THREADS | TRACE_PART_SCHED | TRACE_PART_STATES,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = waits_find,
};
