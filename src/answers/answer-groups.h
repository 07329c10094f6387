/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer groups: the rows of a table, grouped by the value of one column; within each group they keep the table's order
 */

#include <stddef.h>
#include <stdint.h>

#include "trace/trace-table.h"

typedef struct AnswerGroups {
        uint32_t *rows;
        size_t *first; /* by value: index of its first row; one more at the end */
        size_t n;      /* number of values: one more than the largest */
} AnswerGroups;

/* Rows whose value is n_max or more, or missing, join group 0. Returns 0, or -ENOMEM. */
int answer_groups_init(AnswerGroups *groups,
                       const TraceTable *table,
                       unsigned column,
                       size_t n_max);
void answer_groups_deinit(AnswerGroups *groups);
