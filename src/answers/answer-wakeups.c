/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Wake-ups of an idle machine, by thread
 *
 * A wake-up is a thread that begins to run on a CPU that was idle until then. The answer also says what woke that
 * thread, which is mostly an interrupt such as a timer.
 */

#include <errno.h>

#include "answers/answer-cores.h"
#include "answers/answer-questions.h"
#include "answers/answer-states.h"
#include "answers/answer-time.h"
#include "answers/answer-who.h"

static const AnswerColumn facts[] = {
        [WAKEUPS_FACT_N] = { "n", NULL, ANSWER_COUNT },
        [WAKEUPS_FACT_RATE] = { "per_second", NULL, ANSWER_REAL },
        [WAKEUPS_FACT_IDLE] = { "idle_share", NULL, ANSWER_SHARE },
};

enum { COLUMN_RATE = WAKEUPS_COLUMN_N + 1, COLUMN_PROGRAM, COLUMN_RAN, COLUMN_BY, COLUMN_BY_SHARE };

static const AnswerColumn columns[] = {
        [WAKEUPS_COLUMN_WHO] = { "thread", N_("WHO"), ANSWER_TEXT },
        [WAKEUPS_COLUMN_N] = { "n", N_("TIMES"), ANSWER_COUNT },
        [COLUMN_RATE] = { "per_second", N_("A SECOND"), ANSWER_REAL },
        [COLUMN_PROGRAM] = { "program", N_("PROGRAM"), ANSWER_TEXT },
        [COLUMN_RAN] = { "ran_ns", N_("RAN"), ANSWER_NS },
        [COLUMN_BY] = { "woken_by", N_("MOSTLY WOKEN BY"), ANSWER_TEXT },
        [COLUMN_BY_SHARE] = { "woken_by_share", N_("SHARE"), ANSWER_SHARE },
};

typedef struct Wakeups {
        const AnswerQuestion *question;
        AnswerCores cores;
        AnswerTally threads;
        AnswerTally pairs; /* a thread and its waker */
        uint64_t n;
        int64_t idle;
} Wakeups;

static void wakeups_deinit(Wakeups *wakeups) {
        answer_cores_deinit(&wakeups->cores);
        answer_tally_deinit(&wakeups->threads);
        answer_tally_deinit(&wakeups->pairs);
}

static int take_wakeup(Wakeups *wakeups, uint32_t row) {
        const TraceTable *sched = wakeups->cores.sched;
        int64_t ts = trace_table_i64(sched, SCHED_TS, row);

        wakeups->n++;
        return answer_tally_add(&wakeups->threads,
                                trace_table_get(sched, SCHED_UTID, row),
                                ts,
                                MAX(trace_table_i64(sched, SCHED_DUR, row), INT64_C(0)));
}

static int take_cpu(Wakeups *wakeups, size_t cpu) {
        const AnswerQuestion *question = wakeups->question;
        const AnswerCores *cores = &wakeups->cores;
        bool was_idle = false;
        int r = 0;

        for (size_t i = cores->by_cpu.first[cpu]; r == 0 && i < cores->by_cpu.first[cpu + 1]; i++) {
                uint32_t row = cores->by_cpu.rows[i];
                int64_t ts = trace_table_i64(cores->sched, SCHED_TS, row),
                        dur = trace_table_i64(cores->sched, SCHED_DUR, row);
                bool is_idle = trace_table_get(cores->sched, SCHED_UTID, row) == 0;

                if (is_idle && dur > 0)
                        wakeups->idle = time_add(
                                wakeups->idle,
                                time_overlap(
                                        ts, time_add(ts, dur), question->start, question->end));
                if (was_idle && !is_idle && ts >= question->start && ts <= question->end)
                        r = take_wakeup(wakeups, row);
                was_idle = is_idle;
        }
        return r;
}

/* The wake-ups of each thread that counts. Their times do not matter, as most have the same cause. */
static int take_wakers(Wakeups *wakeups) {
        const AnswerQuestion *question = wakeups->question;
        const TraceTable *table = &question->store->tables[TRACE_TABLE_STATE];
        int r = 0;

        for (uint32_t row = answer_time_find(table, question->start); r == 0 && row < table->n;
             row++) {
                uint64_t utid = trace_table_get(table, STATE_UTID, row);
                uint32_t waker = answer_state_waker(question->store, row);

                if (trace_table_i64(table, STATE_TS, row) > question->end)
                        break;
                if (waker != TRACE_NONE &&
                    answer_state_of(question->store, row) == ANSWER_STATE_RUNNABLE)
                        r = answer_tally_add(&wakeups->pairs, utid << 32 | waker, 0, 0);
        }
        return r;
}

typedef struct MainWaker {
        TraceMap most, all; /* by thread: an index into pairs, and their number */
} MainWaker;

static void main_waker_deinit(MainWaker *wakers) {
        trace_map_deinit(&wakers->most);
        trace_map_deinit(&wakers->all);
}

static int main_waker_init(MainWaker *wakers, AnswerTally *pairs) {
        answer_tally_sort_by_count(pairs);
        for (size_t i = pairs->n; i-- > 0;) {
                uint64_t utid = pairs->items[i].key >> 32, n = trace_map_find(&wakers->all, utid);

                n = (n == TRACE_MAP_NONE ? 0 : n) + pairs->items[i].n;
                if (trace_map_set(&wakers->most, utid, i) || trace_map_set(&wakers->all, utid, n))
                        return -ENOMEM;
        }
        return 0;
}

static void put_waker(Answer *answer,
                      const Wakeups *wakeups,
                      const MainWaker *wakers,
                      uint32_t utid,
                      AnswerValue *cells) {
        uint64_t place = trace_map_find(&wakers->most, utid);
        const AnswerTallyItem *pair;

        if (place == TRACE_MAP_NONE)
                return;
        pair = &wakeups->pairs.items[place];
        if ((uint32_t)pair->key == ANSWER_INTERRUPT)
                answer_set_word(&cells[COLUMN_BY], answer_interrupt);
        else
                answer_set_thread(
                        answer, &cells[COLUMN_BY], wakeups->question->store, (uint32_t)pair->key);
        answer_set_share(&cells[COLUMN_BY_SHARE],
                         (int64_t)pair->n,
                         (int64_t)trace_map_find(&wakers->all, utid));
}

static void put_thread(Answer *answer,
                       const Wakeups *wakeups,
                       const MainWaker *wakers,
                       const AnswerTallyItem *item) {
        const TraceStore *store = wakeups->question->store;
        int64_t range = time_since(wakeups->question->end, wakeups->question->start);
        AnswerValue *cells = answer_add_row(answer);
        uint32_t utid = (uint32_t)item->key;

        if (!cells)
                return;
        answer_set_thread(answer, &cells[WAKEUPS_COLUMN_WHO], store, utid);
        answer_set(&cells[WAKEUPS_COLUMN_N], (int64_t)item->n);
        if (range > 0)
                answer_set_real(&cells[COLUMN_RATE], (double)item->n * 1e9 / (double)range);
        answer_set_name(answer, &cells[COLUMN_PROGRAM], store, answer_who_program(store, utid));
        answer_set(&cells[COLUMN_RAN], item->total_ns);
        put_waker(answer, wakeups, wakers, utid, cells);
}

static int wakeups_put(Answer *answer, Wakeups *wakeups) {
        _cleanup_(main_waker_deinit) MainWaker wakers = { 0 };
        int64_t range = time_since(wakeups->question->end, wakeups->question->start);
        int r = main_waker_init(&wakers, &wakeups->pairs);

        answer_tally_sort_by_count(&wakeups->threads);
        for (size_t i = 0; r == 0 && i < wakeups->threads.n; i++)
                put_thread(answer, wakeups, &wakers, &wakeups->threads.items[i]);
        answer_set(&answer->facts[WAKEUPS_FACT_N], (int64_t)wakeups->n);
        if (range > 0) {
                answer_set_real(&answer->facts[WAKEUPS_FACT_RATE],
                                (double)wakeups->n * 1e9 / (double)range);
                answer_set_real(&answer->facts[WAKEUPS_FACT_IDLE],
                                (double)wakeups->idle /
                                        ((double)range * (double)wakeups->cores.n_present));
        }
        return r;
}

static int wakeups_find(Answer *answer, const AnswerQuestion *question) {
        _cleanup_(wakeups_deinit) Wakeups wakeups = { .question = question };
        int r;

        if (question->store->tables[TRACE_TABLE_SCHED].n == 0)
                return ANSWER_E_NOTHING;
        r = answer_cores_init(&wakeups.cores, question->store);
        for (size_t cpu = 0; r == 0 && cpu < wakeups.cores.by_cpu.n; cpu++)
                r = take_cpu(&wakeups, cpu);
        if (r == 0)
                r = take_wakers(&wakeups);
        return r ? r : wakeups_put(answer, &wakeups);
}

const AnswerDef answer_wakeups = {
        .name = "wakeups",
        .record = "desktrace record -p scheduling",
        .parts = TRACE_PART_THREADS | TRACE_PART_SCHED | TRACE_PART_STATES,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = wakeups_find,
};
