/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Comparison of heaps: what a recording has in use at a time, by call stack */

#include "answers/comparison-heap.h"

#include <errno.h>

#include "answers/answer-time.h"
#include "trace/trace-stack-text.h"

#define FRAMES_MAX 8u

static int add_stack(ComparisonHeap *heap, const char *text, int64_t n_bytes) {
        const uint32_t stack = trace_pool_add_text(&heap->stacks, text);
        const uint64_t place = trace_map_find(&heap->places, stack);

        if (place != TRACE_MAP_NONE) {
                heap->items[place].n_bytes = time_add(heap->items[place].n_bytes, n_bytes);
                return 0;
        }
        if (!stack ||
            trace_reserve(
                    (void **)&heap->items, &heap->n_allocated, heap->n + 1, sizeof(*heap->items)) ||
            trace_map_set(&heap->places, stack, heap->n))
                return -ENOMEM;
        heap->items[heap->n++] = (struct ComparisonHeapStack){ stack, n_bytes };
        return 0;
}

/* By call site, which is the innermost frame of a stack. */
static int64_t *sum_up(const TraceStore *store, int64_t at) {
        const TraceTable *table = &store->tables[TRACE_TABLE_HEAP];
        const size_t n_callsites = store->tables[TRACE_TABLE_CALLSITE].n;
        int64_t *sums = calloc(n_callsites + 1, sizeof(*sums));

        for (uint32_t row = 0; sums && row < table->n; row++) {
                const uint32_t callsite = trace_table_get(table, HEAP_CALLSITE, row);

                if (trace_table_i64(table, HEAP_TS, row) <= at && callsite < n_callsites &&
                    trace_table_get(table, HEAP_RECORDING, row) == 0)
                        sums[callsite] =
                                time_add(sums[callsite], trace_table_i64(table, HEAP_SIZE, row));
        }
        return sums;
}

int comparison_heap_init(ComparisonHeap *heap, const TraceStore *store, int64_t at) {
        _cleanup_(freep) int64_t *sums = sum_up(store, at);
        int r;

        *heap = (ComparisonHeap){ 0 };
        r = sums ? trace_pool_init(&heap->stacks) : -ENOMEM;
        for (uint32_t i = 0; r == 0 && i < store->tables[TRACE_TABLE_CALLSITE].n; i++) {
                _cleanup_(freep) char *text = NULL;

                if (sums[i] == 0)
                        continue;
                text = trace_stack_text(store, i, FRAMES_MAX, false);
                r = text ? add_stack(heap, text, sums[i]) : -ENOMEM;
        }
        return r;
}

void comparison_heap_deinit(ComparisonHeap *heap) {
        trace_pool_deinit(&heap->stacks);
        trace_map_deinit(&heap->places);
        free(heap->items);
        *heap = (ComparisonHeap){ 0 };
}
