/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answer groups: the rows of a table, grouped by the value of one column */

#include "answers/answer-groups.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/macro.h"

static uint32_t row_value(const TraceTable *table, unsigned column, uint32_t row, size_t n_max) {
        uint32_t value = trace_table_get(table, column, row);

        return value < n_max ? value : 0;
}

/* A counting sort: rows keep the order of the table. */
int answer_groups_init(AnswerGroups *groups,
                       const TraceTable *table,
                       unsigned column,
                       size_t n_max) {
        _cleanup_(freep) size_t *next = NULL;

        *groups = (AnswerGroups){ 0 };
        for (uint32_t row = 0; row < table->n; row++)
                groups->n = MAX(groups->n, (size_t)row_value(table, column, row, n_max) + 1);
        groups->rows = calloc(table->n + 1, sizeof(*groups->rows));
        groups->first = calloc(groups->n + 2, sizeof(*groups->first));
        next = calloc(groups->n + 2, sizeof(*next));
        if (!groups->rows || !groups->first || !next)
                return -ENOMEM;
        for (uint32_t row = 0; row < table->n; row++)
                groups->first[row_value(table, column, row, n_max) + 1]++;
        for (size_t value = 0; value < groups->n; value++) {
                groups->first[value + 1] += groups->first[value];
                next[value] = groups->first[value];
        }
        for (uint32_t row = 0; row < table->n; row++)
                groups->rows[next[row_value(table, column, row, n_max)]++] = row;
        return 0;
}

void answer_groups_deinit(AnswerGroups *groups) {
        free(groups->rows);
        free(groups->first);
        *groups = (AnswerGroups){ 0 };
}
