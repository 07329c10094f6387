/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Waits for a CPU, by thread, and what was running there
 *
 * A thread waits while it can run but does not. It waited behind whatever occupied the CPU on which it ran next.
 */

#include <errno.h>

#include "answers/answer-cores.h"
#include "answers/answer-questions.h"
#include "answers/answer-runs.h"
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
        AnswerRuns runs;
        AnswerGroups by_thread; /* rows of states */
        AnswerTally waiting;    /* by thread */
        double *values;
        size_t n, n_allocated;
        int64_t total;
} Waits;

static void waits_deinit(Waits *waits) {
        answer_cores_deinit(&waits->cores);
        answer_runs_deinit(&waits->runs);
        answer_groups_deinit(&waits->by_thread);
        answer_tally_deinit(&waits->waiting);
        free(waits->values);
}

/* The part of a thread's wait that lies in the range. */
typedef struct Wait {
        int64_t from, ns;
        uint32_t cpu; /* where the thread ran afterwards; TRACE_NONE: nowhere */
} Wait;

/* Returns false if the row is no wait. The thread's next state tells where it ran afterwards. */
static bool find_wait(Wait *ret, const Waits *waits, uint32_t utid, size_t i) {
        const TraceStore *store = waits->question->store;
        const TraceTable *table = &store->tables[TRACE_TABLE_STATE];
        const AnswerGroups *groups = &waits->by_thread;
        uint32_t row = groups->rows[i];
        int64_t ts, dur;

        if (answer_state_of(store, row) != ANSWER_STATE_RUNNABLE)
                return false;
        ts = trace_table_i64(table, STATE_TS, row);
        dur = trace_table_i64(table, STATE_DUR, row);
        if (dur <= 0)
                return false;
        ret->from = MAX(ts, waits->question->start);
        ret->ns = time_overlap(ts, time_add(ts, dur), waits->question->start, waits->question->end);
        ret->cpu = i + 1 < groups->first[utid + 1]
                           ? trace_table_get(table, STATE_CPU, groups->rows[i + 1])
                           : TRACE_NONE;
        return ret->ns > 0;
}

static int take_wait(Waits *waits, uint32_t utid, const Wait *wait) {
        if (trace_reserve((void **)&waits->values,
                          &waits->n_allocated,
                          waits->n + 1,
                          sizeof(*waits->values)))
                return -ENOMEM;
        waits->values[waits->n++] = (double)wait->ns;
        waits->total = time_add(waits->total, wait->ns);
        return answer_tally_add(&waits->waiting, utid, wait->from, wait->ns);
}

static int take_thread(Waits *waits, uint32_t utid) {
        const AnswerGroups *groups = &waits->by_thread;
        Wait wait;
        int r = 0;

        for (size_t i = groups->first[utid]; r == 0 && i < groups->first[utid + 1]; i++)
                if (find_wait(&wait, waits, utid, i))
                        r = take_wait(waits, utid, &wait);
        return r;
}

/* Nothing is reported about the idle threads; rows without a thread count as theirs. */
static int take_waits(Waits *waits) {
        const TraceStore *store = waits->question->store;
        size_t n_threads = store->tables[TRACE_TABLE_THREAD].n;
        int r = answer_groups_init(
                &waits->by_thread, &store->tables[TRACE_TABLE_STATE], STATE_UTID, n_threads);

        for (uint32_t utid = 1; r == 0 && utid < waits->by_thread.n; utid++)
                r = take_thread(waits, utid);
        return r;
}

/* Finding what ran during each wait is the most expensive step, so it is done only for the waits that are shown. */
static void put_behind(Answer *answer, AnswerValue *cells, Waits *waits, uint32_t utid) {
        const AnswerGroups *groups = &waits->by_thread;
        Wait wait;
        int64_t ns;
        uint32_t behind;

        for (size_t i = groups->first[utid]; i < groups->first[utid + 1]; i++)
                if (find_wait(&wait, waits, utid, i))
                        answer_runs_add(
                                &waits->runs, wait.cpu, wait.from, time_add(wait.from, wait.ns));
        behind = answer_runs_take_most(&waits->runs, &ns);
        if (behind == TRACE_NONE)
                return;
        answer_set_thread(answer, &cells[COLUMN_BEHIND], waits->question->store, behind);
        answer_set(&cells[COLUMN_BEHIND_NS], ns);
}

static void put_thread(Answer *answer, Waits *waits, const AnswerTallyItem *item) {
        const uint32_t utid = (uint32_t)item->key;
        AnswerValue *cells = answer_add_row(answer);

        if (!cells)
                return;
        answer_set_thread(answer, &cells[WAITS_COLUMN_WHO], waits->question->store, utid);
        answer_set(&cells[WAITS_COLUMN_NS], item->total_ns);
        answer_set(&cells[COLUMN_N], (int64_t)item->n);
        answer_set(&cells[COLUMN_MAX], item->max_ns);
        answer_set(&cells[COLUMN_AT], time_since(item->max_at, waits->question->zero));
        put_behind(answer, cells, waits, utid);
}

static void waits_put(Answer *answer, Waits *waits) {
        answer_tally_sort(&waits->waiting);
        for (size_t i = 0; i < waits->waiting.n; i++)
                put_thread(answer, waits, &waits->waiting.items[i]);
        answer_set(&answer->facts[WAITS_FACT_TOTAL], waits->total);
        answer_set(&answer->facts[WAITS_FACT_N], (int64_t)waits->n);
        if (!waits->n)
                return;
        answer_set(&answer->facts[WAITS_FACT_P50],
                   time_of_real(quantile(waits->values, waits->n, 0.5)));
        answer_set(&answer->facts[WAITS_FACT_P99],
                   time_of_real(quantile(waits->values, waits->n, 0.99)));
        answer_set(&answer->facts[WAITS_FACT_MAX],
                   time_of_real(quantile(waits->values, waits->n, 1)));
}

static int waits_find(Answer *answer, const AnswerQuestion *question) {
        _cleanup_(waits_deinit) Waits waits = { .question = question };
        int r;

        if (question->store->tables[TRACE_TABLE_STATE].n == 0)
                return ANSWER_E_NOTHING;
        r = answer_cores_init(&waits.cores, question->store);
        if (r == 0)
                r = answer_runs_init(&waits.runs, &waits.cores, question->store);
        if (r == 0)
                r = take_waits(&waits);
        if (r == 0)
                waits_put(answer, &waits);
        return r;
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
