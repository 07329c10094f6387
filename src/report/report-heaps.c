/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Heaps: what a page shows of programs' heaps, for flame graphs of memory */

#include "report/report-heaps.h"

#include <errno.h>

#include "trace/trace-heap.h"

#define FINEST_GRAIN_NS 1000000

static int compare(int64_t a, int64_t b) {
        return (a > b) - (a < b);
}

static int compare_changes(const void *left, const void *right) {
        const ReportHeapChange *a = left, *b = right;
        int order = compare(a->upid, b->upid);

        if (order == 0)
                order = compare(a->heap, b->heap);
        if (order == 0)
                order = compare(a->recording, b->recording);
        if (order == 0)
                order = compare(a->at_ns, b->at_ns);
        return order ? order : compare(a->callsite, b->callsite);
}

static int compare_sites(const void *left, const void *right) {
        const ReportHeapSite *a = left, *b = right;
        int order = compare(a->upid, b->upid);

        if (order == 0)
                order = compare(a->heap, b->heap);
        if (order == 0)
                order = compare(a->recording, b->recording);
        return order ? order : compare(a->callsite, b->callsite);
}

/* Before the heap existed it was empty. */
static int64_t round_up(int64_t at_ns, int64_t grain_ns) {
        const int64_t past = at_ns % grain_ns;
        int64_t rounded;

        if (past <= 0 || __builtin_add_overflow(at_ns, grain_ns - past, &rounded))
                return at_ns;
        return rounded;
}

static int64_t add(int64_t a, int64_t b) {
        int64_t sum;

        return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* The table has separate changes for what is allocated and what is freed at one time; here only the difference
 * counts. */
static void join_equal(ReportHeaps *heaps) {
        size_t n = 0;

        if (heaps->n_changes > 0)
                qsort(heaps->changes, heaps->n_changes, sizeof(*heaps->changes), compare_changes);
        for (size_t i = 0; i < heaps->n_changes; i++) {
                if (n > 0 && compare_changes(&heaps->changes[n - 1], &heaps->changes[i]) == 0)
                        heaps->changes[n - 1].n_bytes =
                                add(heaps->changes[n - 1].n_bytes, heaps->changes[i].n_bytes);
                else
                        heaps->changes[n++] = heaps->changes[i];
        }
        heaps->n_changes = n;
}

static void thin(ReportHeaps *heaps, int64_t start_ns, int64_t end_ns) {
        int64_t length;

        if (__builtin_sub_overflow(end_ns, start_ns, &length))
                length = INT64_MAX;
        for (int64_t grain_ns = FINEST_GRAIN_NS;
             heaps->n_changes > REPORT_HEAP_CHANGES_MAX && grain_ns / 2 < length;
             grain_ns *= 2) {
                for (size_t i = 0; i < heaps->n_changes; i++) {
                        int64_t *at_ns = &heaps->changes[i].at_ns;

                        *at_ns = MIN(start_ns + round_up(*at_ns - start_ns, grain_ns), end_ns);
                }
                join_equal(heaps);
        }
}

static int take_changes(ReportHeaps *heaps, const TraceStore *store) {
        const TraceTable *table = &store->tables[TRACE_TABLE_HEAP];
        int64_t start_ns, end_ns;

        heaps->changes = calloc(table->n + 1, sizeof(*heaps->changes));
        if (!heaps->changes)
                return -ENOMEM;
        for (uint32_t row = 0; row < table->n; row++)
                heaps->changes[heaps->n_changes++] = (ReportHeapChange){
                        .upid = trace_table_get(table, HEAP_UPID, row),
                        .heap = trace_table_get(table, HEAP_HEAP, row),
                        .recording = trace_table_get(table, HEAP_RECORDING, row),
                        .at_ns = trace_table_i64(table, HEAP_TS, row),
                        .callsite = trace_table_get(table, HEAP_CALLSITE, row),
                        .n_bytes = trace_table_i64(table, HEAP_SIZE, row),
                };
        join_equal(heaps);
        if (trace_store_bounds(store, &start_ns, &end_ns))
                thin(heaps, start_ns, end_ns);
        return 0;
}

static int take_sites(ReportHeaps *heaps, const TraceStore *store) {
        const TraceTable *table = &store->tables[TRACE_TABLE_HEAP_SITE];

        heaps->sites = calloc(table->n + 1, sizeof(*heaps->sites));
        if (!heaps->sites)
                return -ENOMEM;
        for (uint32_t row = 0; row < table->n; row++)
                heaps->sites[heaps->n_sites++] = (ReportHeapSite){
                        .upid = trace_table_get(table, HEAP_SITE_UPID, row),
                        .heap = trace_table_get(table, HEAP_SITE_HEAP, row),
                        .recording = trace_table_get(table, HEAP_SITE_RECORDING, row),
                        .callsite = trace_table_get(table, HEAP_SITE_CALLSITE, row),
                        .allocated =
                                trace_table_i64(table, HEAP_SITE_SUMS + TRACE_HEAP_ALLOCATED, row),
                        .at_peak = trace_table_i64(table, HEAP_SITE_SUMS + TRACE_HEAP_AT_PEAK, row),
                        .freed_soon =
                                trace_table_i64(table, HEAP_SITE_SUMS + TRACE_HEAP_FREED_SOON, row),
                };
        if (heaps->n_sites > 0)
                qsort(heaps->sites, heaps->n_sites, sizeof(*heaps->sites), compare_sites);
        return 0;
}

int report_heaps_init(ReportHeaps *heaps, const TraceStore *store) {
        int r;

        *heaps = (ReportHeaps){ 0 };
        r = take_changes(heaps, store);
        return r ? r : take_sites(heaps, store);
}

void report_heaps_deinit(ReportHeaps *heaps) {
        free(heaps->changes);
        free(heaps->sites);
        *heaps = (ReportHeaps){ 0 };
}
