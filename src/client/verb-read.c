/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace read: moves what a session has recorded so far into a file */

#include <glib/gi18n.h>

#include "client/output-file.h"
#include "client/session-calls.h"
#include "client/verbs.h"
#include "shared/text.h"

static char *arg_output;
static gboolean arg_force;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &arg_output,
          N_("write to FILE; - is stdout (default: desktrace-DATE-TIME.pftrace)"), N_("FILE") },
        { "force", 'f', 0, G_OPTION_ARG_NONE, &arg_force, N_("replace the output file if it exists"), NULL },
        { 0 },
};
/* clang-format on */

static ExitStatus open_output(OutputFile *output) {
        int r = output_file_open(output, arg_output, arg_force);

        if (r == 0)
                return STATUS_OK;
        return output_file_say_error(output, r);
}

static ExitStatus
read_session(const SessionCalls *calls, const Invocation *invocation, const char *name) {
        _cleanup_(output_file_deinit) OutputFile output = OUTPUT_FILE_INIT;
        g_autofree char *path = NULL;
        char size[TEXT_SIZE_BYTES];
        uint64_t n_bytes = 0;
        ExitStatus status;

        status = bus_client_find_session(calls->client, &path, name);
        if (!status)
                status = open_output(&output);
        if (!status)
                status = session_call_read_into(calls, path, output.fd, &n_bytes);
        if (!status)
                status = output_file_keep(&output);
        if (!status && !invocation->is_quiet)
                fprintf(stderr, _("%s in %s\n"), text_format_size(size, n_bytes), output.path);
        return status;
}

static ExitStatus open_and_read(const Invocation *invocation) {
        _cleanup_(bus_client_deinit) BusClient client = { 0 };
        _cleanup_(waiting_deinit) Waiting waiting = { 0 };
        const SessionCalls calls = { .waiting = &waiting, .client = &client };
        ExitStatus status;

        status = bus_client_open(&client, invocation);
        if (!status)
                status = waiting_init(&waiting);
        return status ? status : read_session(&calls, invocation, invocation->arguments[0]);
}

ExitStatus verb_read(Invocation *invocation) {
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status)
                status = invocation_expect(invocation, 1, 1);
        return status ? status : open_and_read(invocation);
}
