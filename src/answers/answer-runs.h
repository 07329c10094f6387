/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer runs: who ran on each CPU, close together in memory
 *
 * Where many threads wait for one CPU, each run on it is examined once for each of them. So this does not read the
 * table's columns, where the runs of one CPU lie far apart, but a copy of the little that matters.
 */

#include "answers/answer-cores.h"

typedef struct AnswerRuns {
        const AnswerCores *cores;
        struct AnswerRun *runs; /* the row, as in AnswerCores */
        size_t n_threads;
        struct AnswerRunIndex *index; /* by CPU */
        uint32_t *places;             /* index into runs; those of all CPUs */
        uint64_t *ns;                 /* by thread: its sum */
        uint32_t *threads;            /* threads that have a sum */
        size_t n;
} AnswerRuns;

/* Does not change `cores`. Returns 0, or -ENOMEM. */
int answer_runs_init(AnswerRuns *runs, const AnswerCores *cores, const TraceStore *store);
void answer_runs_deinit(AnswerRuns *runs);

/* Adds up how long each thread, except idle ones, ran there. */
void answer_runs_add(AnswerRuns *runs, uint32_t cpu, int64_t from, int64_t to);
/* The thread with the most time (of equals, the lower number), and that time; TRACE_NONE if there is none. Resets
 * the sums. */
uint32_t answer_runs_take_most(AnswerRuns *runs, int64_t *ret_ns);
