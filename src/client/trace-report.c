/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace report: the result of a recording */

#include <errno.h>
#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/inspect.h"
#include "client/reason.h"
#include "client/say.h"
#include "client/silent-sources.h"
#include "client/standalone.h"
#include "client/symbol-process.h"
#include "client/trace-report.h"
#include "shared/names.h"
#include "shared/text.h"

static const SessionSource *report_source(const TraceReport *report, guint i) {
        if (!report->info || i >= report->info->sources->len)
                return NULL;
        return &g_array_index(report->info->sources, SessionSource, i);
}

/*
 * What the service says
 */

static const char failed[] = "failed: ";

/* Whether points in libraries have reported events of programs that report nothing themselves. */
static bool has_points(const TraceReport *report) {
        const SessionSource *source;

        for (guint i = 0; (source = report_source(report, i)); i++)
                if (streq(source->source, TRACING_POINTS_SOURCE) &&
                    !streq(source->state, "missing") && !g_str_has_prefix(source->state, failed))
                        return true;
        return false;
}

/* `may_have_events`: there may be events of programs, from whatever source. */
static void report_missing(const TraceReport *report, bool may_have_events) {
        const bool has_events = may_have_events && has_points(report);
        const SessionSource *source;

        for (guint i = 0; (source = report_source(report, i)); i++) {
                const bool is_of_programs = streq(source->source, TRACING_TRACK_EVENT_SOURCE);

                if (!streq(source->state, "missing") || (is_of_programs && has_events))
                        continue;
                if (is_of_programs)
                        fputs(_("Nothing that ran uses Desktrace or Perfetto's SDK: there are no "
                                "events of programs.\n"),
                              stderr);
                else if (streq(source->source, TRACING_HEAP_SOURCE))
                        fputs(_("No program that ran has libdesktrace-heap.so: start it with "
                                "\"desktrace record --heap -- PROGRAM\"; \"desktrace doctor "
                                "PROGRAM\" says more.\n"),
                              stderr);
                else
                        fprintf(stderr,
                                _("Nothing that ran offers the data source '%s'.\n"),
                                source->source);
        }
}

/* A data source that was asked for by name never appeared. */
static ExitStatus report_none_came(const TraceReport *report) {
        const SessionSource *source;

        if (!report->is_by_name || !report_source(report, 0))
                return STATUS_OK;
        for (guint i = 0; (source = report_source(report, i)); i++)
                if (!streq(source->state, "missing"))
                        return STATUS_OK;
        return STATUS_NOT_FOUND;
}

static ExitStatus report_stop_reason(const TraceReport *report) {
        static const char output_failed[] = "output-failed: ";
        const char *reason = report->info ? report->info->stop_reason : NULL;

        if (reason && streq(reason, "exclusive")) {
                say_error(_("an exclusive session ended this one early. What was recorded until "
                            "then is kept."));
                return STATUS_FAILED;
        }
        if (reason && streq(reason, "max-file-size"))
                fprintf(stderr,
                        "%s\n",
                        _("The recording ended because the file reached the size limit of its "
                          "config."));
        if (!reason || !g_str_has_prefix(reason, output_failed))
                return STATUS_OK;
        say_error(_("the output could not be written: %s. What was written is kept."),
                  reason + strlen(output_failed));
        return STATUS_FAILED;
}

/* Sources that were requested and that a producer refused: the recording is not what was wanted. A preset requests
 * what some machines may not have. */
static ExitStatus report_failed_sources(const TraceReport *report) {
        const SessionSource *source;
        ExitStatus status = STATUS_OK;

        for (guint i = 0; (source = report_source(report, i)); i++) {
                g_autofree char *why = NULL, *reason = NULL;

                if (!g_str_has_prefix(source->state, failed) ||
                    silent_sources_have(report->silent, source->source, source->pid))
                        continue;
                reason = reason_translate(source->state + strlen(failed));
                why = say_clean(reason, strlen(reason));
                say_error(_("%s did not record: %s"), source->source, why);
                if (!report->is_of_preset)
                        status = STATUS_FAILED;
        }
        return status;
}

/* Programs come and go, but the kernel's producer has no reason to leave. So if it did, less was recorded than was
 * wanted. */
static bool is_cut_short(const SessionSource *source) {
        return streq(source->state, "gone") && standalone_is_probe_source(source->source);
}

static guint count_cut_short(const TraceReport *report) {
        const SessionSource *source;
        guint n = 0;

        for (guint i = 0; (source = report_source(report, i)); i++)
                n += is_cut_short(source);
        return n;
}

static ExitStatus report_cut_short(const TraceReport *report) {
        const SessionSource *source;

        for (guint i = 0; (source = report_source(report, i)); i++)
                if (is_cut_short(source))
                        say_error(_("%s is cut short: %s ended during the recording"),
                                  source->source,
                                  source->producer);
        return count_cut_short(report) > 0 ? STATUS_DATA_LOST : STATUS_OK;
}

static ExitStatus report_silent(const TraceReport *report) {
        silent_sources_print(report->silent);
        return report->silent && report->silent->len ? STATUS_DATA_LOST : STATUS_OK;
}

/*
 * What the file says
 */

/* The age of a snapshot's first event when the snapshot was taken. */
static uint64_t reach_ns(const TraceReport *report, const TraceSummary *summary) {
        uint64_t taken_ns = trace_summary_of_boottime(summary, report->taken_ns);

        if (summary->first_data_ns == 0 || summary->first_data_ns >= taken_ns)
                return 0;
        return taken_ns - summary->first_data_ns;
}

/* How long the events last, or how far back they reach; nothing if the trace has no events. */
static void print_span(const TraceReport *report, const TraceSummary *summary) {
        uint64_t ns =
                report->taken_ns ? reach_ns(report, summary) : trace_summary_duration_ns(summary);
        char duration[TEXT_SIZE_BYTES];

        if (ns > 0)
                fprintf(stderr,
                        report->taken_ns ? _("%s back: ") : _("Recorded %s: "),
                        text_format_duration(duration, ns));
}

static void print_counts(const TraceReport *report, const TraceSummary *summary) {
        const uint64_t n_kernel = trace_summary_n_kernel_events(summary);
        g_autofree char *kernel = g_strdup_printf(
                ngettext("%" PRIu64 " kernel event", "%" PRIu64 " kernel events", n_kernel),
                n_kernel);
        g_autofree char *programs = g_strdup_printf(ngettext("%" PRIu64 " event of programs",
                                                             "%" PRIu64 " events of programs",
                                                             summary->n_track_events),
                                                    summary->n_track_events);
        char size[TEXT_SIZE_BYTES];

        print_span(report, summary);
        /* Prints two counts, the size, and the name of the file. */
        fprintf(stderr,
                _("%s, %s, %s in %s\n"),
                kernel,
                programs,
                text_format_size(size, summary->n_bytes),
                report->output->path);
}

/* A ring holds bytes, not seconds. How many seconds that is can only be told now. */
static void print_shortfall(const TraceReport *report, const TraceSummary *summary) {
        char reach[TEXT_SIZE_BYTES], before[TEXT_SIZE_BYTES];

        if (summary->n_overwritten == 0 || reach_ns(report, summary) >= report->before_ns)
                return;
        fprintf(stderr,
                _("The first event is only %s old instead of %s: the ring buffer was too small. "
                  "Use a larger one (-b) or record fewer events.\n"),
                text_format_duration(reach, reach_ns(report, summary)),
                text_format_duration(before, report->before_ns));
}

static void print_summary(const TraceReport *report, const TraceSummary *summary) {
        print_counts(report, summary);
        report_missing(report, summary->n_track_events > 0);
        print_shortfall(report, summary);
        if (report->taken_ns && summary->streams_to_file)
                fputs(_("The session writes its own file; this one has only the data not written "
                        "there yet.\n"),
                      stderr);
        inspect_print_losses(summary, stderr);
        if (report->is_one_of_many)
                return;
        fprintf(stderr,
                _("To view it: desktrace inspect %s, or open it in https://ui.perfetto.dev (it "
                  "stays on this machine)\n"),
                report->output->path);
}

static void print_json(const TraceReport *report, const TraceSummary *summary) {
        _cleanup_(json_writer_deinit) JsonWriter writer = { 0 };
        g_autofree char *name = g_filename_display_name(report->output->path);

        json_writer_init(&writer, report->invocation->json);
        json_begin_object(&writer, NULL);
        inspect_write_json(&writer, summary, name);
        if (report->taken_ns)
                json_uint(&writer, "reaches_back_ns", reach_ns(report, summary));
        silent_sources_write_json(report->silent, &writer);
        json_end_object(&writer);
        json_writer_print(&writer);
}

static ExitStatus report_file(const TraceReport *report) {
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;
        const OutputFile *output = report->output;
        bool is_incomplete;
        int r;

        r = lseek(output->fd, 0, SEEK_SET) < 0 ? -errno : trace_summary_read(&summary, output->fd);
        if (r < 0) {
                say_error(_("cannot read %s: %s"), output->path, g_strerror(-r));
                return STATUS_FAILED;
        }
        /* No file can tell what a producer had not yet written when it was killed. */
        trace_summary_add_loss(summary,
                               "sources_cut_short",
                               N_("data sources whose producer ended during the recording"),
                               count_cut_short(report));
        if (report->invocation->json != JSON_OFF)
                print_json(report, summary);
        if (!report->invocation->is_quiet)
                print_summary(report, summary);
        /* For snapshots, the service does not report which sources were silent; the file only shows that some were. */
        is_incomplete = report->taken_ns > 0 && summary->stats.final_flush_failed;
        return summary->verdict == TRACE_VERDICT_LOST || is_incomplete ? STATUS_DATA_LOST
                                                                       : STATUS_OK;
}

/* Names of functions are not looked up while a machine is being measured, but only now. */
static bool has_stacks(const TraceReport *report) {
        const SessionSource *source;

        for (guint i = 0; (source = report_source(report, i)); i++)
                if (streq(source->source, "linux.perf") ||
                    streq(source->source, TRACING_OWN_STACKS_SOURCE) ||
                    streq(source->source, TRACING_HEAP_SOURCE) ||
                    streq(source->source, TRACING_PERFETTO_HEAP_SOURCE))
                        return true;
        return false;
}

/* If this fails, the recording is unchanged. */
static void name_functions(const TraceReport *report) {
        SymbolResult result;
        int r;

        if (!report->invocation->is_quiet)
                say_hint(_("Looking up the names of functions; Ctrl-C leaves them out."));
        r = symbol_process_run(&result,
                               report->output->fd,
                               report->output->fd,
                               &(SymbolWishes){ .wants_lines = false });
        if (r < 0)
                say_error(_("cannot name functions: %s"), g_strerror(-r));
        else if (!report->invocation->is_quiet)
                symbol_result_say(&result);
}

static ExitStatus report_stream(const TraceReport *report) {
        const SessionInfo *info = report->info;
        uint64_t n_lost = info ? info->n_packets_lost + info->n_chunks_lost : 0;
        char size[TEXT_SIZE_BYTES];

        if (!report->invocation->is_quiet) {
                if (info)
                        fprintf(stderr,
                                _("Recorded %s\n"),
                                text_format_size(size, info->n_bytes_output));
                report_missing(report, true);
                if (n_lost)
                        fprintf(stderr,
                                ngettext("Data was lost: %" PRIu64 " chunk or packet\n",
                                         "Data was lost: %" PRIu64 " chunks or packets\n",
                                         n_lost),
                                n_lost);
        }
        return n_lost ? STATUS_DATA_LOST : STATUS_OK;
}

ExitStatus trace_report_nothing(void) {
        say_error(_("there is nothing to write: no trigger arrived, or only snapshots of this "
                    "session can be read"));
        return STATUS_FAILED;
}

ExitStatus trace_report_in_vain(const TraceReport *report) {
        ExitStatus status = report_failed_sources(report);

        report_missing(report, false);
        say_hint(_("Nothing could be recorded, so no file is written."));
        return status ? status : STATUS_NOT_FOUND;
}

ExitStatus trace_report(const TraceReport *report) {
        ExitStatus failure = report_stop_reason(report), refusal = report_failed_sources(report),
                   cut = report_cut_short(report), silent = report_silent(report), status;
        struct stat st;

        if (fstat(report->output->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
                status = report_stream(report);
        } else {
                if (has_stacks(report))
                        name_functions(report);
                status = report_file(report);
        }
        if (failure || refusal)
                return failure ? failure : refusal;
        if (status || cut || silent)
                return status ? status : cut ? cut : silent;
        return report_none_came(report);
}
