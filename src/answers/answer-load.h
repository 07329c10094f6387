/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer load: for each interval in turn, who used the CPUs and which slices ended
 *
 * This is not a question of `why`: its two answers fill the screen of `top`. A client that watches the machine rather
 * than a recording makes answers with the same columns, so both look alike. The tables are read once, however many
 * intervals there are: whatever extends beyond an interval is kept for the next.
 */

#include "answers/answer.h"

enum {
        LOAD_FACT_BUSY,
        LOAD_FACT_ALL,
        LOAD_FACT_SHARE,
        LOAD_FACT_CPUS,
        LOAD_FACT_OTHERS, /* busy time that is in no row */
        LOAD_FACT_STALLED_CPU,
        LOAD_FACT_STALLED_MEMORY,
        LOAD_FACT_STALLED_IO,
};
enum { LOAD_COLUMN_WHO, LOAD_COLUMN_NS, LOAD_COLUMN_WAITED, LOAD_COLUMN_THREADS };
enum { ENDED_COLUMN_NAME, ENDED_COLUMN_N, ENDED_COLUMN_NS, ENDED_COLUMN_MAX };

extern const AnswerDef answer_load;  /* who used the CPUs */
extern const AnswerDef answer_ended; /* slices that ended */

typedef struct AnswerLoad AnswerLoad;

/* The parts of a trace that it needs. */
#define ANSWER_LOAD_PARTS \
        (TRACE_PART_THREADS | TRACE_PART_SCHED | TRACE_PART_STATES | TRACE_PART_EVENTS)

/* The store must outlive it. Returns 0, or -ENOMEM. */
int answer_load_new(AnswerLoad **ret, const TraceStore *store, AnswerGroup group);
AnswerLoad *answer_load_free(AnswerLoad *load);
DEFINE_CLEANUP(AnswerLoad *, answer_load_free)

/* The next interval, which begins where the previous one ended, or later. Returns 0, or -ENOMEM. */
int answer_load_next(AnswerLoad *load,
                     int64_t from,
                     int64_t to,
                     Answer **ret_load,
                     Answer **ret_ended);
