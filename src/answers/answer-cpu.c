/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CPU time, by who used it. A thread that was running when the recording ended, or when data was lost, has no end time:
 * it is counted, but its time is not added. */

#include "answers/answer-cores.h"
#include "answers/answer-questions.h"
#include "answers/answer-time.h"
#include "answers/answer-who.h"

static const AnswerColumn facts[] = {
        [CPU_FACT_BUSY] = { "busy_ns", NULL, ANSWER_NS },
        [CPU_FACT_ALL] = { "available_ns", NULL, ANSWER_NS },
        [CPU_FACT_SHARE] = { "share", NULL, ANSWER_SHARE },
        [CPU_FACT_CPUS] = { "cpus", NULL, ANSWER_COUNT },
        [CPU_FACT_OPEN] = { "still_running", NULL, ANSWER_COUNT },
};
static const AnswerColumn columns[] = {
        [CPU_COLUMN_WHO] = { "who", N_("WHO"), ANSWER_TEXT },
        [CPU_COLUMN_NS] = { "cpu_ns", N_("CPU TIME"), ANSWER_NS },
        [CPU_COLUMN_SHARE] = { "share", N_("SHARE"), ANSWER_SHARE },
        { "n", N_("TIMES"), ANSWER_COUNT },
        { "longest_ns", N_("LONGEST"), ANSWER_NS },
        { "unit", N_("UNIT"), ANSWER_TEXT },
};

typedef struct CpuCount {
        AnswerTally tally;
        TraceMap members; /* key → one of its threads */
        int64_t busy_ns;
        uint64_t n_open;
} CpuCount;

static void count_deinit(CpuCount *count) {
        answer_tally_deinit(&count->tally);
        trace_map_deinit(&count->members);
}

static int count_row(CpuCount *count, const AnswerQuestion *question, uint32_t row) {
        const TraceTable *sched = &question->store->tables[TRACE_TABLE_SCHED];
        uint32_t utid = trace_table_get(sched, SCHED_UTID, row);
        int64_t ts = trace_table_i64(sched, SCHED_TS, row),
                dur = trace_table_i64(sched, SCHED_DUR, row), ns;
        uint64_t key;

        if (utid == 0 || ts >= question->end)
                return 0;
        if (dur < 0) {
                count->n_open++;
                return 0;
        }
        ns = time_overlap(ts, time_add(ts, dur), question->start, question->end);
        if (ns == 0)
                return 0;
        count->busy_ns = time_add(count->busy_ns, ns);
        key = answer_who_key(question->store, utid, question->group);
        return trace_map_set(&count->members, key, utid)
                       ?: answer_tally_add(&count->tally, key, ts, ns);
}

static void put_row(Answer *answer,
                    const AnswerQuestion *question,
                    const CpuCount *count,
                    const AnswerTallyItem *item) {
        uint32_t utid = (uint32_t)trace_map_find(&count->members, item->key);
        AnswerValue *cells = answer_add_row(answer);

        if (!cells)
                return;
        answer_set_who(answer, &cells[CPU_COLUMN_WHO], question->store, utid, question->group);
        answer_set(&cells[CPU_COLUMN_NS], item->total_ns);
        answer_set_share(&cells[CPU_COLUMN_SHARE], item->total_ns, count->busy_ns);
        answer_set(&cells[3], (int64_t)item->n);
        answer_set(&cells[4], item->max_ns);
        if (question->group != ANSWER_BY_UNIT)
                answer_set_name(
                        answer, &cells[5], question->store, answer_who_unit(question->store, utid));
}

static int put_facts(Answer *answer, const AnswerQuestion *question, const CpuCount *count) {
        AnswerCores cores;
        int64_t range = time_since(question->end, question->start), all = 0;
        int r = answer_cores_init(&cores, question->store);

        for (size_t i = 0; i < cores.n_present; i++)
                all = time_add(all, range);
        answer_set(&answer->facts[CPU_FACT_BUSY], count->busy_ns);
        answer_set(&answer->facts[CPU_FACT_ALL], all);
        answer_set_share(&answer->facts[CPU_FACT_SHARE], count->busy_ns, all);
        answer_set(&answer->facts[CPU_FACT_CPUS], (int64_t)cores.n_present);
        answer_set(&answer->facts[CPU_FACT_OPEN], (int64_t)count->n_open);
        answer_cores_deinit(&cores);
        return r;
}

static int cpu_find(Answer *answer, const AnswerQuestion *question) {
        const TraceTable *sched = &question->store->tables[TRACE_TABLE_SCHED];
        _cleanup_(count_deinit) CpuCount count = { 0 };

        for (uint32_t row = 0; row < sched->n; row++) {
                int r = count_row(&count, question, row);

                if (r)
                        return r;
        }
        if (sched->n == 0)
                return ANSWER_E_NOTHING;
        answer_tally_sort(&count.tally);
        for (size_t i = 0; i < count.tally.n; i++)
                put_row(answer, question, &count, &count.tally.items[i]);
        return put_facts(answer, question, &count);
}

const AnswerDef answer_cpu = {
        .name = "cpu",
        .record = "desktrace record -p scheduling",
        .parts = TRACE_PART_THREADS | TRACE_PART_SCHED,
        .options = ANSWER_TAKES_GROUPS,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = cpu_find,
};
