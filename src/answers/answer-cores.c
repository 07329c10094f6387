/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answer cores: who ran on each CPU, one after the other */

#include "answers/answer-cores.h"

#include <errno.h>

#include "answers/answer-time.h"

int answer_cores_init(AnswerCores *cores, const TraceStore *store) {
        const TraceTable *sched = &store->tables[TRACE_TABLE_SCHED];
        int r;

        *cores = (AnswerCores){ .sched = sched };
        r = answer_groups_init(&cores->by_cpu, sched, SCHED_CPU, UINT16_MAX);
        for (size_t cpu = 0; r == 0 && cpu < cores->by_cpu.n; cpu++)
                cores->n_present += cores->by_cpu.first[cpu + 1] > cores->by_cpu.first[cpu];
        return r;
}

void answer_cores_deinit(AnswerCores *cores) {
        answer_groups_deinit(&cores->by_cpu);
        *cores = (AnswerCores){ 0 };
}

/* The last row of a CPU that begins at or before the time, or else its first. */
static size_t cores_find(const AnswerCores *cores, uint32_t cpu, int64_t at) {
        size_t low = cores->by_cpu.first[cpu], high = cores->by_cpu.first[cpu + 1];

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (trace_table_i64(cores->sched, SCHED_TS, cores->by_cpu.rows[middle]) <= at)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low > cores->by_cpu.first[cpu] ? low - 1 : low;
}

int answer_cores_tally(const AnswerCores *cores,
                       uint32_t cpu,
                       int64_t from,
                       int64_t to,
                       uint32_t high,
                       AnswerTally *tally) {
        if (cpu >= cores->by_cpu.n)
                return 0;
        for (size_t i = cores_find(cores, cpu, from); i < cores->by_cpu.first[cpu + 1]; i++) {
                uint32_t row = cores->by_cpu.rows[i],
                         utid = trace_table_get(cores->sched, SCHED_UTID, row);
                int64_t ts = trace_table_i64(cores->sched, SCHED_TS, row), ns;

                if (ts >= to)
                        break;
                ns = time_overlap(
                        ts, time_add(ts, trace_table_i64(cores->sched, SCHED_DUR, row)), from, to);
                if (utid && ns > 0 && answer_tally_add(tally, (uint64_t)high << 32 | utid, ts, ns))
                        return -ENOMEM;
        }
        return 0;
}
