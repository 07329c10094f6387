/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answer runs: who ran on each CPU, close together in memory */

#include "answers/answer-runs.h"

#include <errno.h>
#include <stdlib.h>

#include "answers/answer-time.h"
#include "shared/macro.h"

#define LONG_NS UINT32_MAX /* as much or more: the table says how much */

typedef struct AnswerRun {
        int64_t ts;
        uint32_t utid;
        uint32_t ns;
} AnswerRun;

/* Where to start looking for a time: the time in which the CPU has runs is divided into equal parts of about eight
 * runs. */
typedef struct AnswerRunIndex {
        int64_t first_ts;
        unsigned shift;
        uint32_t n;       /* parts */
        uint32_t *places; /* the first run of each part; one more at the end */
} AnswerRunIndex;

#define RUNS_PER_PART 8

static void fill_run(AnswerRun *run, const AnswerRuns *runs, uint32_t row) {
        const TraceTable *sched = runs->cores->sched;
        int64_t ns = trace_table_i64(sched, SCHED_DUR, row);

        run->ts = trace_table_i64(sched, SCHED_TS, row);
        run->utid = trace_table_get(sched, SCHED_UTID, row);
        if (run->utid >= runs->n_threads)
                run->utid = 0;
        run->ns = (uint32_t)MIN(MAX(ns, INT64_C(0)), (int64_t)LONG_NS);
}

static uint32_t index_part(const AnswerRunIndex *index, int64_t at) {
        uint64_t part;

        if (at < index->first_ts)
                return 0;
        part = ((uint64_t)at - (uint64_t)index->first_ts) >> index->shift;
        return (uint32_t)MIN(part, (uint64_t)index->n - 1);
}

/* There is at least one run. */
static void fill_index(AnswerRunIndex *index, const AnswerRun *runs, size_t first, size_t end) {
        uint64_t ns = (uint64_t)runs[end - 1].ts - (uint64_t)runs[first].ts;
        uint32_t part = 0;

        index->first_ts = runs[first].ts;
        index->n = (uint32_t)((end - first) / RUNS_PER_PART) + 1;
        while (index->shift < 63 && ns >> index->shift >= index->n)
                index->shift++;
        index->places[0] = (uint32_t)first;
        for (size_t i = first; i < end; i++)
                while (part < index_part(index, runs[i].ts))
                        index->places[++part] = (uint32_t)i;
        while (part < index->n)
                index->places[++part] = (uint32_t)end;
}

static void fill_indexes(AnswerRuns *runs) {
        const AnswerGroups *by_cpu = &runs->cores->by_cpu;
        uint32_t *places = runs->places;

        for (size_t cpu = 0; cpu < by_cpu->n; cpu++) {
                if (by_cpu->first[cpu] == by_cpu->first[cpu + 1])
                        continue;
                runs->index[cpu].places = places;
                fill_index(
                        &runs->index[cpu], runs->runs, by_cpu->first[cpu], by_cpu->first[cpu + 1]);
                places += runs->index[cpu].n + 1;
        }
}

int answer_runs_init(AnswerRuns *runs, const AnswerCores *cores, const TraceStore *store) {
        const AnswerGroups *by_cpu = &cores->by_cpu;
        size_t n = cores->sched->n;

        *runs = (AnswerRuns){ .cores = cores, .n_threads = store->tables[TRACE_TABLE_THREAD].n };
        runs->runs = reallocarray(NULL, n + 1, sizeof(*runs->runs));
        runs->index = calloc(by_cpu->n + 1, sizeof(*runs->index));
        runs->places = calloc(n / RUNS_PER_PART + 2 * by_cpu->n + 1, sizeof(*runs->places));
        runs->ns = calloc(runs->n_threads + 1, sizeof(*runs->ns));
        runs->threads = calloc(runs->n_threads + 1, sizeof(*runs->threads));
        if (!runs->runs || !runs->index || !runs->places || !runs->ns || !runs->threads)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                fill_run(&runs->runs[i], runs, by_cpu->rows[i]);
        fill_indexes(runs);
        return 0;
}

void answer_runs_deinit(AnswerRuns *runs) {
        free(runs->runs);
        free(runs->index);
        free(runs->places);
        free(runs->ns);
        free(runs->threads);
        *runs = (AnswerRuns){ 0 };
}

/* The last run of a CPU that begins at or before the time, or else its first. */
static size_t runs_find(const AnswerRuns *runs, uint32_t cpu, int64_t at) {
        const AnswerRunIndex *index = &runs->index[cpu];
        uint32_t part = index_part(index, at);
        size_t low = index->places[part], high = index->places[part + 1];

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (runs->runs[middle].ts <= at)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low > runs->cores->by_cpu.first[cpu] ? low - 1 : low;
}

static inline void add_ns(AnswerRuns *runs, uint32_t utid, uint64_t ns) {
        if (UNLIKELY(runs->ns[utid] == 0) && ns)
                runs->threads[runs->n++] = utid;
        runs->ns[utid] += ns;
}

/* The first run may have begun earlier, the last may end later, and long ones are not in the copy. */
static void add_part(AnswerRuns *runs, size_t i, int64_t from, int64_t to) {
        const AnswerRun *run = &runs->runs[i];
        uint64_t room = INT64_MAX - MIN(runs->ns[run->utid], (uint64_t)INT64_MAX);
        int64_t ns = run->ns;

        if (run->ns == LONG_NS)
                ns = trace_table_i64(runs->cores->sched, SCHED_DUR, runs->cores->by_cpu.rows[i]);
        ns = time_overlap(run->ts, time_add(run->ts, ns), from, to);
        add_ns(runs, run->utid, MIN((uint64_t)ns, room));
}

void answer_runs_add(AnswerRuns *runs, uint32_t cpu, int64_t from, int64_t to) {
        size_t i, end;

        if (cpu >= runs->cores->by_cpu.n || runs->index[cpu].n == 0)
                return;
        end = runs->cores->by_cpu.first[cpu + 1];
        i = runs_find(runs, cpu, from);
        add_part(runs, i++, from, to);
        for (; i < end && runs->runs[i].ts < to; i++) {
                const AnswerRun *run = &runs->runs[i];

                if (UNLIKELY(run->ns == LONG_NS || run->ns > (uint64_t)to - (uint64_t)run->ts))
                        add_part(runs, i, from, to);
                else
                        add_ns(runs, run->utid, run->ns);
        }
}

uint32_t answer_runs_take_most(AnswerRuns *runs, int64_t *ret_ns) {
        uint32_t most = TRACE_NONE;
        uint64_t most_ns = 0;

        for (size_t i = 0; i < runs->n; i++) {
                uint32_t utid = runs->threads[i];
                uint64_t ns = runs->ns[utid];

                if (utid && (ns > most_ns || (ns == most_ns && utid < most))) {
                        most = utid;
                        most_ns = ns;
                }
                runs->ns[utid] = 0;
        }
        runs->n = 0;
        *ret_ns = (int64_t)MIN(most_ns, (uint64_t)INT64_MAX);
        return most;
}
