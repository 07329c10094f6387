/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Kept stack: a call stack that is put together now and written later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/perf/kept-stack.h"

static size_t name_bytes(const StackPart *part, bool (*is_lasting)(const StackPart *part)) {
        return part->name && !is_lasting(part) ? strlen(part->name) + 1 : 0;
}

/* Copies of names that do not last lie behind the parts. */
int kept_stack_init(KeptStack *ret,
                    const StackTable *stacks,
                    size_t n_bytes_max,
                    bool (*is_lasting)(const StackPart *part)) {
        size_t n_bytes = stacks->n_parts * sizeof(*ret->parts);
        StackPart *parts;
        char *text;

        for (size_t i = 0; i < stacks->n_parts; i++)
                n_bytes += name_bytes(&stacks->parts[i], is_lasting);
        if (n_bytes > n_bytes_max)
                return -E2BIG;
        parts = malloc(n_bytes + 1);
        if (!parts)
                return -ENOMEM;
        text = (char *)(parts + stacks->n_parts);
        for (size_t i = 0; i < stacks->n_parts; i++) {
                const size_t n = name_bytes(&stacks->parts[i], is_lasting);

                parts[i] = stacks->parts[i];
                if (n > 0)
                        parts[i].name = memcpy(text, stacks->parts[i].name, n);
                text += n;
        }
        *ret = (KeptStack){ .parts = parts, .n_parts = stacks->n_parts, .n_bytes = n_bytes };
        return 0;
}

void kept_stack_deinit(KeptStack *stack) {
        free(stack->parts);
        *stack = (KeptStack){};
}

void kept_stack_put(const KeptStack *stack, StackTable *stacks) {
        stack_table_begin(stacks);
        for (size_t i = 0; i < stack->n_parts; i++)
                stack_table_add_named(stacks,
                                      stack->parts[i].module,
                                      stack->parts[i].address,
                                      stack->parts[i].name);
}
