/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace stop: stops a session, and saves its data if a file is given */

#include <glib/gi18n.h>

#include "client/output-file.h"
#include "client/say.h"
#include "client/session-calls.h"
#include "client/silent-sources.h"
#include "client/trace-report.h"
#include "client/verbs.h"

static char *arg_output;
static gboolean arg_force, arg_discard;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &arg_output,
          N_("write its data to FILE (- is stdout) and free it"), N_("FILE") },
        { "force", 'f', 0, G_OPTION_ARG_NONE, &arg_force, N_("replace the output file if it exists"), NULL },
        { "discard", 0, 0, G_OPTION_ARG_NONE, &arg_discard, N_("free its data without writing it"), NULL },
        { 0 },
};
/* clang-format on */

static ExitStatus check_combination(void) {
        const char *trouble = NULL;

        if (arg_output && arg_discard)
                trouble = _("-o and --discard are mutually exclusive");
        else if (arg_force && !arg_output)
                trouble = _("-f requires -o");
        if (!trouble)
                return STATUS_OK;
        say_error("%s", trouble);
        return STATUS_USAGE;
}

/* A producer may hold back parts of the trace. It is reported as such only for a file that was written. */
static ExitStatus stop(const SessionCalls *calls, const char *path, GPtrArray **ret_silent) {
        ExitStatus status = session_call_stop(calls, path, ret_silent);

        if (status || arg_output)
                return status;
        silent_sources_print(*ret_silent);
        return (*ret_silent)->len ? STATUS_TIMED_OUT : STATUS_OK;
}

static ExitStatus fetch(const SessionCalls *calls,
                        const char *path,
                        const Invocation *invocation,
                        OutputFile *output,
                        const GPtrArray *silent) {
        _cleanup_(session_info_deinit) SessionInfo info;
        const TraceReport report = {
                .invocation = invocation, .output = output, .info = &info, .silent = silent
        };
        ExitStatus status;
        uint64_t n_bytes;

        session_info_init(&info);
        status = session_call_read_into(calls, path, output->fd, &n_bytes);
        if (!status && n_bytes == 0)
                status = trace_report_nothing();
        if (!status)
                status = session_info_get(&info, calls->client, path);
        if (!status)
                status = session_call_free(calls, path);
        if (!status)
                status = output_file_keep(output);
        return status ? status : trace_report(&report);
}

/* Data is read only once: the client that follows a session gets it. */
static ExitStatus check_is_left_alone(const SessionCalls *calls, const char *path) {
        _cleanup_(session_info_deinit) SessionInfo info;
        ExitStatus status;

        session_info_init(&info);
        status = session_info_get(&info, calls->client, path);
        if (status || info.is_detached)
                return status;
        say_error(_("another program is attached to session %s and will get its data"),
                  session_path_number(path));
        say_hint(_("Stop it without -o, or take it over with \"desktrace attach\"."));
        return STATUS_USAGE;
}

static ExitStatus
stop_and_fetch(const SessionCalls *calls, const char *path, const Invocation *invocation) {
        _cleanup_(output_file_deinit) OutputFile output = OUTPUT_FILE_INIT;
        g_autoptr(GPtrArray) silent = NULL;
        ExitStatus status;
        int r;

        if (arg_discard)
                return session_call_free(calls, path);
        if (arg_output) {
                status = check_is_left_alone(calls, path);
                r = status ? 0 : output_file_open(&output, arg_output, arg_force);
                if (status || r)
                        return status ? status : output_file_say_error(&output, r);
        }
        status = stop(calls, path, &silent);
        if (status || !arg_output)
                return status;
        return fetch(calls, path, invocation, &output, silent);
}

static ExitStatus stop_session(const Invocation *invocation, const char *name) {
        _cleanup_(bus_client_deinit) BusClient client = { 0 };
        _cleanup_(waiting_deinit) Waiting waiting = { 0 };
        const SessionCalls calls = { .waiting = &waiting, .client = &client };
        g_autofree char *path = NULL;
        ExitStatus status;

        status = bus_client_open(&client, invocation);
        if (!status)
                status = bus_client_find_session(&client, &path, name);
        if (!status)
                status = waiting_init(&waiting);
        return status ? status : stop_and_fetch(&calls, path, invocation);
}

ExitStatus verb_stop(Invocation *invocation) {
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status)
                status = check_combination();
        if (!status)
                status = invocation_expect(invocation, 1, 1);
        return status ? status : stop_session(invocation, invocation->arguments[0]);
}
