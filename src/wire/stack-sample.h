/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Stack samples: the field numbers of samples, for their writers and readers
 *
 * They are Perfetto's. Numbers that only one side uses are listed too, so that each message is complete.
 */

/* perfetto.protos.PerfSample */
enum {
        SAMPLE_CPU = 1,
        SAMPLE_PID = 2,
        SAMPLE_TID = 3,
        SAMPLE_CALLSTACK = 4,
        SAMPLE_CPU_MODE = 5,
        SAMPLE_UNWIND_ERROR = 16,
        SAMPLE_RECORDS_LOST = 17,
        SAMPLE_SKIPPED_REASON = 18,
        SAMPLE_PRODUCER_EVENT = 19,
        SAMPLE_FIELDS,
};

/* perfetto.protos.StackSample, with its task and the place where the task ran */
enum {
        STACK_TASK = 1,
        STACK_EXECUTION = 3,
        STACK_CALLSTACK = 6,
        STACK_UNWIND_ERROR = 7,
        STACK_COUNTER = 9,
        STACK_WEIGHT = 11,
        TASK_PID = 2,
        TASK_TID = 3,
        TASK_FIELDS,
        EXECUTION_CPU = 2,
        EXECUTION_MODE = 3,
        EXECUTION_FIELDS,
};
