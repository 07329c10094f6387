/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer cores: who ran on each CPU, one after the other
 */

#include "answers/answer-groups.h"
#include "answers/answer-tally.h"
#include "trace/trace-store.h"

typedef struct AnswerCores {
        const TraceTable *sched;
        AnswerGroups by_cpu; /* rows of sched, in order of time */
        size_t n_present;    /* CPUs on which anything ran */
} AnswerCores;

/* Returns 0, or -ENOMEM. */
int answer_cores_init(AnswerCores *cores, const TraceStore *store);
void answer_cores_deinit(AnswerCores *cores);

/* Counts how long each thread but the idle ones ran there, with `high` in the upper half of the key. Returns 0, or
 * -ENOMEM. */
int answer_cores_tally(const AnswerCores *cores,
                       uint32_t cpu,
                       int64_t from,
                       int64_t to,
                       uint32_t high,
                       AnswerTally *tally);
