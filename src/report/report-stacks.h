/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Stacks: the call stacks of a page's samples, each way to a function once
 *
 * Numbers are given as stacks are asked for, to callers before what they call.
 */

#include "trace/trace-store.h"

typedef struct ReportStacks {
        const TraceStore *store;
        uint32_t *numbers; /* row of a call site → number, and one; 0: not asked for yet */
        uint32_t *rows;    /* the other way round */
        size_t n;
} ReportStacks;

/* 0, or -ENOMEM. */
int report_stacks_init(ReportStacks *stacks, const TraceStore *store);
void report_stacks_deinit(ReportStacks *stacks);

/* The number of a stack by its innermost call site, plus one; 0 when the sample has no stack. */
uint32_t report_stacks_number(ReportStacks *stacks, uint32_t callsite);
/* That of the caller; 0: it is the outermost one. */
uint32_t report_stacks_parent(const ReportStacks *stacks, size_t number);
/* The name of its function, or else that of its file, in the pool. */
uint32_t report_stacks_name(const ReportStacks *stacks, size_t number);
