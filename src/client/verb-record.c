/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace record: starts a session, follows it to its end, and reports what was recorded */

#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/flight-recorder.h"
#include "client/heap-command.h"
#include "client/name-check.h"
#include "client/output-file.h"
#include "client/polkit-agent.h"
#include "client/record-request.h"
#include "client/recording.h"
#include "client/say.h"
#include "client/silent-sources.h"
#include "client/standalone.h"
#include "client/time-option.h"
#include "client/trace-page.h"
#include "client/trace-report.h"
#include "client/trigger.h"
#include "client/verbs.h"
#include "shared/names.h"
#include "shared/text.h"

/* The time for the command to register and be started: long on a busy machine, short for a user if nothing comes. */
#define COMMAND_WAIT_MS "1000"
#define VARIABLES_MAX   16 /* for a command */

static char *arg_config, **arg_presets, *arg_time, *arg_buffer, *arg_output, *arg_name;
static char *arg_before, *arg_after, *arg_stacks, **arg_stacks_at, *arg_heap, **arg_triggers;
static gboolean arg_ring, arg_force, arg_detach, arg_flight_recorder, arg_report;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "config", 'c', 0, G_OPTION_ARG_FILENAME, &arg_config,
          N_("use the config in FILE (text format; - is stdin)"), N_("FILE") },
        { "preset", 'p', 0, G_OPTION_ARG_STRING_ARRAY, &arg_presets,
          N_("use a predefined configuration"), N_("PRESET") },
        { "stacks", 0, 0, G_OPTION_ARG_STRING, &arg_stacks,
          N_("also record call stacks, HZ times a second (default: 997)"), N_("HZ") },
        { "stacks-at", 0, 0, G_OPTION_ARG_STRING_ARRAY, &arg_stacks_at,
          N_("record call stacks where EVENT happens: sleep, page-fault, or a kernel event"), N_("EVENT[:N]") },
        { "heap", 0, 0, G_OPTION_ARG_STRING, &arg_heap,
          N_("also record heap allocations of the command, or of running programs with the heap library; one sample "
             "per SIZE (default: 32K)"), N_("SIZE") },
        { "time", 't', 0, G_OPTION_ARG_STRING, &arg_time, N_("stop after TIME, for example 5s"), N_("TIME") },
        { "buffer-size", 'b', 0, G_OPTION_ARG_STRING, &arg_buffer,
          N_("set the buffer size, for example 64M"), N_("SIZE") },
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &arg_output,
          N_("write to FILE; - is stdout (default: desktrace-DATE-TIME.pftrace)"), N_("FILE") },
        { "force", 'f', 0, G_OPTION_ARG_NONE, &arg_force, N_("replace the output file if it exists"), NULL },
        { "report", 0, 0, G_OPTION_ARG_NONE, &arg_report,
          N_("also write a report page next to the file"), NULL },
        { "ring", 0, 0, G_OPTION_ARG_NONE, &arg_ring,
          N_("keep only the newest data in memory, and write it at the end"), NULL },
        { "name", 'n', 0, G_OPTION_ARG_STRING, &arg_name, N_("give the session a unique name"), N_("NAME") },
        { "detach", 0, 0, G_OPTION_ARG_NONE, &arg_detach,
          N_("leave the session running; \"desktrace stop -o\" saves its data"), NULL },
        { "flight-recorder", 0, 0, G_OPTION_ARG_NONE, &arg_flight_recorder,
          N_("leave a ring buffer running; \"desktrace snapshot\" saves its data"), NULL },
        { "before", 0, 0, G_OPTION_ARG_STRING, &arg_before,
          N_("make the flight recorder reach back TIME (default: 10s)"), N_("TIME") },
        { "trigger", 0, 0, G_OPTION_ARG_STRING_ARRAY, &arg_triggers,
          N_("stay and write a snapshot each time NAME is triggered; may be repeated"), N_("NAME") },
        { "after", 0, 0, G_OPTION_ARG_STRING, &arg_after,
          N_("continue for TIME after a trigger"), N_("TIME") },
        { 0 },
};
/* clang-format on */

/* One run of the verb, with all that has to be cleaned up. */
typedef struct Run {
        Invocation *invocation;
        RecordRequest request;
        FlightRecorder flight_recorder;
        RecordTriggers triggers;
        const char *trigger;   /* the name of the first one */
        char *snapshot_output; /* the files of triggers are named after this */
        OutputFile output;
        OutputFile page; /* of a report */
        Waiting waiting; /* blocks the signals that ask to stop, to the end */
        BusClient client;
        Standalone standalone;
        CommandEnds ends;
        HeapCommand heap;
        pid_t agent; /* the process that asks for a password, or 0 */
        RecordingResult result;
} Run;

static void run_deinit(Run *run) {
        process_end(&run->agent, POLKIT_AGENT_GRACE_MS);
        recording_result_deinit(&run->result);
        bus_client_deinit(&run->client);
        standalone_deinit(&run->standalone);
        command_ends_deinit(&run->ends);
        heap_command_deinit(&run->heap);
        output_file_deinit(&run->output);
        output_file_deinit(&run->page);
        record_request_deinit(&run->request);
        g_free(run->snapshot_output);
        waiting_deinit(&run->waiting);
}

static bool is_standalone(const Run *run) {
        return run->invocation->bus == BUS_CHOICE_STANDALONE;
}

static bool is_system_service(const Run *run) {
        return run->invocation->bus == BUS_CHOICE_SYSTEM ||
               (run->invocation->bus == BUS_CHOICE_DEFAULT && !g_getenv(TRACING_ENV_SOCKET));
}

/* There is nobody who could ask for privileges. */
static bool is_plain_standalone(const Run *run) {
        return is_standalone(run) && geteuid() != 0;
}

/* Whether anything is wanted that only the machine can tell, other than call stacks of the user's own programs. */
static bool wants_machine(const RecordRequest *request) {
        g_auto(GStrv) sources = record_request_probe_sources(request);
        char **source = sources;

        while (*source && streq(*source, TRACING_OWN_STACKS_SOURCE))
                source++;
        return *source;
}

/* Call stacks at a kernel event are those of the whole machine. */
static bool wants_stacks_of_machine(void) {
        for (char **event = arg_stacks_at; event && *event; event++)
                if (strchr(*event, '/'))
                        return true;
        return false;
}

/* Call stacks of a command, and nothing for which others would have to be asked. */
static bool is_own_profile(const Run *run) {
        return (arg_stacks || arg_stacks_at) && run->invocation->command && geteuid() != 0 &&
               !wants_stacks_of_machine();
}

/* Whether the service may only show whose programs they are. */
static bool wants_own_stacks(const Run *run) {
        if (is_plain_standalone(run))
                return true;
        return is_system_service(run) && geteuid() != 0 && !wants_stacks_of_machine() &&
               !wants_machine(&run->request);
}

/* If the user does not say what to record, it is everything that the user may record. */
static ExitStatus load_default_preset(Run *run) {
        if (is_system_service(run) && is_own_profile(run)) {
                if (!run->invocation->is_quiet)
                        say_hint(_("Recording only your own programs; -p default: all that "
                                   "there is, with an administrator's leave."));
                return record_request_load_preset(&run->request, RECORD_PRESET_APPS);
        }
        if (run->invocation->bus != BUS_CHOICE_USER && !is_plain_standalone(run))
                return record_request_load_preset(&run->request, RECORD_PRESET_DEFAULT);
        if (is_plain_standalone(run) && !run->invocation->is_quiet)
                say_hint(_("Not root: recording program events, but no kernel events."));
        return record_request_load_preset(&run->request, RECORD_PRESET_APPS);
}

static ExitStatus load_presets(Run *run) {
        ExitStatus status = STATUS_OK;

        for (char **names = arg_presets; !status && *names; names++)
                status = record_request_load_preset(&run->request, *names);
        return status;
}

static ExitStatus load_config(Run *run) {
        if (arg_config && arg_presets) {
                say_error(_("-c and -p are mutually exclusive"));
                return STATUS_USAGE;
        }
        if (arg_config)
                return record_request_load_file(&run->request, arg_config);
        if (arg_presets)
                return load_presets(run);
        return run->invocation->arguments[0] ? STATUS_OK : load_default_preset(run);
}

static bool is_stdout(const char *output) {
        return output && streq(output, "-");
}

/* Options that make no sense together. Only the first conflict is reported. */
static const char *find_trouble(const Run *run) {
        const char *const *command = (const char *const *)run->invocation->command;
        const struct {
                bool is_so;
                const char *text;
        } troubles[] = {
                { (arg_before || arg_triggers || arg_after) && !arg_flight_recorder,
                  N_("--before, --trigger and --after require --flight-recorder") },
                { arg_after && !arg_triggers,
                  N_("--after requires --trigger; without a trigger, use \"desktrace snapshot "
                     "--after\"") },
                { arg_detach && arg_triggers,
                  N_("--trigger and --detach are mutually exclusive: --trigger stays to write "
                     "files") },
                { arg_triggers && arg_force,
                  N_("-f cannot be used with --trigger: its files get unused numbers") },
                { is_stdout(arg_output) && run->invocation->json != JSON_OFF,
                  N_("--json and \"-o -\" are mutually exclusive: both write to stdout") },
                { arg_triggers && is_stdout(arg_output),
                  N_("--trigger writes several files and cannot write to stdout") },
                { arg_flight_recorder && !arg_triggers && is_standalone(run),
                  N_("--flight-recorder with --standalone requires --trigger: nothing keeps "
                     "running afterwards") },
                { arg_flight_recorder && !arg_triggers && command,
                  N_("--flight-recorder with a command requires --trigger; \"--ring\" writes at "
                     "the end") },
                { arg_flight_recorder && !arg_triggers && (arg_output || arg_force),
                  N_("--flight-recorder keeps the data in memory: use \"desktrace snapshot -o\"") },
                { arg_detach && is_standalone(run),
                  N_("--detach cannot be used with --standalone: nothing keeps running "
                     "afterwards") },
                { arg_detach && command, N_("--detach cannot be used with a command") },
                { arg_detach && arg_output,
                  N_("--detach keeps the data in memory: use \"desktrace stop -o\" instead of "
                     "-o") },
                { arg_report && (arg_detach || arg_flight_recorder || is_stdout(arg_output)),
                  N_("--report is about one file: leave out --detach, --flight-recorder and \"-o "
                     "-\"") },
                { command && (!command[0] || !*command[0]), N_("no command after --") },
                { arg_name && (!*arg_name || !g_utf8_validate(arg_name, -1, NULL)),
                  N_("a session name must be non-empty UTF-8 text") },
        };

        for (size_t i = 0; i < ARRAY_SIZE(troubles); i++)
                if (troubles[i].is_so)
                        return _(troubles[i].text);
        return NULL;
}

static ExitStatus check_combination(const Run *run) {
        const char *trouble = find_trouble(run);

        if (!trouble)
                return STATUS_OK;
        say_error("%s", trouble);
        return STATUS_USAGE;
}

static ExitStatus build_flight_recorder(Run *run) {
        FlightRecorder *recorder = &run->flight_recorder;
        ExitStatus status = STATUS_OK;

        recorder->triggers = arg_triggers;
        if (arg_triggers)
                status = triggers_check(arg_triggers);
        if (!status && arg_before)
                status = time_option_parse(
                        &recorder->before_ms, arg_before, 1, FLIGHT_BEFORE_MS_MAX);
        if (!status && arg_after)
                status = time_option_parse(&recorder->after_ms, arg_after, 0, FLIGHT_BEFORE_MS_MAX);
        if (!status)
                flight_recorder_apply(recorder, &run->request, arg_config != NULL);
        return status;
}

static ExitStatus build_request(Run *run) {
        ExitStatus status = check_combination(run);
        bool is_own;

        if (!status)
                status = load_config(run);
        for (char **event = run->invocation->arguments; !status && *event; event++)
                status = record_request_add_event(&run->request, *event);
        is_own = wants_own_stacks(run);
        if (!status && arg_stacks)
                status = record_request_add_stacks(&run->request, arg_stacks, is_own);
        for (char **event = arg_stacks_at; !status && event && *event; event++)
                status = record_request_add_stacks_at(&run->request, *event, is_own);
        if (!status && arg_heap)
                status = heap_command_build(&run->heap,
                                            &run->request,
                                            arg_heap,
                                            (const char *const *)run->invocation->command,
                                            is_standalone(run));
        if (!status && arg_time)
                status = record_request_set_duration(&run->request, arg_time);
        if (!status && arg_buffer)
                status = record_request_set_buffer(&run->request, arg_buffer);
        run->request.name = arg_name;
        run->request.is_detached = arg_detach;
        run->request.is_ring = arg_ring || arg_detach;
        return status;
}

/* Checks that need the parsed config. */
static ExitStatus build_triggers(Run *run) {
        const char *trouble = NULL;

        run->triggers = record_request_triggers(&run->request, &run->trigger);
        if (run->triggers && arg_flight_recorder)
                trouble = _("the config has its own triggers: leave out --flight-recorder");
        else if (run->triggers == RECORD_TRIGGERS_CLONE && (arg_detach || arg_force))
                trouble = _("the config's triggers write files when they arrive: leave out "
                            "--detach and -f");
        else if (run->triggers == RECORD_TRIGGERS_CLONE && arg_report)
                trouble = _("the config's triggers write files when they arrive: leave out "
                            "--report");
        if (trouble) {
                say_error("%s", trouble);
                return STATUS_USAGE;
        }
        /* These cannot be streamed, because nothing of them may be seen before the trigger. */
        run->request.is_ring |= run->triggers > RECORD_TRIGGERS_START;
        return STATUS_OK;
}

static ExitStatus build(Run *run) {
        ExitStatus status = build_request(run);

        if (!status)
                status = build_triggers(run);
        if (status || !arg_flight_recorder)
                return status;
        status = build_flight_recorder(run);
        run->triggers = record_request_triggers(&run->request, &run->trigger);
        return status;
}

/* Nobody asked for just these data sources: one that cannot record is no failure. */
static bool is_of_preset(const Run *run) {
        return !arg_config && !run->invocation->arguments[0];
}

/* The user asked for these sources, and for nothing else. */
static bool is_by_name(const Run *run) {
        return run->invocation->arguments[0] && !arg_config && !arg_presets;
}

static bool makes_snapshots(const Run *run) {
        return run->triggers == RECORD_TRIGGERS_CLONE;
}

/*
 * The service
 */

static ExitStatus check_may_probe(char *const *sources) {
        while (*sources && streq(*sources, TRACING_OWN_STACKS_SOURCE))
                sources++;
        if (!*sources || geteuid() == 0)
                return STATUS_OK;
        say_error(_("%s with --standalone requires root: there is no service to ask"), *sources);
        say_hint(_("Use sudo, leave out --standalone, or record only programs: -p apps."));
        return STATUS_NOT_AUTHORIZED;
}

static ExitStatus open_standalone(Run *run) {
        g_auto(GStrv) sources = record_request_probe_sources(&run->request);
        ExitStatus status = record_request_check_sources(&run->request);

        if (!status)
                status = check_may_probe(sources);
        if (!status)
                status = standalone_start(&run->standalone, &run->client, &run->waiting);
        if (!status && sources[0])
                status = standalone_start_probes(
                        &run->standalone, &run->client, &run->waiting, sources);
        return status;
}

static ExitStatus open_service(Run *run) {
        return is_standalone(run) ? open_standalone(run)
                                  : bus_client_open(&run->client, run->invocation);
}

static ExitStatus check_has_command(const Run *run, char *const *sources) {
        for (; !run->invocation->command && is_by_name(run) && *sources; sources++)
                if (command_ends_needs_command(*sources)) {
                        say_error(_("%s records only a program that is started for it: name "
                                    "the command behind --"),
                                  *sources);
                        return STATUS_USAGE;
                }
        return STATUS_OK;
}

/* A private service has no bridges. A command gets its own, as it inherits what no running program can. */
static ExitStatus open_bridges(Run *run) {
        g_auto(GStrv) sources = record_request_bridge_sources(&run->request);
        ExitStatus status = check_has_command(run, sources);
        int r = 0;

        if (status || !sources[0])
                return status;
        if (run->invocation->bus == BUS_CHOICE_SYSTEM || run->invocation->bus == BUS_CHOICE_DEFAULT)
                standalone_wake_bridges();
        if (run->invocation->command)
                r = command_ends_make(&run->ends, sources);
        if (r < 0) {
                say_error(_("cannot record the command: %s"), g_strerror(-r));
                return STATUS_FAILED;
        }
        status = standalone_start_bridges(
                &run->standalone, &run->client, &run->waiting, sources, &run->ends);
        command_ends_close_ours(&run->ends);
        return status;
}

/* The time until which the requested sources may appear. */
static NameCheckWait name_check_wait(const Run *run) {
        const RecordRequest *request = &run->request;
        uint64_t duration_ms = request->duration_ms;

        if (run->invocation->command)
                return NAME_CHECK_OURS;
        if (duration_ms == 0 && request->config)
                duration_ms = request->config->pb->duration_ms;
        if (request->is_detached || run->triggers || duration_ms == 0 ||
            duration_ms > NAME_CHECK_SHORT_MS)
                return NAME_CHECK_LATER;
        return NAME_CHECK_NOW;
}

/* Before anything is recorded, so that nobody waits for a page that cannot be written. */
static ExitStatus open_page(Run *run) {
        g_autofree char *path = NULL;
        struct stat stat;
        int r;

        if (fstat(run->output.fd, &stat) || !S_ISREG(stat.st_mode)) {
                say_error(_("%s is not a file: --report cannot read it again"), run->output.path);
                return STATUS_USAGE;
        }
        path = trace_page_path(run->output.path, ".html");
        r = output_file_open(&run->page, path, arg_force);
        return r ? output_file_say_error(&run->page, r) : STATUS_OK;
}

static ExitStatus open_output(Run *run) {
        int r;

        if (run->request.is_detached)
                return STATUS_OK;
        if (makes_snapshots(run)) {
                run->snapshot_output =
                        arg_output ? g_strdup(arg_output) : output_file_default_path();
                return snapshot_check_output(run->snapshot_output);
        }
        r = output_file_open(&run->output, arg_output, arg_force);
        if (r == 0)
                return arg_report ? open_page(run) : STATUS_OK;
        return output_file_say_error(&run->output, r);
}

static void say_waiting(const RecordingOptions *options, const RecordingResult *result) {
        const Run *run = options->userdata;

        flight_recorder_say_waiting(
                run->trigger, run->invocation, options->socket, run->snapshot_output);
}

/* Where the service listens for Perfetto's SDK, if a program would not find it on its own. Programs look where
 * the system's service listens, which may or may not be where the user's one does. */
static char *find_producer_socket(const Run *run) {
        g_autofree char *path = NULL;

        if (is_standalone(run))
                return g_strdup(run->standalone.producer_socket);
        if (run->invocation->bus != BUS_CHOICE_USER)
                return NULL;
        path = g_build_filename(
                g_get_user_runtime_dir(), "perfetto", TRACING_PERFETTO_PRODUCER_NAME, NULL);
        return g_file_test(path, G_FILE_TEST_EXISTS) ? g_steal_pointer(&path) : NULL;
}

static ExitStatus record(Run *run) {
        g_autofree char *startup = record_request_startup_categories(&run->request);
        g_autofree char *producer_socket = find_producer_socket(run);
        /* The variables that the command's runtimes understand, each with what is meant for it. */
        ProcessVariable variables[VARIABLES_MAX] = {
                { TRACING_ENV_SOCKET, run->standalone.socket, false },
                { TRACING_ENV_PERFETTO_PRODUCER, producer_socket, true },
                { TRACING_ENV_STARTUP, startup, true },
                { TRACING_ENV_WAIT, startup || run->heap.interval ? COMMAND_WAIT_MS : NULL, true },
                { TRACING_ENV_PRELOAD, run->heap.preload, false },
                { TRACING_ENV_HEAP, run->heap.interval, false },
                { TRACING_ENV_TUNABLES, run->heap.tunables, false },
                { 0 },
        };
        g_auto(GStrv) command = NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *start = NULL;
        const SnapshotWriterOptions snapshots = {
                .invocation = run->invocation,
                .client = &run->client,
                .output = run->snapshot_output,
                .before_ns = (uint64_t)run->request.snapshot_before_ms * 1000000,
        };
        RecordingOptions options = {
                .client = &run->client,
                .command_variables = variables,
                .owns_stdout = run->invocation->json != JSON_OFF || is_stdout(arg_output),
                .socket = run->standalone.socket,
                .ring_fd = run->request.is_ring ? run->output.fd : -1,
                .is_quiet = run->invocation->is_quiet,
                .may_be_in_vain = !is_of_preset(run),
                .is_detached = run->request.is_detached,
                .snapshots = makes_snapshots(run) ? &snapshots : NULL,
                .on_running = makes_snapshots(run) ? say_waiting : NULL,
                .waits_for_trigger = makes_snapshots(run) || run->triggers == RECORD_TRIGGERS_START,
                .preset = is_of_preset(run) ? &run->request : NULL,
                .output_fd = run->request.is_ring ? -1 : run->output.fd,
                .userdata = run,
        };
        int r;

        command_ends_pass(&run->ends, variables);
        command = heap_command_line(
                &run->heap, (const char *const *)run->invocation->command, variables);
        options.command = (const char *const *)command;
        r = record_request_to_message(&run->request, &run->client, options.output_fd, &start);
        if (r < 0)
                return bus_client_say_errno(r);
        options.start = start;
        return recording_run(&run->result, &options);
}

/*
 * The report
 */

static ExitStatus report_detached(Run *run) {
        const char *number = session_path_number(run->result.session_path);

        if (arg_flight_recorder) {
                flight_recorder_say_left(&run->flight_recorder,
                                         &run->request,
                                         run->invocation,
                                         run->result.session_path);
                return STATUS_OK;
        }
        if (!run->invocation->is_quiet)
                fprintf(stderr,
                        _("Session %s is running. \"desktrace stop%s -o FILE %s\" stops it and "
                          "saves its data.\n"),
                        number,
                        invocation_bus_option(run->invocation),
                        number);
        puts(number);
        return STATUS_OK;
}

/* In this case there is nothing to read, because only the data around triggers was wanted. */
static bool no_trigger_came(const Run *run) {
        const char *reason = run->result.info.stop_reason;

        return run->triggers && !makes_snapshots(run) && reason && streq(reason, "trigger-timeout");
}

/* Each snapshot was reported when it was written. */
static ExitStatus report_snapshots(const Run *run) {
        unsigned n = run->result.n_snapshots;

        if (!run->invocation->is_quiet && n == 0 && !run->result.snapshot_status)
                fputs(_("No trigger arrived; nothing was written.\n"), stderr);
        silent_sources_print(run->result.silent);
        return run->result.snapshot_status;
}

/* A ring stays in the service's memory until it is read. */
static bool ring_is_lost(const Run *run, ExitStatus status) {
        return status && run->request.is_ring && output_file_is_empty(&run->output);
}

static ExitStatus report_recording(Run *run) {
        ExitStatus status = output_file_keep(&run->output), page_status = STATUS_OK;
        const TraceReport report = {
                .invocation = run->invocation,
                .output = &run->output,
                .info = &run->result.info,
                .silent = run->result.silent,
                .is_of_preset = is_of_preset(run),
                .is_by_name = is_by_name(run),
        };

        if (!status)
                status = trace_report(&report);
        if (arg_report && !output_file_is_empty(&run->output))
                page_status =
                        trace_page_of(&run->page, run->output.path, run->invocation->is_quiet);
        return status ? status : page_status;
}

/* Nothing that was requested can record: there is no file, and no session is left. */
static ExitStatus report_in_vain(Run *run) {
        const TraceReport report = { .info = &run->result.info, .silent = run->result.silent };

        return trace_report_in_vain(&report);
}

static ExitStatus finish(Run *run, ExitStatus status) {
        ExitStatus report_status;

        /* A service that ends just then may have written before it could say that it records. */
        if (run->result.is_discarded ||
            (!run->result.is_started && !output_file_has_data(&run->output))) {
                if (run->result.is_discarded && !status)
                        status = STATUS_FAILED;
                return status;
        }
        if (run->result.is_in_vain)
                return status ? status : report_in_vain(run);
        if (run->request.is_detached)
                return status ? status : report_detached(run);
        if (ring_is_lost(run, status)) {
                say_hint(_("The recording was only in the service's memory; no file was written."));
                return status;
        }
        if (no_trigger_came(run)) {
                fputs(_("No trigger arrived; nothing was written.\n"), stderr);
                return status;
        }
        report_status = makes_snapshots(run) ? report_snapshots(run) : report_recording(run);
        if (!status)
                status = report_status;
        /* A command that has failed has a reason not to offer what it should have. */
        if (run->result.command_status > 0 && (!status || status == STATUS_NOT_FOUND))
                status = (ExitStatus)run->result.command_status;
        return status;
}

/* Polkit asks for a password only if the kernel is recorded, or if nobody says when a session ends. */
static void start_agent(Run *run) {
        g_auto(GStrv) probe_sources = record_request_probe_sources(&run->request);

        if (probe_sources[0] || run->request.is_detached)
                run->agent = polkit_agent_start(run->invocation);
}

/* A config may be there only to send triggers. */
static bool sends_triggers(const Run *run) {
        return run->request.config && run->request.config->pb->n_activate_triggers > 0;
}

static ExitStatus send_triggers(const Run *run) {
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        g_auto(GStrv) names = NULL;

        if (is_standalone(run)) {
                say_error(_("the config sends triggers, but with --standalone no session can "
                            "receive them"));
                return STATUS_USAGE;
        }
        for (size_t i = 0; i < run->request.config->pb->n_activate_triggers; i++)
                g_strv_builder_add(builder, run->request.config->pb->activate_triggers[i]);
        names = g_strv_builder_end(builder);
        return triggers_send(run->invocation, names);
}

static ExitStatus run_record(Run *run) {
        ExitStatus status = build(run);

        if (!status && sends_triggers(run))
                return send_triggers(run);
        if (!status)
                status = waiting_init(&run->waiting);
        if (!status)
                status = open_output(run);
        if (!status)
                status = open_service(run);
        if (!status)
                status = open_bridges(run);
        if (!status)
                status = name_check(&run->client,
                                    &run->request,
                                    name_check_wait(run),
                                    run->invocation->is_quiet);
        if (status)
                return status;
        start_agent(run);
        return finish(run, record(run));
}

ExitStatus verb_record(Invocation *invocation) {
        _cleanup_(run_deinit) Run run = {
                .invocation = invocation,
                .output = OUTPUT_FILE_INIT,
                .page = OUTPUT_FILE_INIT,
                .standalone = STANDALONE_INIT,
                .ends = COMMAND_ENDS_INIT,
                .result = RECORDING_RESULT_INIT,
        };
        ExitStatus status;

        record_request_init(&run.request);
        status = invocation_parse(invocation, entries);
        return status ? status : run_record(&run);
}
