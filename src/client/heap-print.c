/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Heap print: a heap report, for people and for programs */

#include "client/heap-print.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <stdio.h>

#include "client/say.h"
#include "client/table.h"
#include "shared/macro.h"
#include "shared/text.h"
#include "trace/trace-stack-text.h"

#define FRAMES_SHOWN 8u  /* of a stack, in text */
#define SITES_SHOWN  100 /* of each order, in JSON */

typedef struct Print {
        const HeapReport *report;
        size_t n_rows_max;
        bool has_legend;
} Print;

/* A table of a heap's sites. */
typedef struct HeapTable {
        HeapOrder order;
        const char *title;
        const TableColumn *columns;
        uint64_t (*n)(const uint64_t *sums); /* the allocations that have these bytes */
} HeapTable;

static uint64_t n_at_peak(const uint64_t *sums) {
        return sums[TRACE_HEAP_N_AT_PEAK];
}

static uint64_t n_freed_soon(const uint64_t *sums) {
        return sums[TRACE_HEAP_N_FREED_SOON];
}

#define SITE_COLUMNS 4

static const TableColumn in_use_columns[SITE_COLUMNS] = {
        { N_("IN USE"), true },
        { N_("ALLOCATIONS"), true },
        { N_("SHARE"), true },
        { N_("STACK") },
};
static const TableColumn peak_columns[SITE_COLUMNS] = {
        { N_("AT PEAK"), true },
        { N_("ALLOCATIONS"), true },
        { N_("SHARE"), true },
        { N_("STACK") },
};
static const TableColumn churn_columns[SITE_COLUMNS] = {
        { N_("FREED SOON"), true },
        { N_("ALLOCATIONS"), true },
        { N_("SHARE"), true },
        { N_("STACK") },
};

#define THREAD_COLUMNS 4

static const TableColumn thread_columns[THREAD_COLUMNS] = {
        { N_("THREAD") },
        { N_("IN USE"), true },
        { N_("ALLOCATED"), true },
        { N_("FREED SOON"), true },
};

static const HeapTable tables[] = {
        { HEAP_BY_IN_USE, N_("In use at the end"), in_use_columns, heap_n_in_use },
        { HEAP_BY_PEAK, N_("In use at the peak"), peak_columns, n_at_peak },
        { HEAP_BY_CHURN, N_("Freed within 10 ms"), churn_columns, n_freed_soon },
};

static double percent(uint64_t part, uint64_t whole) {
        return (double)part * 100 / (double)MAX(whole, UINT64_C(1));
}

static void add_site(Table *table,
                     const Print *print,
                     const HeapTable *kind,
                     const HeapSite *site,
                     uint64_t all) {
        const uint64_t n_bytes = heap_order_value(kind->order, site);
        g_autofree char *stack =
                trace_stack_text(print->report->store, site->callsite, FRAMES_SHOWN, false);
        char text[TEXT_SIZE_BYTES];

        table_add(table, text_format_size(text, n_bytes));
        table_add_format(table, "%" PRIu64, kind->n(site->sums));
        table_add_format(table, "%.1f %%", percent(n_bytes, all));
        table_add(table, stack);
}

static uint64_t sum_of(HeapOrder order, const GPtrArray *sites) {
        uint64_t sum = 0;

        for (guint i = 0; i < sites->len; i++)
                sum += MIN(heap_order_value(order, g_ptr_array_index(sites, i)), UINT64_MAX - sum);
        return sum;
}

static void print_title(const char *title) {
        printf("\n%s%s%s\n", style(stdout, STYLE_BOLD), title, style(stdout, STYLE_NORMAL));
}

static void print_more(size_t n) {
        if (n > 0)
                printf(ngettext("… and %zu more (--top=0 shows all)\n",
                                "… and %zu more (--top=0 shows all)\n",
                                n),
                       n);
}

static void print_sites(const Print *print, const HeapProgram *program, const HeapTable *kind) {
        g_autoptr(GPtrArray) sites = heap_report_sorted(program, kind->order);
        const uint64_t all = sum_of(kind->order, sites);
        const size_t n = print->n_rows_max ? MIN(print->n_rows_max, sites->len) : sites->len;
        _cleanup_(table_deinit) Table table = { 0 };

        if (n == 0)
                return;
        table_init(&table, kind->columns, SITE_COLUMNS);
        for (size_t i = 0; i < n; i++)
                add_site(&table, print, kind, g_ptr_array_index(sites, i), all);
        print_title(_(kind->title));
        table_print(&table, print->has_legend);
        print_more(sites->len - n);
}

/* A single thread has allocated everything. */
static void print_threads(const Print *print, const HeapProgram *program) {
        const size_t n_all = program->threads->len,
                     n = print->n_rows_max ? MIN(print->n_rows_max, n_all) : n_all;
        _cleanup_(table_deinit) Table table = { 0 };
        char text[TEXT_SIZE_BYTES];

        if (n_all < 2)
                return;
        table_init(&table, thread_columns, THREAD_COLUMNS);
        for (size_t i = 0; i < n; i++) {
                const HeapThreadSums *thread = &g_array_index(program->threads, HeapThreadSums, i);

                table_add(&table, thread->name);
                table_add(&table, text_format_size(text, heap_in_use(thread->sums)));
                table_add(&table, text_format_size(text, thread->sums[TRACE_HEAP_ALLOCATED]));
                table_add(&table, text_format_size(text, thread->sums[TRACE_HEAP_FREED_SOON]));
        }
        print_title(_("By the thread that has allocated it"));
        table_print(&table, print->has_legend);
        print_more(n_all - n);
}

static void print_sums(const HeapProgram *program) {
        char in_use[TEXT_SIZE_BYTES], peak[TEXT_SIZE_BYTES], all[TEXT_SIZE_BYTES],
                soon[TEXT_SIZE_BYTES];

        printf(program->has_ended ? _("When it ended, %s had not been freed (allocations: %" PRIu64
                                      "); at the peak %s was in use.\n")
                                  : _("At the end of the recording %s was in use (allocations: "
                                      "%" PRIu64 "); at the peak it was %s.\n"),
               text_format_size(in_use, heap_in_use(program->sums)),
               heap_n_in_use(program->sums),
               text_format_size(peak, program->sums[TRACE_HEAP_AT_PEAK]));
        printf(_("Allocated in all: %s, of which %s was freed within 10 ms.\n"),
               text_format_size(all, program->sums[TRACE_HEAP_ALLOCATED]),
               text_format_size(soon, program->sums[TRACE_HEAP_FREED_SOON]));
}

/* How far these figures can be trusted. */
static void print_trust(const HeapProgram *program) {
        char interval[TEXT_SIZE_BYTES], others[TEXT_SIZE_BYTES];

        printf(_("Call stacks: %u, of which complete: %zu, with %.1f %% of what was allocated.\n"),
               program->sites->len,
               program->n_complete,
               percent(program->complete, program->sums[TRACE_HEAP_ALLOCATED]));
        if (program->interval > 0)
                printf(_("There is a sample for every %s on average: stacks with less may be "
                         "missing.\n"),
                       text_format_size(interval, program->interval));
        if (program->others > 0)
                printf(_("Under [others], as there were too many call stacks: %s.\n"),
                       text_format_size(others, program->others));
}

static void print_program(const Print *print, const HeapProgram *program) {
        g_autofree char *title = g_strdup_printf(_("Heap %s of %s (process %" PRIi32 ")"),
                                                 program->heap ?: "-",
                                                 program->name ?: "-",
                                                 program->pid);

        print_title(title);
        print_sums(program);
        print_trust(program);
        for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
                print_sites(print, program, &tables[i]);
        print_threads(print, program);
}

void heap_report_print(const HeapReport *report, size_t n_rows_max, bool has_legend) {
        const Print print = { report, n_rows_max, has_legend };
        const size_t n_all = report->programs->len, n = n_rows_max ? MIN(n_rows_max, n_all) : n_all;

        for (size_t i = 0; i < n; i++)
                print_program(&print, g_ptr_array_index(report->programs, i));
        if (n < n_all || report->n_invalid > 0)
                putchar('\n');
        if (n < n_all)
                printf(_("Heaps that are not shown: %zu (--top=0 shows all)\n"), n_all - n);
        if (report->n_invalid > 0)
                printf(_("Sums of heaps that contradict others, or are of unknown call stacks: "
                         "%" PRIu64 "\n"),
                       report->n_invalid);
}

/*
 * For programs
 */

static void write_sums(JsonWriter *writer, const uint64_t *sums) {
        static const char *const keys[_TRACE_HEAP_SUMS_N] = {
                [TRACE_HEAP_ALLOCATED] = "allocated",   [TRACE_HEAP_N_ALLOCATED] = "n_allocated",
                [TRACE_HEAP_FREED] = "freed",           [TRACE_HEAP_N_FREED] = "n_freed",
                [TRACE_HEAP_AT_PEAK] = "at_peak",       [TRACE_HEAP_N_AT_PEAK] = "n_at_peak",
                [TRACE_HEAP_FREED_SOON] = "freed_soon", [TRACE_HEAP_N_FREED_SOON] = "n_freed_soon",
        };

        json_uint(writer, "in_use", heap_in_use(sums));
        json_uint(writer, "n_in_use", heap_n_in_use(sums));
        for (size_t i = 0; i < _TRACE_HEAP_SUMS_N; i++)
                json_uint(writer, keys[i], sums[i]);
}

static void write_sites(JsonWriter *writer,
                        const HeapReport *report,
                        const HeapProgram *program,
                        HeapOrder order,
                        const char *key) {
        g_autoptr(GPtrArray) sites = heap_report_sorted(program, order);

        json_begin_array(writer, key);
        for (guint i = 0; i < MIN(sites->len, (guint)SITES_SHOWN); i++) {
                const HeapSite *site = g_ptr_array_index(sites, i);
                g_autofree char *stack =
                        trace_stack_text(report->store, site->callsite, SIZE_MAX, false);

                json_begin_object(writer, NULL);
                write_sums(writer, site->sums);
                json_bool(writer, "complete", site->is_complete);
                json_string(writer, "stack", stack);
                json_end_object(writer);
        }
        json_end_array(writer);
}

static void write_threads(JsonWriter *writer, const HeapProgram *program) {
        json_begin_array(writer, "threads");
        for (guint i = 0; i < program->threads->len; i++) {
                const HeapThreadSums *thread = &g_array_index(program->threads, HeapThreadSums, i);

                json_begin_object(writer, NULL);
                json_string(writer, "thread", thread->name);
                write_sums(writer, thread->sums);
                json_end_object(writer);
        }
        json_end_array(writer);
}

static void
write_program(JsonWriter *writer, const HeapReport *report, const HeapProgram *program) {
        json_begin_object(writer, NULL);
        json_int(writer, "pid", program->pid);
        json_string(writer, "name", program->name);
        json_string(writer, "heap", program->heap);
        json_uint(writer, "sampling_interval_bytes", program->interval);
        json_uint(writer, "recording", program->recording);
        json_bool(writer, "at_exit", program->has_ended);
        write_sums(writer, program->sums);
        json_uint(writer, "stacks", program->sites->len);
        json_uint(writer, "complete_stacks", program->n_complete);
        json_uint(writer, "complete_allocated", program->complete);
        json_uint(writer, "others_allocated", program->others);
        write_sites(writer, report, program, HEAP_BY_IN_USE, "most_in_use");
        write_sites(writer, report, program, HEAP_BY_PEAK, "most_at_peak");
        write_sites(writer, report, program, HEAP_BY_CHURN, "most_freed_soon");
        write_threads(writer, program);
        json_end_object(writer);
}

void heap_report_write_json(const HeapReport *report, JsonWriter *writer) {
        if (!report)
                return;
        json_begin_array(writer, "heaps");
        for (guint i = 0; i < report->programs->len; i++)
                write_program(writer, report, g_ptr_array_index(report->programs, i));
        json_end_array(writer);
        json_uint(writer, "invalid_heap_sums", report->n_invalid);
}
