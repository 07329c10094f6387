/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Inspect, for people: the summary of a trace as tables on stdout */

#include <glib/gi18n.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client/heap-print.h"
#include "client/inspect.h"
#include "client/reason.h"
#include "client/say.h"
#include "client/stack-print.h"
#include "client/table.h"
#include "shared/text.h"
#include "trace/trace-names.h"

typedef struct InspectTable {
        const char *title;
        const TableColumn *columns;
        size_t n_columns;
        size_t table; /* offset in TraceSummary */
        GCompareFunc compare;
        void (*add)(Table *table, const TraceSummary *summary, const void *item);
} InspectTable;

static void add_size(Table *table, uint64_t n_bytes) {
        char text[TEXT_SIZE_BYTES];

        table_add(table, text_format_size(text, n_bytes));
}

static void add_duration(Table *table, uint64_t ns) {
        char text[TEXT_SIZE_BYTES];

        table_add(table, text_format_duration(text, ns));
}

static void add_count(Table *table, uint64_t n) {
        table_add_format(table, "%" PRIu64, n);
}

static void add_id(Table *table, int32_t id) {
        table_add_format(table, "%" PRIi32, id);
}

static const TableColumn source_columns[] = {
        { N_("DATA SOURCE") },   { N_("PACKET") },     { N_("EVENTS"), true },
        { N_("PACKETS"), true }, { N_("SIZE"), true },
};

static const TableColumn producer_columns[] = {
        { N_("PID"), true },     { N_("UID"), true },       { N_("PROGRAM") },
        { N_("PACKETS"), true }, { N_("SEQUENCES"), true }, { N_("LOSSES"), true },
        { N_("SIZE"), true },
};

static void add_producer(Table *table, const TraceSummary *summary, const void *item) {
        const TraceProducer *producer = item;

        add_id(table, producer->pid);
        add_id(table, producer->uid);
        table_add(table,
                  producer->pid ? trace_summary_process_name(summary, producer->pid)
                                : _("(service)"));
        add_count(table, producer->n_packets);
        add_count(table, producer->n_sequences);
        add_count(table, producer->n_losses);
        add_size(table, producer->n_bytes);
}

static const TableColumn event_columns[] = { { N_("KERNEL EVENT") }, { N_("COUNT"), true } };

static void add_event(Table *table, const TraceSummary *summary, const void *item) {
        const TraceNameCount *count = item;

        table_add(table, count->name);
        add_count(table, count->n);
}

static const TableColumn process_columns[] = {
        { N_("PID"), true },      { N_("PROCESS") },        { N_("THREADS"), true },
        { N_("CPU TIME"), true }, { N_("SERVICE OR APP") },
};

static void add_process(Table *table, const TraceSummary *summary, const void *item) {
        const TraceProcess *process = item;

        add_id(table, process->pid);
        table_add(table, trace_summary_process_name(summary, process->pid));
        add_count(table, process->n_threads);
        add_duration(table, process->cpu_ns);
        table_add(table, process->app_id ?: process->user_unit ?: process->unit);
}

static const TableColumn thread_columns[] = {
        { N_("TID"), true },    { N_("THREAD") },         { N_("PROCESS") },
        { N_("SLICES"), true }, { N_("SWITCHES"), true }, { N_("CPU TIME"), true },
};

static void add_thread(Table *table, const TraceSummary *summary, const void *item) {
        const TraceThread *thread = item;

        add_id(table, thread->tid);
        table_add(table, thread->name);
        table_add(table, trace_summary_process_name(summary, thread->pid));
        add_count(table, thread->n_slices);
        add_count(table, thread->n_switches);
        add_duration(table, thread->cpu_ns);
}

static const TableColumn slice_columns[] = {
        { N_("SLICE") },          { N_("CATEGORY") },      { N_("COUNT"), true },
        { N_("INSTANTS"), true }, { N_("LONGEST"), true }, { N_("TOTAL"), true },
};

static void add_slice(Table *table, const TraceSummary *summary, const void *item) {
        const TraceSlice *slice = item;

        table_add(table, slice->name);
        table_add(table, slice->category);
        add_count(table, slice->n_slices + slice->n_open);
        add_count(table, slice->n_instants);
        if (slice->n_slices == 0) {
                table_add(table, NULL);
                table_add(table, NULL);
                return;
        }
        add_duration(table, slice->max_ns);
        add_duration(table, slice->total_ns);
}

static const TableColumn counter_columns[] = {
        { N_("COUNTER") },       { N_("VALUES"), true }, { N_("SMALLEST"), true },
        { N_("LARGEST"), true }, { N_("LAST"), true },   { N_("UNIT") },
};

static void add_counter(Table *table, const TraceSummary *summary, const void *item) {
        const TraceCounter *counter = item;

        table_add(table, counter->name);
        add_count(table, counter->n_values);
        table_add_format(table, "%.15g", counter->min);
        table_add_format(table, "%.15g", counter->max);
        table_add_format(table, "%.15g", counter->last);
        table_add(table, counter->unit);
}

#define COLUMNS(columns) (columns), ARRAY_SIZE(columns)
#define TABLE(member)    offsetof(TraceSummary, member)

static const InspectTable tables[] = {
        { N_("Programs that wrote"),
          COLUMNS(producer_columns),
          TABLE(producers),
          inspect_compare_producers,
          add_producer },
        { N_("Kernel events"),
          COLUMNS(event_columns),
          TABLE(kernel_events),
          inspect_compare_counts,
          add_event },
        { N_("Processes"),
          COLUMNS(process_columns),
          TABLE(processes),
          inspect_compare_processes,
          add_process },
        { N_("Threads"),
          COLUMNS(thread_columns),
          TABLE(threads),
          inspect_compare_threads,
          add_thread },
        { N_("Slices"), COLUMNS(slice_columns), TABLE(slices), inspect_compare_slices, add_slice },
        { N_("Counters"),
          COLUMNS(counter_columns),
          TABLE(counters),
          inspect_compare_counters,
          add_counter },
};

static void print_title(const char *title) {
        printf("\n%s%s%s\n", style(stdout, STYLE_BOLD), title, style(stdout, STYLE_NORMAL));
}

static void print_more(size_t n_more) {
        printf(ngettext("… and %zu more (--top=0 shows all)\n",
                        "… and %zu more (--top=0 shows all)\n",
                        n_more),
               n_more);
}

static void print_table(const TraceSummary *summary,
                        const InspectTable *inspect,
                        const InspectOptions *options) {
        GHashTable *items = *(GHashTable *const *)((const char *)summary + inspect->table);
        g_autoptr(GPtrArray) sorted = trace_summary_sorted(items, inspect->compare);
        _cleanup_(table_deinit) Table table = { 0 };
        size_t n = sorted->len;

        if (n == 0)
                return;
        if (options->n_rows_max && n > options->n_rows_max)
                n = options->n_rows_max;
        table_init(&table, inspect->columns, inspect->n_columns);
        for (size_t i = 0; i < n; i++)
                inspect->add(&table, summary, g_ptr_array_index(sorted, i));
        print_title(_(inspect->title));
        table_print(&table, options->has_legend);
        if (n < sorted->len)
                print_more(sorted->len - n);
}

static void print_sources(const TraceSummary *summary, const InspectOptions *options) {
        _cleanup_(table_deinit) Table table = { 0 };

        table_init(&table, COLUMNS(source_columns));
        for (size_t i = 0; i < trace_source_count(); i++) {
                const TraceSource *source = &summary->sources[i];

                if (source->n_packets == 0)
                        continue;
                table_add(&table, *source->data_source ? source->data_source : _("(service)"));
                table_add(&table, source->kind);
                add_count(&table, source->n_events);
                add_count(&table, source->n_packets);
                add_size(&table, source->n_bytes);
        }
        if (table_n_rows(&table) == 0)
                return;
        print_title(_("Events by source"));
        table_print(&table, options->has_legend);
}

static void print_start(const TraceSummary *summary) {
        uint64_t realtime_ns = trace_summary_start_realtime_ns(summary);
        time_t seconds = (time_t)(realtime_ns / 1000000000);
        char text[64];
        struct tm local;

        if (realtime_ns == 0 || !localtime_r(&seconds, &local))
                return;
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %Z", &local);
        if (!summary->system.release) {
                printf(_("recorded %s\n"), text);
                return;
        }
        printf(ngettext("recorded %s on %s %s %s, %u CPU\n",
                        "recorded %s on %s %s %s, %u CPUs\n",
                        summary->system.n_cpus),
               text,
               summary->system.sysname ? summary->system.sysname : "",
               summary->system.release,
               summary->system.machine ? summary->system.machine : "",
               summary->system.n_cpus);
}

static void print_head(const TraceSummary *summary, const char *name) {
        char size[TEXT_SIZE_BYTES], duration[TEXT_SIZE_BYTES];

        printf(ngettext("%s%s%s: %s, %s, %" PRIu64 " packet\n",
                        "%s%s%s: %s, %s, %" PRIu64 " packets\n",
                        summary->n_packets),
               style(stdout, STYLE_BOLD),
               name,
               style(stdout, STYLE_NORMAL),
               text_format_duration(duration, trace_summary_duration_ns(summary)),
               text_format_size(size, summary->n_bytes),
               summary->n_packets);
        print_start(summary);
        if (summary->end == TRACE_END_TRUNCATED)
                printf(_("The file ends inside a packet, at byte %" PRIu64
                         "; everything before it is shown.\n"),
                       summary->end_offset);
        else if (summary->end == TRACE_END_GARBAGE)
                printf(_("The data at byte %" PRIu64
                         " is not a trace packet; everything before it is shown.\n"),
                       summary->end_offset);
}

static void print_clocks(const TraceSummary *summary) {
        if (summary->n_clocks == 0)
                return;
        print_title(_("Clocks"));
        for (size_t i = 0; i < summary->n_clocks; i++) {
                const TraceClock *clock = &summary->clocks[i];
                const char *name = trace_clock_name(clock->id);

                printf("%s%s", i ? ", " : "", name ? name : _("unknown"));
        }
        printf(ngettext(" (%" PRIu64 " snapshot)\n",
                        " (%" PRIu64 " snapshots)\n",
                        summary->clocks[0].n_snapshots),
               summary->clocks[0].n_snapshots);
}

/* "data source: reason" */
static void print_note(const char *note) {
        const char *colon = strstr(note, ": ");
        size_t n_source = colon ? (size_t)(colon + 2 - note) : 0;
        g_autofree char *reason = reason_translate(note + n_source);
        g_autofree char *text = g_strdup_printf("%.*s%s", (int)n_source, note, reason);

        printf(_("Not recorded: %s\n"), text);
}

static void print_notes(const TraceSummary *summary) {
        for (guint i = 0; i < summary->notes->len; i++)
                print_note(g_ptr_array_index(summary->notes, i));
        if (summary->n_unmatched_ends)
                printf(ngettext("%" PRIu64 " slice began before the start of this file.\n",
                                "%" PRIu64 " slices began before the start of this file.\n",
                                summary->n_unmatched_ends),
                       summary->n_unmatched_ends);
        if (summary->n_misordered)
                printf(ngettext("%" PRIu64 " event of a slice came too late in this file to be put "
                                "in order; durations may be wrong.\n",
                                "%" PRIu64 " events of slices came too late in this file to be put "
                                "in order; durations may be wrong.\n",
                                summary->n_misordered),
                       summary->n_misordered);
        if (summary->n_omitted)
                printf(ngettext("%" PRIu64 " name or object exceeded limits of inspect and was not "
                                "counted.\n",
                                "%" PRIu64 " names or objects exceeded limits of inspect and were "
                                "not counted.\n",
                                summary->n_omitted),
                       summary->n_omitted);
}

static void print_found_losses(const TraceSummary *summary, FILE *stream) {
        fprintf(stream,
                "%s%s%s\n",
                style(stream, STYLE_BAD),
                _("Data was lost:"),
                style(stream, STYLE_NORMAL));
        for (guint i = 0; i < summary->losses->len; i++) {
                const TraceLoss *loss = &g_array_index(summary->losses, TraceLoss, i);

                fprintf(stream, "  %" PRIu64 " × %s\n", loss->n, _(loss->text));
        }
}

static void print_doubts(const TraceSummary *summary, FILE *stream) {
        fprintf(stream,
                "%s\n",
                _("No loss is known, but the file does not prove that nothing was lost:"));
        for (guint i = 0; i < summary->doubts->len; i++)
                fprintf(stream, "  %s\n", _((const char *)g_ptr_array_index(summary->doubts, i)));
}

void inspect_print_losses(const TraceSummary *summary, FILE *stream) {
        switch (summary->verdict) {
        case TRACE_VERDICT_NONE:
                fprintf(stream,
                        "%s%s%s\n",
                        style(stream, STYLE_GOOD),
                        _("No losses."),
                        style(stream, STYLE_NORMAL));
                break;
        case TRACE_VERDICT_LOST:
                print_found_losses(summary, stream);
                break;
        case TRACE_VERDICT_UNKNOWN:
                print_doubts(summary, stream);
                break;
        }
        if (summary->n_overwritten)
                fprintf(stream,
                        ngettext("The ring buffer overwrote its oldest chunk (%" PRIu64
                                 "), as intended.\n",
                                 "The ring buffer overwrote its oldest %" PRIu64
                                 " chunks, as intended.\n",
                                 summary->n_overwritten),
                        summary->n_overwritten);
        if (summary->n_left_out)
                fprintf(stream,
                        ngettext("%" PRIu64
                                 " instant called \"lost\" marks where a source left out "
                                 "events, as there were too many.\n",
                                 "%" PRIu64 " instants called \"lost\" mark where sources left out "
                                 "events, as there were too many.\n",
                                 summary->n_left_out),
                        summary->n_left_out);
        if (summary->n_forgotten)
                fprintf(stream,
                        ngettext("%" PRIu64 " event builds on older ones that were not kept.\n",
                                 "%" PRIu64 " events build on older ones that were not kept.\n",
                                 summary->n_forgotten),
                        summary->n_forgotten);
}

void inspect_print(const TraceSummary *summary, const char *name, const InspectOptions *options) {
        print_head(summary, name);
        print_sources(summary, options);
        for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
                print_table(summary, &tables[i], options);
        if (options->stacks)
                stack_report_print(options->stacks, options->n_rows_max, options->has_legend);
        if (options->heaps)
                heap_report_print(options->heaps, options->n_rows_max, options->has_legend);
        print_clocks(summary);
        fputc('\n', stdout);
        print_notes(summary);
        inspect_print_losses(summary, stdout);
}
