/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "answers/answer-cores.h"

#include <errno.h>

#include "answers/answer-time.h"

static uint32_t row_cpu(const TraceTable *sched, uint32_t row) {
        uint32_t cpu = trace_table_get(sched, SCHED_CPU, row);

        return cpu == TRACE_NONE ? 0 : cpu;
}

/* Sorts by counting: rows are in the order of time, and stay so. */
int answer_cores_init(AnswerCores *cores, const TraceStore *store) {
        const TraceTable *sched = &store->tables[TRACE_TABLE_SCHED];
        _cleanup_(freep) size_t *next = NULL;

        *cores = (AnswerCores){ .sched = sched };
        for (uint32_t row = 0; row < sched->n; row++)
                cores->n = MAX(cores->n, (size_t)row_cpu(sched, row) + 1);
        cores->rows = calloc(sched->n + 1, sizeof(*cores->rows));
        cores->first = calloc(cores->n + 2, sizeof(*cores->first));
        next = calloc(cores->n + 2, sizeof(*next));
        if (!cores->rows || !cores->first || !next)
                return -ENOMEM;
        for (uint32_t row = 0; row < sched->n; row++)
                cores->first[row_cpu(sched, row) + 1]++;
        for (size_t cpu = 0; cpu < cores->n; cpu++) {
                cores->n_present += cores->first[cpu + 1] > 0;
                cores->first[cpu + 1] += cores->first[cpu];
                next[cpu] = cores->first[cpu];
        }
        for (uint32_t row = 0; row < sched->n; row++)
                cores->rows[next[row_cpu(sched, row)]++] = row;
        return 0;
}

void answer_cores_deinit(AnswerCores *cores) {
        free(cores->rows);
        free(cores->first);
        *cores = (AnswerCores){ 0 };
}

/* The last row of a CPU that begins at or before the time, or its first. */
static size_t cores_find(const AnswerCores *cores, uint32_t cpu, int64_t at) {
        size_t low = cores->first[cpu], high = cores->first[cpu + 1];

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (trace_table_i64(cores->sched, SCHED_TS, cores->rows[middle]) <= at)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low > cores->first[cpu] ? low - 1 : low;
}

int answer_cores_tally(const AnswerCores *cores,
                       uint32_t cpu,
                       int64_t from,
                       int64_t to,
                       uint32_t high,
                       AnswerTally *tally) {
        if (cpu >= cores->n)
                return 0;
        for (size_t i = cores_find(cores, cpu, from); i < cores->first[cpu + 1]; i++) {
                uint32_t row = cores->rows[i],
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
