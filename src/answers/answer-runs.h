/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer runs: who ran on each CPU, close together in memory
 *
 * Where many threads wait for one CPU, each run on it is looked at once for each of them. So what is looked at is not
 * the table's columns, where the runs of one CPU lie apart, but a copy of the little that matters.
 */

#include "answers/answer-cores.h"

typedef struct AnswerRuns {
        const AnswerCores *cores;
        struct AnswerRun *runs; /* as the rows of the cores */
        size_t n_threads;
        struct AnswerRunIndex *index; /* by CPU */
        uint32_t *places;             /* in runs, of all indexes */
        uint64_t *ns;                 /* by thread: what has been added up */
        uint32_t *threads;            /* that something has been added up of */
        size_t n;
} AnswerRuns;

/* `cores` stay as they are. 0, or -ENOMEM. */
int answer_runs_init(AnswerRuns *runs, const AnswerCores *cores, const TraceStore *store);
void answer_runs_deinit(AnswerRuns *runs);

/* Adds up how long each thread but the idle ones ran there. */
void answer_runs_add(AnswerRuns *runs, uint32_t cpu, int64_t from, int64_t to);
/* The thread with the most time (of equals, the lower number), and that time; TRACE_NONE: there is none. Begins
 * from nothing again. */
uint32_t answer_runs_take_most(AnswerRuns *runs, int64_t *ret_ns);
