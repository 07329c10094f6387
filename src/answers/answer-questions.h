/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer questions: one row each, and the order of its facts and columns
 */

#include "answers/answer.h"

/* All questions, in the order in which the documentation lists them. */
const AnswerDef *const *answer_defs(size_t *ret_n);
const AnswerDef *answer_def_find(const char *name);

extern const AnswerDef answer_cpu, answer_slice, answer_wakers, answer_slowest, answer_times,
        answer_repeats, answer_waits, answer_wakeups, answer_disk, answer_interrupts, answer_memory,
        answer_journal, answer_bus, answer_losses, answer_functions, answer_sleeps, answer_grows;

/* Facts, by question. Values that a sentence names are in the first row as well. */
enum { CPU_FACT_BUSY, CPU_FACT_ALL, CPU_FACT_SHARE, CPU_FACT_CPUS, CPU_FACT_OPEN };
enum {
        SLICE_FACT_NAME,
        SLICE_FACT_ID,
        SLICE_FACT_AT,
        SLICE_FACT_DUR,
        SLICE_FACT_THREAD,
        SLICE_FACT_RAN,
        SLICE_FACT_RUNNABLE,
        SLICE_FACT_IO,
        SLICE_FACT_BLOCKED,
        SLICE_FACT_SLEPT,
        SLICE_FACT_UNKNOWN,
        SLICE_FACT_OPEN,
};
enum { WAKERS_FACT_THREAD, WAKERS_FACT_AT, WAKERS_FACT_WAITED, WAKERS_FACT_END };
enum {
        SLOWEST_FACT_NAME,
        SLOWEST_FACT_N,
        SLOWEST_FACT_P50,
        SLOWEST_FACT_MAX,
        SLOWEST_FACT_WHAT,
        SLOWEST_FACT_EXCESS,
};
enum { TIMES_FACT_N, TIMES_FACT_NAMES, TIMES_FACT_OPEN };
enum { REPEATS_FACT_N };
enum { WAITS_FACT_TOTAL, WAITS_FACT_N, WAITS_FACT_P50, WAITS_FACT_P99, WAITS_FACT_MAX };
enum { WAKEUPS_FACT_N, WAKEUPS_FACT_RATE, WAKEUPS_FACT_IDLE };
enum { DISK_FACT_TOTAL, DISK_FACT_N, DISK_FACT_MAX };
enum { INTERRUPTS_FACT_TOTAL, INTERRUPTS_FACT_N, INTERRUPTS_FACT_MAX };
enum { MEMORY_FACT_PROCESSES };
enum {
        GROWS_FACT_SEVERAL,
        GROWS_FACT_ONCE,
        GROWS_FACT_ENDED,
        GROWS_FACT_FIRST,
        GROWS_FACT_LAST,
        GROWS_FACT_GROWTH,
        GROWS_FACT_LEFT,
        GROWS_FACT_MOST_LEFT,
        GROWS_FACT_MOST_LEFT_WHO,
        GROWS_FACT_MOST_LEFT_AT,
        GROWS_FACT_MOST_THREAD,
        GROWS_FACT_MOST_THREAD_WHO,
        GROWS_FACT_MOST_THREAD_NAME,
};
enum { JOURNAL_FACT_N, JOURNAL_FACT_BAD };
enum { BUS_FACT_CALLS, BUS_FACT_WAITED, BUS_FACT_MAX, BUS_FACT_OPEN, BUS_FACT_SENT };
enum { FUNCTIONS_FACT_N, FUNCTIONS_FACT_NO_STACK, FUNCTIONS_FACT_NO_NAME };
enum { LOSSES_FACT_KINDS, LOSSES_FACT_GAPS, LOSSES_FACT_HERE };

/* Columns that sentences refer to. */
enum { CPU_COLUMN_WHO, CPU_COLUMN_NS, CPU_COLUMN_SHARE };
enum { FUNCTIONS_COLUMN_NAME, FUNCTIONS_COLUMN_SHARE };
enum { BUS_COLUMN_WHO, BUS_COLUMN_NAME };
enum { REPEATS_COLUMN_WHAT, REPEATS_COLUMN_NAME, REPEATS_COLUMN_PERIOD };
enum { WAITS_COLUMN_WHO, WAITS_COLUMN_NS };
enum { WAKEUPS_COLUMN_WHO, WAKEUPS_COLUMN_N };
enum { DISK_COLUMN_WHO, DISK_COLUMN_NS };
enum { INTERRUPTS_COLUMN_NAME, INTERRUPTS_COLUMN_NS };
enum { MEMORY_COLUMN_WHO, MEMORY_COLUMN_GROWTH };
enum {
        GROWS_COLUMN_WHO,
        GROWS_COLUMN_GROWTH,
        GROWS_COLUMN_FIRST,
        GROWS_COLUMN_LAST,
        GROWS_COLUMN_LEFT,
        GROWS_COLUMN_THREAD,
        GROWS_COLUMN_STACK,
};
enum { TIMES_COLUMN_NAME, TIMES_COLUMN_N, TIMES_COLUMN_NS };
