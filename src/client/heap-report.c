/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Heap report: what programs have allocated, at the end of a trace */

#include "client/heap-report.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "shared/macro.h"
#include "trace/trace-import.h"
#include "trace/trace-stack-text.h"

/* The heap library's names for the end of a stack that it could not follow further, and for allocations that it had no
 * room for. */
#define TRUNCATED "[truncated]"
#define OTHERS    "[others]"

typedef enum SiteKind { SITE_COMPLETE, SITE_TRUNCATED, SITE_OTHERS } SiteKind;

typedef struct Reading {
        HeapReport *report;
        GHashTable *programs; /* "upid heap interval recording" → HeapProgram */
} Reading;

static uint64_t difference(uint64_t x, uint64_t y) {
        return x > y ? x - y : 0;
}

uint64_t heap_in_use(const uint64_t *sums) {
        return difference(sums[TRACE_HEAP_ALLOCATED], sums[TRACE_HEAP_FREED]);
}

uint64_t heap_n_in_use(const uint64_t *sums) {
        return difference(sums[TRACE_HEAP_N_ALLOCATED], sums[TRACE_HEAP_N_FREED]);
}

/* Each sum is INT64_MAX at most. */
static void add(uint64_t *sum, uint64_t value) {
        *sum = MIN(*sum, (uint64_t)INT64_MAX) + MIN(value, (uint64_t)INT64_MAX);
}

static SiteKind kind_of(const TraceStore *store, uint32_t callsite) {
        const TraceTable *callsites = &store->tables[TRACE_TABLE_CALLSITE];

        for (uint32_t at = callsite; at < callsites->n;
             at = trace_table_get(callsites, CALLSITE_PARENT, at)) {
                const char *name = trace_pool_text(
                        &store->pool,
                        trace_frame_name(store, trace_table_get(callsites, CALLSITE_FRAME, at)));

                if (name && streq(name, OTHERS))
                        return SITE_OTHERS;
                if (name && streq(name, TRUNCATED))
                        return SITE_TRUNCATED;
        }
        return SITE_COMPLETE;
}

static void program_free(void *data) {
        HeapProgram *program = data;

        g_array_unref(program->sites);
        g_array_unref(program->threads);
        g_free(program);
}

static HeapProgram *program_new(const TraceStore *store, uint32_t row) {
        const TraceTable *table = &store->tables[TRACE_TABLE_HEAP_SITE],
                         *processes = &store->tables[TRACE_TABLE_PROCESS];
        const uint32_t upid = trace_table_get(table, HEAP_SITE_UPID, row);
        HeapProgram *program = g_new0(HeapProgram, 1);
        int64_t pid;

        program->heap = trace_pool_text(&store->pool, trace_table_get(table, HEAP_SITE_HEAP, row));
        program->interval = (uint64_t)trace_table_i64(table, HEAP_SITE_INTERVAL, row);
        program->recording = trace_table_get(table, HEAP_SITE_RECORDING, row);
        program->has_ended = trace_table_i64(table, HEAP_SITE_AT_EXIT, row) != 0;
        program->sites = g_array_new(FALSE, FALSE, sizeof(HeapSite));
        program->threads = g_array_new(FALSE, TRUE, sizeof(HeapThreadSums));
        if (upid >= processes->n)
                return program;
        program->name =
                trace_pool_text(&store->pool, trace_table_get(processes, PROCESS_NAME, upid));
        if (trace_table_number(processes, PROCESS_PID, upid, &pid))
                program->pid = (int32_t)pid;
        return program;
}

static HeapProgram *program_of(const Reading *reading, uint32_t row) {
        const TraceTable *table = &reading->report->store->tables[TRACE_TABLE_HEAP_SITE];
        g_autofree char *key = g_strdup_printf("%" PRIu32 " %" PRIu32 " %" PRIi64 " %" PRIu32,
                                               trace_table_get(table, HEAP_SITE_UPID, row),
                                               trace_table_get(table, HEAP_SITE_HEAP, row),
                                               trace_table_i64(table, HEAP_SITE_INTERVAL, row),
                                               trace_table_get(table, HEAP_SITE_RECORDING, row));
        HeapProgram *program = g_hash_table_lookup(reading->programs, key);

        if (program)
                return program;
        program = program_new(reading->report->store, row);
        g_hash_table_insert(reading->programs, g_steal_pointer(&key), program);
        g_ptr_array_add(reading->report->programs, program);
        return program;
}

/* Programs have few distinct thread names. */
static HeapThreadSums *thread_of(HeapProgram *program, const char *name) {
        const HeapThreadSums new = { .name = name };

        for (guint i = 0; i < program->threads->len; i++) {
                HeapThreadSums *thread = &g_array_index(program->threads, HeapThreadSums, i);

                if (thread->name == name)
                        return thread;
        }
        g_array_append_val(program->threads, new);
        return &g_array_index(program->threads, HeapThreadSums, program->threads->len - 1);
}

static void take_site(const Reading *reading, uint32_t row) {
        const TraceStore *store = reading->report->store;
        const TraceTable *table = &store->tables[TRACE_TABLE_HEAP_SITE];
        HeapProgram *program = program_of(reading, row);
        HeapSite site = { .callsite = trace_table_get(table, HEAP_SITE_CALLSITE, row) };
        const SiteKind kind = kind_of(store, site.callsite);
        HeapThreadSums *thread = thread_of(
                program,
                trace_pool_text(&store->pool, trace_table_get(table, HEAP_SITE_THREAD, row)));

        for (unsigned i = 0; i < _TRACE_HEAP_SUMS_N; i++) {
                site.sums[i] = (uint64_t)trace_table_i64(table, HEAP_SITE_SUMS + i, row);
                add(&program->sums[i], site.sums[i]);
                add(&thread->sums[i], site.sums[i]);
        }
        site.is_complete = kind == SITE_COMPLETE;
        program->n_complete += site.is_complete;
        if (site.is_complete)
                add(&program->complete, site.sums[TRACE_HEAP_ALLOCATED]);
        if (kind == SITE_OTHERS)
                add(&program->others, site.sums[TRACE_HEAP_ALLOCATED]);
        g_array_append_val(program->sites, site);
}

static int compare_programs(gconstpointer left, gconstpointer right) {
        const HeapProgram *x = *(HeapProgram *const *)left, *y = *(HeapProgram *const *)right;
        const uint64_t a = heap_in_use(x->sums), b = heap_in_use(y->sums);

        if (a != b)
                return a > b ? -1 : 1;
        return (x->pid > y->pid) - (x->pid < y->pid);
}

static int compare_threads(gconstpointer left, gconstpointer right) {
        const HeapThreadSums *x = left, *y = right;
        const uint64_t a = heap_in_use(x->sums), b = heap_in_use(y->sums);

        if (a != b)
                return a > b ? -1 : 1;
        return g_strcmp0(x->name, y->name);
}

static void count_invalid(HeapReport *report) {
        const TraceTable *table = &report->store->tables[TRACE_TABLE_STAT];

        for (uint32_t row = 0; row < table->n; row++) {
                const char *name = trace_pool_text(&report->store->pool,
                                                   trace_table_get(table, STAT_NAME, row));

                if (name && (streq(name, "heapprofd_malformed_packet") ||
                             streq(name, "stackprofile_invalid")))
                        add(&report->n_invalid, (uint64_t)trace_table_i64(table, STAT_VALUE, row));
        }
}

static void take_sites(HeapReport *report) {
        const Reading reading = {
                .report = report,
                .programs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        };

        for (uint32_t row = 0; row < report->store->tables[TRACE_TABLE_HEAP_SITE].n; row++)
                take_site(&reading, row);
        g_hash_table_unref(reading.programs);
}

int heap_report_read(HeapReport **ret, int fd) {
        _cleanup_(trace_store_freep) TraceStore *store = NULL;
        HeapReport *report;
        int r;

        *ret = NULL;
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        r = trace_import(&store, fd, TRACE_PART_STACKS | TRACE_PART_THREADS, HEAP_REPORT_MEMORY);
        if (r < 0 || store->tables[TRACE_TABLE_HEAP_SITE].n == 0)
                return r;
        report = g_new0(HeapReport, 1);
        report->store = TAKE(store);
        report->programs = g_ptr_array_new_with_free_func(program_free);
        take_sites(report);
        g_ptr_array_sort(report->programs, compare_programs);
        for (guint i = 0; i < report->programs->len; i++) {
                HeapProgram *program = g_ptr_array_index(report->programs, i);

                g_array_sort(program->threads, compare_threads);
        }
        count_invalid(report);
        *ret = report;
        return 0;
}

HeapReport *heap_report_free(HeapReport *report) {
        if (!report)
                return NULL;
        g_ptr_array_unref(report->programs);
        trace_store_free(report->store);
        g_free(report);
        return NULL;
}

uint64_t heap_order_value(HeapOrder order, const HeapSite *site) {
        switch (order) {
        case HEAP_BY_PEAK:
                return site->sums[TRACE_HEAP_AT_PEAK];
        case HEAP_BY_CHURN:
                return site->sums[TRACE_HEAP_FREED_SOON];
        default:
                return heap_in_use(site->sums);
        }
}

static int compare_sites(gconstpointer left, gconstpointer right, gpointer order) {
        const HeapSite *x = *(HeapSite *const *)left, *y = *(HeapSite *const *)right;
        const uint64_t a = heap_order_value((HeapOrder)GPOINTER_TO_UINT(order), x),
                       b = heap_order_value((HeapOrder)GPOINTER_TO_UINT(order), y);

        if (a != b)
                return a > b ? -1 : 1;
        return (x->callsite > y->callsite) - (x->callsite < y->callsite);
}

GPtrArray *heap_report_sorted(const HeapProgram *program, HeapOrder order) {
        GPtrArray *sorted = g_ptr_array_new();

        for (guint i = 0; i < program->sites->len; i++) {
                HeapSite *site = &g_array_index(program->sites, HeapSite, i);

                if (heap_order_value(order, site) > 0)
                        g_ptr_array_add(sorted, site);
        }
        g_ptr_array_sort_with_data(sorted, compare_sites, GUINT_TO_POINTER(order));
        return sorted;
}
