/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace export: a recording in other formats */

#include <errno.h>
#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/answer-range.h"
#include "client/export-fleet.h"
#include "client/export.h"
#include "client/output-file.h"
#include "client/say.h"
#include "client/trace-files.h"
#include "client/verbs.h"
#include "shared/text.h"

static AnswerRange arg_range;
static char *arg_output, *arg_sql, *arg_memory, *arg_machine, *arg_samples;
static char **arg_tables;
static gboolean arg_force;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &arg_output,
          N_("write to FILE; - is stdout (default); fleet: write below this directory"), N_("FILE") },
        { "force", 'f', 0, G_OPTION_ARG_NONE, &arg_force, N_("replace the file if it exists"), NULL },
        { "table", 0, 0, G_OPTION_ARG_STRING_ARRAY, &arg_tables,
          N_("export this table; sqlite and fleet take several (default: all; other formats: slice)"), N_("NAME") },
        { "machine", 0, 0, G_OPTION_ARG_STRING, &arg_machine,
          N_("fleet: use this name for the machine, instead of a hash of its number"), N_("NAME") },
        { "samples", 0, 0, G_OPTION_ARG_STRING, &arg_samples,
          N_("export call stacks of cpu, linux.offcpu, linux.faults or an event (default: cpu)"), N_("SOURCE") },
        { "sql", 0, 0, G_OPTION_ARG_STRING, &arg_sql, N_("export the rows of this SQL query"), N_("SQL") },
        ANSWER_RANGE_OPTIONS(arg_range),
        { "memory", 0, 0, G_OPTION_ARG_STRING, &arg_memory,
          N_("use at most SIZE of memory for the trace"), N_("SIZE") },
        { 0 },
};
/* clang-format on */

static ExitStatus find_format(const ExportFormat **ret, const char *name) {
        size_t n;
        const ExportFormat *formats = export_formats(&n);
        g_autofree const char **known = g_new(const char *, n);

        for (size_t i = 0; i < n; i++) {
                known[i] = formats[i].name;
                if (streq(name, known[i])) {
                        *ret = &formats[i];
                        return STATUS_OK;
                }
        }
        return usage_unknown(_("unknown format '%s'"), name, known, n);
}

static ExitStatus check_tables(const ExportFormat *format) {
        for (size_t i = 0; arg_tables && arg_tables[i]; i++) {
                g_autofree char *clean = say_clean(arg_tables[i], strlen(arg_tables[i]));

                if (i > 0 && !format->is_database) {
                        say_error(_("'%s' takes one table only"), format->name);
                        return STATUS_USAGE;
                }
                if (!(format->is_tree ? export_fleet_has_table : export_has_table)(arg_tables[i])) {
                        say_error(_("there is no table '%s' to export"), clean);
                        return STATUS_USAGE;
                }
        }
        return STATUS_OK;
}

static ExitStatus check_options(const ExportFormat *format) {
        if ((arg_tables || arg_sql) && !format->has_tables) {
                say_error(_("'%s' does not take %s"), format->name, arg_sql ? "--sql" : "--table");
                return STATUS_USAGE;
        }
        if (arg_sql && (arg_tables || format->is_database || answer_range_is_given(&arg_range))) {
                say_error(_("--sql goes with csv, jsonl and parquet, and with no table and no time "
                            "range"));
                return STATUS_USAGE;
        }
        if (arg_samples && !format->has_samples) {
                say_error(_("'%s' does not take %s"), format->name, "--samples");
                return STATUS_USAGE;
        }
        if (arg_machine && !format->is_tree) {
                say_error(_("'%s' does not take %s"), format->name, "--machine");
                return STATUS_USAGE;
        }
        if (arg_machine && !export_fleet_is_machine(arg_machine)) {
                say_error(_("a machine's name has letters, digits, '-', '_' and '.' only"));
                return STATUS_USAGE;
        }
        if (format->is_tree && (arg_sql || answer_range_is_given(&arg_range))) {
                say_error(_("'%s' takes whole recordings: no time range and no --sql"),
                          format->name);
                return STATUS_USAGE;
        }
        if (format->is_tree && (!arg_output || streq(arg_output, "-"))) {
                say_error(_("'%s' needs a directory: -o DIRECTORY"), format->name);
                return STATUS_USAGE;
        }
        if (format->is_database && (!arg_output || streq(arg_output, "-"))) {
                say_error(_("'%s' needs a file: -o FILE"), format->name);
                return STATUS_USAGE;
        }
        return check_tables(format);
}

/* Tables have times of their own, so nothing counts from the beginning, unless a range does. */
static bool needs_range(const Export *export) {
        const ExportFormat *format = export->format;

        return !export->sql &&
               (!format->has_tables || format->is_tree || answer_range_is_given(&arg_range));
}

/* Times count from the same moment as those of `why`. What the format needs is read at the same time, because each
 * reading goes over the whole file. */
static ExitStatus apply_range(Export *export, const TraceFiles *files) {
        AnswerQuestion question = { 0 };
        ExitStatus status;
        int r;

        if (!needs_range(export))
                return STATUS_OK;
        r = query_load(export->query, TRACE_PART_EVENTS | TRACE_PART_SCHED | export->format->parts);
        if (r)
                return trace_files_report(files, export->query, r);
        question.store = query_store(export->query);
        status = answer_range_apply(&arg_range, &question);
        export->has_range = answer_range_is_given(&arg_range);
        export->zero = question.zero;
        export->start = question.start;
        export->end = question.end;
        return status;
}

static ExitStatus
report_outcome(const TraceFiles *files, const Export *export, const char *path, int r) {
        switch (r) {
        case EXPORT_E_NOTHING:
                say_error(_("the recording has no samples of call stacks in this time"));
                fprintf(stderr, _("Record with: %s\n"), export->format->record);
                return STATUS_NOT_FOUND;
        case EXPORT_E_EMPTY:
                say_error(_("the recording has nothing in this time that '%s' can represent"),
                          export->format->name);
                if (export->format->record)
                        fprintf(stderr, _("Record with: %s\n"), export->format->record);
                return STATUS_NOT_FOUND;
        case EXPORT_E_NO_CLOCK:
                say_error(_("the recording does not tell the time of day, which '%s' needs"),
                          export->format->name);
                return STATUS_NOT_FOUND;
        case EXPORT_E_NO_UUID:
                say_error(_("the recording has no number of its own, by which '%s' tells "
                            "recordings apart"),
                          export->format->name);
                return STATUS_NOT_FOUND;
        case EXPORT_E_NO_MACHINE:
                say_error(
                        _("this machine has no number (/etc/machine-id): name it with --machine"));
                return STATUS_FAILED;
        case EXPORT_E_EXISTS:
                say_error(_("the recording is in %s already"), path);
                say_hint(_("Use -f to replace it."));
                return STATUS_USAGE;
        case EXPORT_E_WRITE:
                say_error(_("cannot write to %s: %m"), path);
                return STATUS_FAILED;
        case EXPORT_E_DATABASE:
                say_error(_("cannot write the database %s"), path);
                return STATUS_FAILED;
        case EXPORT_E_WHICH: {
                g_autofree char *clean = say_clean(export->column, strlen(export->column));

                say_error(_("the recording has call stacks of: %s"), clean);
                say_hint(_("Choose with --samples."));
                return STATUS_NOT_FOUND;
        }
        case EXPORT_E_MIXED:
                say_error(_("the column '%s' has values of different types: use CAST(... AS TEXT)"),
                          export->column);
                return STATUS_USAGE;
        default:
                return trace_files_report(files, export->query, r);
        }
}

static ExitStatus run_format(const ExportFormat *format,
                             const TraceFiles *files,
                             Export *export,
                             OutputFile *output) {
        int r;

        export->path = output->new_path ? output->new_path : output->path;
        export->stream = fdopen(dup(output->fd), "w");
        if (!export->stream) {
                say_error("%s", g_strerror(errno));
                return STATUS_FAILED;
        }
        r = format->run(export);
        if (fclose(export->stream) != 0 && r == 0)
                r = EXPORT_E_WRITE;
        if (r)
                return report_outcome(files, export, output->path, r);
        return output_file_keep(output);
}

static ExitStatus run_tree(const ExportFormat *format, const TraceFiles *files, Export *export) {
        int r;

        export->path = arg_output;
        export->machine = arg_machine;
        export->replace = arg_force;
        r = format->run(export);
        return r ? report_outcome(files, export, arg_output, r) : STATUS_OK;
}

static ExitStatus run_file(const ExportFormat *format, const TraceFiles *files, Export *export) {
        _cleanup_(output_file_deinit) OutputFile output = OUTPUT_FILE_INIT;
        int r = output_file_open(&output, arg_output ? arg_output : "-", arg_force);

        if (r)
                return output_file_say_error(&output, r);
        return run_format(format, files, export, &output);
}

static ExitStatus write_output(const Invocation *invocation,
                               const ExportFormat *format,
                               const TraceFiles *files,
                               Export *export) {
        ExitStatus status =
                format->is_tree ? run_tree(format, files, export) : run_file(format, files, export);

        if (!status && !invocation->is_quiet && !export->sql)
                fprintf(stderr, "%s\n", _(format->cannot));
        if (!status && export->n_left_out)
                fprintf(stderr,
                        format->is_tree ? _("States of threads that were left out: %llu.\n")
                                        : _("Slices that were left out: %llu.\n"),
                        (unsigned long long)export->n_left_out);
        return status;
}

static ExitStatus export_files(const Invocation *invocation,
                               const ExportFormat *format,
                               const QueryOptions *options) {
        _cleanup_(trace_files_close) TraceFiles files = { 0 };
        _cleanup_(query_freep) Query *query = NULL;
        char **paths = invocation->arguments + 1;
        Export export = {
                .format = format, .tables = arg_tables, .sql = arg_sql, .samples = arg_samples
        };
        ExitStatus status = trace_files_open(&files, paths, g_strv_length(paths));
        int r;

        if (status)
                return status;
        r = query_new(&query, files.fds, files.n, options);
        if (r)
                return trace_files_report(&files, query, r);
        export.query = query;
        status = apply_range(&export, &files);
        if (!status)
                status = write_output(invocation, format, &files, &export);
        g_free(export.column);
        g_free(export.source);
        return status ? status : trace_files_check(&files, query);
}

ExitStatus verb_export(Invocation *invocation) {
        QueryOptions options = { 0 };
        const ExportFormat *format = NULL;
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status)
                status = invocation_expect(invocation, 2, QUERY_FILES_MAX + 1);
        if (!status)
                status = find_format(&format, invocation->arguments[0]);
        if (!status)
                status = check_options(format);
        if (!status && arg_memory && text_parse_size(&options.n_bytes_max, arg_memory)) {
                say_error(_("'%s' is not a size: try 64M or 1GiB"), arg_memory);
                status = STATUS_USAGE;
        }
        return status ? status : export_files(invocation, format, &options);
}
