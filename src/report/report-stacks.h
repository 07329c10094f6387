/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Stacks: the call stacks of a page's samples, each path to a function once
 *
 * Numbers are assigned when a stack is asked for, to callers before their callees.
 */

#include "trace/trace-store.h"

typedef struct ReportStacks {
        const TraceStore *store;
        uint32_t *numbers; /* row of a call site → number plus one; 0: not asked for yet */
        uint32_t *rows;    /* the reverse */
        size_t n;
} ReportStacks;

/* Returns 0, or -ENOMEM. */
int report_stacks_init(ReportStacks *stacks, const TraceStore *store);
void report_stacks_deinit(ReportStacks *stacks);

/* The number of a stack, given its innermost call site plus one; 0 if the sample has no stack. */
uint32_t report_stacks_number(ReportStacks *stacks, uint32_t callsite);
/* The caller's number; 0: the function is the outermost. */
uint32_t report_stacks_parent(const ReportStacks *stacks, size_t number);
/* The name of its function, or else of its file, in the pool. */
uint32_t report_stacks_name(const ReportStacks *stacks, size_t number);
