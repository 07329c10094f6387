/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer groups: the rows of a table by what is in one column, in the order of the table within each group
 */

#include <stddef.h>
#include <stdint.h>

#include "trace/trace-table.h"

typedef struct AnswerGroups {
        uint32_t *rows;
        size_t *first; /* by value: of its rows; one more at the end */
        size_t n;      /* values: one more than the largest */
} AnswerGroups;

/* Rows whose value is n_max or more, or nothing, are with 0. 0, or -ENOMEM. */
int answer_groups_init(AnswerGroups *groups,
                       const TraceTable *table,
                       unsigned column,
                       size_t n_max);
void answer_groups_deinit(AnswerGroups *groups);
