/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Kept stack: a call stack that is put together now and written later
 *
 * It has the chain of calls only, as the trace will: nothing of what lay on the stack.
 */

#include "probes/perf/stack-table.h"

typedef struct KeptStack {
        StackPart *parts; /* with the names of those that do not last; NULL: none is kept */
        size_t n_parts;
        size_t n_bytes;
} KeptStack;

/* Keeps the stack at hand, if it has at most `n_bytes_max` bytes. Names of parts that are lasting are not copied. 0,
 * -E2BIG or -ENOMEM. */
int kept_stack_init(KeptStack *ret,
                    const StackTable *stacks,
                    size_t n_bytes_max,
                    bool (*is_lasting)(const StackPart *part));
/* May be called on one that is empty, and leaves it empty. */
void kept_stack_deinit(KeptStack *stack);

/* Makes it the stack at hand again. */
void kept_stack_put(const KeptStack *stack, StackTable *stacks);
