/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stack print: a stack report, for people and for programs */

#include <glib/gi18n.h>
#include <inttypes.h>
#include <stdio.h>

#include "client/say.h"
#include "client/stack-print.h"
#include "client/table.h"
#include "shared/macro.h"
#include "shared/text.h"

#define FRAMES_SHOWN 8u  /* of a stack, in text */
#define STACKS_SHOWN 100 /* in JSON */

typedef struct Print {
        const StackReport *report;
        size_t n_rows_max;
        bool has_legend;
} Print;

typedef struct StackTableKind {
        const char *title;
        const TableColumn *columns;
        size_t n_columns;
        void (*add)(Table *table, const StackReport *report, size_t i);
} StackTableKind;

static void add_share(Table *table, const StackReport *report, uint64_t n) {
        table_add_format(
                table, "%.1f %%", (double)n * 100 / (double)MAX(report->weight, UINT64_C(1)));
}

static void add_count(Table *table, uint64_t n) {
        table_add_format(table, "%" PRIu64, n);
}

/* Time is told as such. */
static void add_weight(Table *table, const StackReport *report, uint64_t weight) {
        char text[TEXT_SIZE_BYTES];

        if (report->unit && streq(report->unit, "ns"))
                table_add(table, text_format_duration(text, weight));
        else
                add_count(table, weight);
}

static void add_name(Table *table, const char *name) {
        table_add(table, name ?: _("(no name)"));
}

static const TableColumn function_columns[] = {
        { N_("SELF"), true },
        { N_("WITH CALLEES"), true },
        { N_("MODULE") },
        { N_("FUNCTION") },
};

static void add_function(Table *table, const StackReport *report, size_t i) {
        const StackFunction *function = g_ptr_array_index(report->functions, i);

        add_share(table, report, function->n_self);
        add_share(table, report, function->n_total);
        table_add(table, function->module);
        add_name(table, function->name);
}

static const TableColumn stack_columns[] = { { N_("SHARE"), true }, { N_("STACK") } };

static void add_stack(Table *table, const StackReport *report, size_t i) {
        const StackPath *path = &g_array_index(report->paths, StackPath, i);
        g_autofree char *text = stack_report_path(report, path->callsite, FRAMES_SHOWN);

        add_share(table, report, path->n);
        table_add(table, text);
}

static const TableColumn process_columns[] = {
        { N_("PID"), true },   { N_("PROCESS") },          { N_("SAMPLES"), true },
        { N_("SHARE"), true }, { N_("INCOMPLETE"), true }, { N_("HOTTEST FUNCTION") },
};

static const TableColumn weighed_process_columns[] = {
        { N_("PID"), true },   { N_("PROCESS") },          { N_("WEIGHT"), true },
        { N_("SHARE"), true }, { N_("INCOMPLETE"), true }, { N_("MOST OF IT IN") },
};

static void add_hottest(Table *table, const StackOwner *owner) {
        g_autofree char *text = NULL;

        if (owner->hottest)
                text = g_strdup_printf("%s (%.0f %%)",
                                       owner->hottest->name ?: owner->hottest->module ?: "",
                                       (double)owner->n_hottest * 100 / (double)MAX(owner->weight, UINT64_C(1)));
        table_add(table, text);
}

static void add_process(Table *table, const StackReport *report, size_t i) {
        const StackOwner *owner = g_ptr_array_index(report->processes, i);

        table_add_format(table, "%" PRIi32, owner->id);
        table_add(table, owner->name);
        add_weight(table, report, owner->weight);
        add_share(table, report, owner->weight);
        add_count(table, owner->n_incomplete);
        add_hottest(table, owner);
}

static const TableColumn thread_columns[] = {
        { N_("TID"), true },     { N_("THREAD") },      { N_("PROCESS") },
        { N_("SAMPLES"), true }, { N_("SHARE"), true }, { N_("HOTTEST FUNCTION") },
};

static const TableColumn weighed_thread_columns[] = {
        { N_("TID"), true },    { N_("THREAD") },      { N_("PROCESS") },
        { N_("WEIGHT"), true }, { N_("SHARE"), true }, { N_("MOST OF IT IN") },
};

static void add_thread(Table *table, const StackReport *report, size_t i) {
        const StackOwner *owner = g_ptr_array_index(report->threads, i);

        table_add_format(table, "%" PRIi32, owner->id);
        table_add(table, owner->name);
        table_add(table, owner->process);
        add_weight(table, report, owner->weight);
        add_share(table, report, owner->weight);
        add_hottest(table, owner);
}

static const TableColumn gap_columns[] = {
        { N_("SAMPLES"), true },
        { N_("ENDS IN") },
        { N_("REASON") },
};

static void add_gap(Table *table, const StackReport *report, size_t i) {
        const StackGap *gap = g_ptr_array_index(report->gaps, i);

        add_count(table, gap->n);
        table_add(table, gap->module);
        table_add(table, gap->why);
}

#define KIND(title, columns, add) \
        { title, columns, G_N_ELEMENTS(columns), add }

static const StackTableKind kinds[] = {
        KIND(N_("Hottest functions"), function_columns, add_function),
        KIND(N_("Hottest stacks"), stack_columns, add_stack),
        KIND(N_("Processes by samples"), process_columns, add_process),
        KIND(N_("Threads by samples"), thread_columns, add_thread),
        KIND(N_("Incomplete stacks"), gap_columns, add_gap),
};

static const StackTableKind weighed_kinds[] = {
        KIND(N_("Functions by weight"), function_columns, add_function),
        KIND(N_("Stacks by weight"), stack_columns, add_stack),
        KIND(N_("Processes by weight"), weighed_process_columns, add_process),
        KIND(N_("Threads by weight"), weighed_thread_columns, add_thread),
        KIND(N_("Incomplete stacks"), gap_columns, add_gap),
};
_Static_assert(G_N_ELEMENTS(weighed_kinds) == G_N_ELEMENTS(kinds), "these are the same tables");

static void print_title(const Print *print, const char *title) {
        printf("\n%s%s", style(stdout, STYLE_BOLD), title);
        if (print->report->source)
                printf(" (%s)", print->report->source);
        printf("%s\n", style(stdout, STYLE_NORMAL));
}

static void print_kind(const Print *print, const StackTableKind *kind, size_t n_rows) {
        _cleanup_(table_deinit) Table table = { 0 };
        const size_t n = print->n_rows_max ? MIN(n_rows, print->n_rows_max) : n_rows;

        if (n == 0)
                return;
        table_init(&table, kind->columns, kind->n_columns);
        for (size_t i = 0; i < n; i++)
                kind->add(&table, print->report, i);
        print_title(print, _(kind->title));
        table_print(&table, print->has_legend);
}

/* How much of it can be believed, in one line. */
static void print_weights(const StackReport *report) {
        g_autofree char *events = g_strdup_printf("%" PRIu64 " %s", report->weight, report->unit);
        char text[TEXT_SIZE_BYTES];
        const char *weight =
                streq(report->unit, "ns") ? text_format_duration(text, report->weight) : events;

        printf(_("\n%s: %" PRIu64
                 " samples of call stacks, which weigh %s, %.1f %% of them complete.\n"),
               report->source,
               report->n_samples,
               weight,
               (double)report->n_complete * 100 / (double)report->n_samples);
}

static void print_verdict(const StackReport *report) {
        printf(_("\n%" PRIu64
                 " samples of call stacks, %.1f %% of them complete; %.1f %% are of the recording "
                 "itself.\n"),
               report->n_samples,
               (double)report->n_complete * 100 / (double)report->n_samples,
               (double)report->n_recording * 100 / (double)report->n_samples);
        if (report->n_lost > 0)
                printf(_("The kernel lost %" PRIu64 " records for which there was no room.\n"),
                       report->n_lost);
}

/* Tells about samples in functions without names, if there are enough of them to hinder a reader. */
static void print_nameless(const StackReport *report) {
        uint64_t n = 0;

        for (guint i = 0; i < report->functions->len; i++) {
                const StackFunction *function = g_ptr_array_index(report->functions, i);

                n += function->name ? 0 : function->n_self;
        }
        if (n * 20 < report->n_samples)
                return;
        printf(_("%.1f %% of the samples are in functions without names: install the debug "
                 "information of their packages, or use \"desktrace symbolize --debuginfod\".\n"),
               (double)n * 100 / (double)report->n_samples);
}

static void print_report(const Print *print) {
        const StackReport *report = print->report;
        const StackTableKind *tables = report->source ? weighed_kinds : kinds;
        const size_t n_rows[] = {
                report->functions->len, report->paths->len, report->processes->len,
                report->threads->len,   report->gaps->len,
        };

        if (report->source) {
                print_weights(report);
        } else {
                print_verdict(report);
                print_nameless(report);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
                print_kind(print, &tables[i], n_rows[i]);
}

void stack_report_print(const StackReport *report, size_t n_rows_max, bool has_legend) {
        for (; report; report = report->next)
                if (report->n_samples > 0)
                        print_report(&(Print){ report, n_rows_max, has_legend });
}

/*
 * For programs
 */

static void write_function(JsonWriter *writer, const StackFunction *function) {
        json_begin_object(writer, NULL);
        json_string(writer, "name", function->name);
        json_string(writer, "module", function->module);
        json_uint(writer, "self", function->n_self);
        json_uint(writer, "total", function->n_total);
        json_end_object(writer);
}

static void
write_owner(JsonWriter *writer, const StackOwner *owner, const char *key, const char *id) {
        json_begin_object(writer, NULL);
        json_int(writer, id, owner->id);
        json_string(writer, "name", owner->name);
        if (owner->process)
                json_string(writer, "process", owner->process);
        json_uint(writer, key, owner->weight);
        json_uint(writer, "incomplete", owner->n_incomplete);
        json_string(writer, "hottest", owner->hottest ? owner->hottest->name : NULL);
        json_end_object(writer);
}

/* The JSON key of the numbers, which count samples or add up their weights. */
static const char *number_key(const StackReport *report) {
        return report->source ? "weight" : "samples";
}

static void write_owners(JsonWriter *writer,
                         const StackReport *report,
                         const GPtrArray *owners,
                         const char *key,
                         const char *id) {
        json_begin_array(writer, key);
        for (guint i = 0; i < owners->len; i++)
                write_owner(writer, g_ptr_array_index(owners, i), number_key(report), id);
        json_end_array(writer);
}

static void write_paths(JsonWriter *writer, const StackReport *report) {
        json_begin_array(writer, "stacks");
        for (guint i = 0; i < MIN(report->paths->len, (guint)STACKS_SHOWN); i++) {
                const StackPath *path = &g_array_index(report->paths, StackPath, i);
                g_autofree char *text = stack_report_path(report, path->callsite, SIZE_MAX);

                json_begin_object(writer, NULL);
                json_uint(writer, number_key(report), path->n);
                json_string(writer, "stack", text);
                json_end_object(writer);
        }
        json_end_array(writer);
}

static void write_gaps(JsonWriter *writer, const StackReport *report) {
        json_begin_array(writer, "incomplete");
        for (guint i = 0; i < report->gaps->len; i++) {
                const StackGap *gap = g_ptr_array_index(report->gaps, i);

                json_begin_object(writer, NULL);
                json_uint(writer, "samples", gap->n);
                json_string(writer, "module", gap->module);
                json_string(writer, "reason", gap->why);
                json_end_object(writer);
        }
        json_end_array(writer);
}

static void write_report(JsonWriter *writer, const StackReport *report, const char *key) {
        json_begin_object(writer, key);
        if (report->source) {
                json_string(writer, "source", report->source);
                json_string(writer, "unit", report->unit);
                json_uint(writer, "weight", report->weight);
        }
        json_uint(writer, "samples", report->n_samples);
        json_uint(writer, "complete", report->n_complete);
        json_uint(writer, "of_recording", report->n_recording);
        json_uint(writer, "lost", report->n_lost);
        json_begin_array(writer, "functions");
        for (guint i = 0; i < report->functions->len; i++)
                write_function(writer, g_ptr_array_index(report->functions, i));
        json_end_array(writer);
        write_paths(writer, report);
        write_owners(writer, report, report->processes, "processes", "pid");
        write_owners(writer, report, report->threads, "threads", "tid");
        write_gaps(writer, report);
        json_end_object(writer);
}

void stack_report_write_json(const StackReport *report, JsonWriter *writer) {
        if (!report)
                return;
        if (report->n_samples > 0)
                write_report(writer, report, "stacks");
        if (!report->next)
                return;
        json_begin_array(writer, "stack_samples");
        while ((report = report->next))
                write_report(writer, report, NULL);
        json_end_array(writer);
}
