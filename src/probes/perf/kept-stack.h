/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Kept stack: a call stack that is put together now and written later
 *
 * Only the chain of calls is kept, as in the trace, and none of the stack's contents.
 */

#include "probes/perf/stack-table.h"

typedef struct KeptStack {
        StackPart *parts; /* with copies of names that do not last; NULL: no stack is kept */
        size_t n_parts;
        size_t n_bytes;
} KeptStack;

/* Keeps the current stack, if it takes at most `n_bytes_max` bytes. Names that last are not copied. Returns 0,
 * -E2BIG or -ENOMEM. */
int kept_stack_init(KeptStack *ret,
                    const StackTable *stacks,
                    size_t n_bytes_max,
                    bool (*is_lasting)(const StackPart *part));
/* May be called on an empty one, and leaves it empty. */
void kept_stack_deinit(KeptStack *stack);

/* Makes it the current stack again. */
void kept_stack_put(const KeptStack *stack, StackTable *stacks);
