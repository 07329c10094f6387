/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/inspect.h"
#include "client/output-file.h"
#include "client/polkit-agent.h"
#include "client/record-request.h"
#include "client/recording.h"
#include "client/say.h"
#include "client/standalone.h"
#include "client/verbs.h"
#include "shared/text.h"

/* For the command to register and be started: long on a busy machine, short for a user when nothing comes. */
#define COMMAND_WAIT_MS 1000

static char *arg_config, *arg_preset, *arg_time, *arg_buffer, *arg_output, *arg_name;
static gboolean arg_ring, arg_force, arg_detach;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "config", 'c', 0, G_OPTION_ARG_FILENAME, &arg_config,
          N_("Record as this file says (text format; - for stdin)"), N_("FILE") },
        { "preset", 'p', 0, G_OPTION_ARG_STRING, &arg_preset, N_("Record as a ready config says"), N_("PRESET") },
        { "time", 't', 0, G_OPTION_ARG_STRING, &arg_time, N_("Stop after so long, such as 5s"), N_("TIME") },
        { "buffer-size", 'b', 0, G_OPTION_ARG_STRING, &arg_buffer, N_("Size of the buffer, such as 64M"), N_("SIZE") },
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &arg_output,
          N_("Where to write; - is stdout (default: desktrace-DATE-TIME.pftrace)"), N_("FILE") },
        { "force", 'f', 0, G_OPTION_ARG_NONE, &arg_force, N_("Replace the output file if it exists"), NULL },
        { "ring", 0, 0, G_OPTION_ARG_NONE, &arg_ring,
          N_("Keep only the newest data, in memory, and write it at the end"), NULL },
        { "name", 'n', 0, G_OPTION_ARG_STRING, &arg_name, N_("A unique name for the session"), N_("NAME") },
        { "detach", 0, 0, G_OPTION_ARG_NONE, &arg_detach,
          N_("Leave the session running; \"desktrace read\" gets its data"), NULL },
        { 0 },
};
/* clang-format on */

/* One run of the verb, with all that has to be cleaned up. */
typedef struct Run {
        Invocation *invocation;
        RecordRequest request;
        OutputFile output;
        BusClient client;
        Standalone standalone;
        pid_t agent; /* asks for a password, or 0 */
        RecordingResult result;
} Run;

static void run_deinit(Run *run) {
        process_end(run->agent, POLKIT_AGENT_GRACE_MS);
        recording_result_deinit(&run->result);
        bus_client_deinit(&run->client);
        standalone_deinit(&run->standalone);
        output_file_deinit(&run->output);
        record_request_deinit(&run->request);
}

static bool is_standalone(const Run *run) {
        return run->invocation->bus == BUS_CHOICE_STANDALONE;
}

/* Without a word about what to record: all there is, as far as one may. */
static ExitStatus load_default_preset(Run *run) {
        bool is_plain_standalone = is_standalone(run) && geteuid() != 0;

        if (run->invocation->bus != BUS_CHOICE_USER && !is_plain_standalone)
                return record_request_load_preset(&run->request, RECORD_PRESET_DEFAULT);
        if (is_plain_standalone && !run->invocation->is_quiet)
                say_hint(_("Not root: recording the events of programs, without the kernel's."));
        return record_request_load_preset(&run->request, RECORD_PRESET_APPS);
}

static ExitStatus load_config(Run *run) {
        if (arg_config && arg_preset) {
                say_error(_("-c and -p exclude each other"));
                return STATUS_USAGE;
        }
        if (arg_config)
                return record_request_load_file(&run->request, arg_config);
        if (arg_preset)
                return record_request_load_preset(&run->request, arg_preset);
        return run->invocation->arguments[0] ? STATUS_OK : load_default_preset(run);
}

static ExitStatus check_combination(const Run *run) {
        const char *trouble = NULL;

        if (arg_detach && is_standalone(run))
                trouble = _("--detach leaves nothing behind with --standalone");
        else if (arg_detach && run->invocation->command)
                trouble = _("--detach and a command exclude each other");
        else if (arg_detach && arg_output)
                trouble = _(
                        "--detach keeps the data in memory: use \"desktrace read\" instead of -o");
        else if (run->invocation->command && !run->invocation->command[0])
                trouble = _("no command behind --");
        else if (arg_name && (!*arg_name || !g_utf8_validate(arg_name, -1, NULL)))
                trouble = _("a session's name is not empty, and UTF-8 text");
        if (!trouble)
                return STATUS_OK;
        say_error("%s", trouble);
        return STATUS_USAGE;
}

static ExitStatus build_request(Run *run) {
        ExitStatus status = check_combination(run);

        if (!status)
                status = load_config(run);
        for (char **event = run->invocation->arguments; !status && *event; event++)
                status = record_request_add_event(&run->request, *event);
        if (!status && arg_time)
                status = record_request_set_duration(&run->request, arg_time);
        if (!status && arg_buffer)
                status = record_request_set_buffer(&run->request, arg_buffer);
        run->request.name = arg_name;
        run->request.is_detached = arg_detach;
        run->request.is_ring = arg_ring || arg_detach;
        return status;
}

/*
 * The service
 */

static ExitStatus check_may_probe(char *const *sources) {
        if (!sources[0] || geteuid() == 0)
                return STATUS_OK;
        say_error(_("%s with --standalone needs root: there is no service to ask"), sources[0]);
        say_hint(_("Run it with sudo, leave out --standalone, or record programs alone: -p apps."));
        return STATUS_NOT_AUTHORIZED;
}

static ExitStatus open_standalone(Run *run) {
        g_auto(GStrv) sources = record_request_probe_sources(&run->request);
        ExitStatus status = record_request_check_sources(&run->request);

        if (!status)
                status = check_may_probe(sources);
        if (!status)
                status = standalone_start(&run->standalone, &run->client);
        if (!status && sources[0])
                status = standalone_start_probes(&run->standalone, &run->client, sources);
        return status;
}

static ExitStatus open_service(Run *run) {
        return is_standalone(run) ? open_standalone(run)
                                  : bus_client_open(&run->client, run->invocation);
}

static ExitStatus open_output(Run *run) {
        int r;

        if (arg_detach)
                return STATUS_OK;
        r = output_file_open(&run->output, arg_output, arg_force);
        if (r == 0)
                return STATUS_OK;
        return output_file_say_error(&run->output, r);
}

static ExitStatus record(Run *run) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *start = NULL;
        RecordingOptions options = {
                .client = &run->client,
                .command = (const char *const *)run->invocation->command,
                .socket = run->standalone.socket,
                .command_wait_ms =
                        record_request_wants_track_events(&run->request) ? COMMAND_WAIT_MS : 0,
                .ring_fd = run->request.is_ring ? run->output.fd : -1,
                .is_quiet = run->invocation->is_quiet,
                .is_detached = arg_detach,
        };
        int r;

        r = record_request_to_message(
                &run->request, &run->client, run->request.is_ring ? -1 : run->output.fd, &start);
        if (r < 0)
                return bus_client_say_errno(r);
        options.start = start;
        return recording_run(&run->result, &options);
}

/*
 * The report
 */

static void report_missing(const RecordingResult *result) {
        for (guint i = 0; i < result->info.sources->len; i++) {
                const SessionSource *source =
                        &g_array_index(result->info.sources, SessionSource, i);

                if (streq(source->state, "missing"))
                        fprintf(stderr, _("No program offered %s.\n"), source->source);
        }
}

static void report_summary(const Run *run, const TraceSummary *summary) {
        char duration[TEXT_SIZE_BYTES], size[TEXT_SIZE_BYTES];

        fprintf(stderr,
                _("Recorded %s: %" PRIu64 " kernel events, %" PRIu64
                  " events of programs, %s in %s\n"),
                text_format_duration(duration, trace_summary_duration_ns(summary)),
                trace_summary_n_kernel_events(summary),
                summary->n_track_events,
                text_format_size(size, summary->n_bytes),
                run->output.path);
        report_missing(&run->result);
        inspect_print_losses(summary, stderr);
        fprintf(stderr,
                _("Look at it: desktrace inspect %s, or open it in https://ui.perfetto.dev (it "
                  "stays on this machine)\n"),
                run->output.path);
}

static void print_json(const Run *run, const TraceSummary *summary) {
        _cleanup_(json_writer_deinit) JsonWriter writer = { 0 };
        g_autofree char *name = g_filename_display_name(run->output.path);

        json_writer_init(&writer, run->invocation->json);
        inspect_write_json(&writer, summary, name);
        json_writer_print(&writer);
}

/* What the file itself says. */
static ExitStatus report_file(const Run *run) {
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;
        int r;

        r = lseek(run->output.fd, 0, SEEK_SET) < 0 ? -errno
                                                   : trace_summary_read(&summary, run->output.fd);
        if (r < 0) {
                say_error(_("cannot read %s: %s"), run->output.path, g_strerror(-r));
                return STATUS_FAILED;
        }
        if (run->invocation->json != JSON_OFF)
                print_json(run, summary);
        if (!run->invocation->is_quiet)
                report_summary(run, summary);
        return summary->verdict == TRACE_VERDICT_LOST ? STATUS_DATA_LOST : STATUS_OK;
}

/* A pipe cannot be read again: what the service counted has to do. */
static ExitStatus report_stream(const Run *run) {
        const SessionInfo *info = &run->result.info;
        uint64_t n_lost = info->n_packets_lost + info->n_chunks_lost;
        char size[TEXT_SIZE_BYTES];

        if (!run->invocation->is_quiet) {
                fprintf(stderr, _("Recorded %s\n"), text_format_size(size, info->n_bytes_output));
                report_missing(&run->result);
                if (n_lost)
                        fprintf(stderr,
                                _("Data was lost: %" PRIu64 " chunks or packets\n"),
                                n_lost);
        }
        return n_lost ? STATUS_DATA_LOST : STATUS_OK;
}

static ExitStatus report_stop_reason(const RecordingResult *result) {
        static const char failed[] = "output-failed: ";
        const char *reason = result->info.stop_reason;

        if (!reason || !g_str_has_prefix(reason, failed))
                return STATUS_OK;
        say_error(_("the output could not be written: %s. What was written is kept."),
                  reason + strlen(failed));
        return STATUS_FAILED;
}

/* What was asked for and refused by a producer: the recording is not what was wanted. */
static ExitStatus report_failed_sources(const RecordingResult *result) {
        static const char failed[] = "failed: ";
        ExitStatus status = STATUS_OK;

        for (guint i = 0; i < result->info.sources->len; i++) {
                const SessionSource *source =
                        &g_array_index(result->info.sources, SessionSource, i);
                g_autofree char *why = NULL;

                if (!g_str_has_prefix(source->state, failed))
                        continue;
                why = say_clean(source->state + strlen(failed),
                                strlen(source->state + strlen(failed)));
                say_error(_("%s did not record: %s"), source->source, why);
                status = STATUS_FAILED;
        }
        return status;
}

/* Programs come and go; but the kernel's producer has no reason to, so there is less than was wanted. */
static ExitStatus report_cut_short(const RecordingResult *result) {
        ExitStatus status = STATUS_OK;

        for (guint i = 0; i < result->info.sources->len; i++) {
                const SessionSource *source =
                        &g_array_index(result->info.sources, SessionSource, i);

                if (!streq(source->state, "gone") ||
                    !g_str_has_prefix(source->source, PROBE_PREFIX))
                        continue;
                say_error(_("%s is cut short: %s ended during the recording"),
                          source->source,
                          source->producer);
                status = STATUS_DATA_LOST;
        }
        return status;
}

static ExitStatus report(const Run *run) {
        ExitStatus failure = report_stop_reason(&run->result),
                   refusal = report_failed_sources(&run->result),
                   cut = report_cut_short(&run->result), status;
        struct stat st;

        if (fstat(run->output.fd, &st) < 0 || !S_ISREG(st.st_mode))
                status = report_stream(run);
        else
                status = report_file(run);
        if (failure || refusal)
                return failure ? failure : refusal;
        return status ? status : cut;
}

static ExitStatus report_detached(const Run *run) {
        const char *number = strrchr(run->result.session_path, '/') + 1;

        if (!run->invocation->is_quiet)
                fprintf(stderr,
                        _("Session %s runs. \"desktrace stop %s\" and \"desktrace read %s\" get "
                          "its data.\n"),
                        number,
                        number,
                        number);
        puts(number);
        return STATUS_OK;
}

/* A ring is in the service's memory until it is read. */
static bool ring_is_lost(const Run *run, ExitStatus status) {
        struct stat st;

        return status && run->request.is_ring && fstat(run->output.fd, &st) == 0 &&
               S_ISREG(st.st_mode) && st.st_size == 0;
}

static ExitStatus finish(Run *run, ExitStatus status) {
        ExitStatus report_status;

        if (run->result.is_discarded || !run->result.is_started) {
                if (run->result.is_discarded && !status)
                        status = STATUS_FAILED;
                return status;
        }
        if (arg_detach)
                return report_detached(run);
        if (ring_is_lost(run, status)) {
                say_hint(_("What was recorded was in its memory only; no file is written."));
                return status;
        }
        report_status = output_file_keep(&run->output);
        if (!report_status)
                report_status = report(run);
        if (!status)
                status = report_status;
        if (!status && run->result.command_status >= 0)
                status = (ExitStatus)run->result.command_status;
        return status;
}

/* Polkit asks for a password only where the kernel is recorded. */
static void start_agent(Run *run) {
        g_auto(GStrv) probe_sources = record_request_probe_sources(&run->request);

        if (probe_sources[0])
                run->agent = polkit_agent_start(run->invocation);
}

static ExitStatus run_record(Run *run) {
        ExitStatus status = build_request(run);

        if (!status)
                status = open_output(run);
        if (!status)
                status = open_service(run);
        if (status)
                return status;
        start_agent(run);
        return finish(run, record(run));
}

ExitStatus verb_record(Invocation *invocation) {
        _cleanup_(run_deinit) Run run = {
                .invocation = invocation,
                .output = OUTPUT_FILE_INIT,
                .result = RECORDING_RESULT_INIT,
        };
        ExitStatus status;

        record_request_init(&run.request);
        status = invocation_parse(invocation, entries);
        return status ? status : run_record(&run);
}
