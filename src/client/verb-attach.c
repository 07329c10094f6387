/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace attach: takes over a detached session, and follows it to its end */

#include <glib/gi18n.h>

#include "client/output-file.h"
#include "client/recording.h"
#include "client/session-choice.h"
#include "client/trace-report.h"
#include "client/verbs.h"

static char *arg_output;
static gboolean arg_force;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &arg_output,
          N_("write to FILE at the end; - is stdout (default: desktrace-DATE-TIME.pftrace)"), N_("FILE") },
        { "force", 'f', 0, G_OPTION_ARG_NONE, &arg_force, N_("replace the output file if it exists"), NULL },
        { 0 },
};
/* clang-format on */

static ExitStatus
report(const Invocation *invocation, OutputFile *output, RecordingResult *result) {
        ExitStatus status = output_file_keep(output);
        const TraceReport report = {
                .invocation = invocation,
                .output = output,
                .info = &result->info,
                .silent = result->silent,
        };

        return status ? status : trace_report(&report);
}

static ExitStatus
follow(const Invocation *invocation, BusClient *client, const char *path, OutputFile *output) {
        _cleanup_(recording_result_deinit) RecordingResult result = RECORDING_RESULT_INIT;
        const RecordingOptions options = {
                .client = client,
                .attach_path = path,
                .ring_fd = output->fd,
                .is_quiet = invocation->is_quiet,
        };
        ExitStatus status = recording_run(&result, &options);

        if (status)
                return status;
        if (output_file_is_empty(output))
                return trace_report_nothing();
        return report(invocation, output, &result);
}

static ExitStatus attach(const Invocation *invocation) {
        _cleanup_(output_file_deinit) OutputFile output = OUTPUT_FILE_INIT;
        _cleanup_(bus_client_deinit) BusClient client = { 0 };
        g_autofree char *path = NULL;
        ExitStatus status;
        int r;

        status = bus_client_open(&client, invocation);
        if (!status)
                status = session_choose(&client, invocation->arguments[0], &path);
        if (status)
                return status;
        r = output_file_open(&output, arg_output, arg_force);
        return r ? output_file_say_error(&output, r) : follow(invocation, &client, path, &output);
}

ExitStatus verb_attach(Invocation *invocation) {
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status)
                status = invocation_expect(invocation, 1, 1);
        return status ? status : attach(invocation);
}
