/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stacks: the call stacks of a page's samples, each path to a function once */

#include "report/report-stacks.h"

#include <errno.h>

static uint32_t get(const ReportStacks *stacks, TraceTableId table, unsigned column, uint32_t row) {
        const TraceTable *rows = &stacks->store->tables[table];

        return row < rows->n ? trace_table_get(rows, column, row) : TRACE_NONE;
}

int report_stacks_init(ReportStacks *stacks, const TraceStore *store) {
        size_t n = store->tables[TRACE_TABLE_CALLSITE].n + 1;

        *stacks = (ReportStacks){ .store = store,
                                  .numbers = calloc(n, sizeof(uint32_t)),
                                  .rows = calloc(n, sizeof(uint32_t)) };
        return stacks->numbers && stacks->rows ? 0 : -ENOMEM;
}

void report_stacks_deinit(ReportStacks *stacks) {
        free(stacks->numbers);
        free(stacks->rows);
        *stacks = (ReportStacks){ 0 };
}

/* A caller's row comes before those of its callees, so that stacks cannot form a circle. */
static uint32_t caller_of(const ReportStacks *stacks, uint32_t callsite) {
        uint32_t parent = get(stacks, TRACE_TABLE_CALLSITE, CALLSITE_PARENT, callsite);

        return parent < callsite ? parent : TRACE_NONE;
}

/* Reverses the path: new stacks are appended innermost first, and then turned round. */
uint32_t report_stacks_number(ReportStacks *stacks, uint32_t callsite) {
        size_t first = stacks->n, last;

        if (callsite >= stacks->store->tables[TRACE_TABLE_CALLSITE].n)
                return 0;
        for (uint32_t row = callsite; row != TRACE_NONE && stacks->numbers[row] == 0;
             row = caller_of(stacks, row))
                stacks->rows[stacks->n++] = row;
        for (last = stacks->n; first + 1 < last; first++) {
                uint32_t row = stacks->rows[first];

                stacks->rows[first] = stacks->rows[--last];
                stacks->rows[last] = row;
        }
        for (size_t i = stacks->n; i-- > 0 && stacks->numbers[stacks->rows[i]] == 0;)
                stacks->numbers[stacks->rows[i]] = (uint32_t)i + 1;
        return stacks->numbers[callsite];
}

uint32_t report_stacks_parent(const ReportStacks *stacks, size_t number) {
        uint32_t row = caller_of(stacks, stacks->rows[number]);

        return row == TRACE_NONE ? 0 : stacks->numbers[row];
}

/* The first of several inlined functions is the innermost: the time is spent there. */
uint32_t report_stacks_name(const ReportStacks *stacks, size_t number) {
        uint32_t frame = get(stacks, TRACE_TABLE_CALLSITE, CALLSITE_FRAME, stacks->rows[number]);
        uint32_t set = get(stacks, TRACE_TABLE_FRAME, FRAME_SYMBOL_SET, frame);
        uint32_t name = set == TRACE_NONE ? get(stacks, TRACE_TABLE_FRAME, FRAME_NAME, frame)
                                          : get(stacks, TRACE_TABLE_SYMBOL, SYMBOL_NAME, set);
        const char *text = name == TRACE_NONE ? NULL : trace_pool_text(&stacks->store->pool, name);

        if (text && *text)
                return name;
        name = get(stacks,
                   TRACE_TABLE_MAPPING,
                   MAPPED_NAME,
                   get(stacks, TRACE_TABLE_FRAME, FRAME_MAPPING_ID, frame));
        return name == TRACE_NONE ? 0 : name;
}
