/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib/gi18n.h>
#include <inttypes.h>

#include "client/bus-client.h"
#include "client/output-file.h"
#include "client/say.h"
#include "client/verbs.h"
#include "shared/names.h"
#include "shared/text.h"

#define READ_TIMEOUT_USEC (UINT64_C(3600) * 1000000) /* a slow disk or reader; Ctrl-C ends it */

static char *arg_output;
static gboolean arg_force;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &arg_output,
          N_("Where to write; - is stdout (default: desktrace-DATE-TIME.pftrace)"), N_("FILE") },
        { "force", 'f', 0, G_OPTION_ARG_NONE, &arg_force, N_("Replace the output file if it exists"), NULL },
        { 0 },
};
/* clang-format on */

static ExitStatus
read_into(const BusClient *client, const char *path, int fd, uint64_t *ret_n_bytes) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL, *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = bus_client_new_call(client, &message, path, TRACING_SESSION_INTERFACE, "ReadInto");
        if (r >= 0)
                r = sd_bus_message_append(message, "h", fd);
        if (r >= 0)
                r = sd_bus_call(client->bus, message, READ_TIMEOUT_USEC, &error, &reply);
        if (r >= 0)
                r = sd_bus_message_read(reply, "t", ret_n_bytes);
        if (r >= 0)
                return STATUS_OK;
        return sd_bus_error_is_set(&error) ? bus_client_say_error(&error) : bus_client_say_errno(r);
}

static ExitStatus open_output(OutputFile *output) {
        int r = output_file_open(output, arg_output, arg_force);

        if (r == 0)
                return STATUS_OK;
        return output_file_say_error(output, r);
}

static ExitStatus read_session(const Invocation *invocation, const char *name) {
        _cleanup_(output_file_deinit) OutputFile output = OUTPUT_FILE_INIT;
        _cleanup_(bus_client_deinit) BusClient client = { 0 };
        g_autofree char *path = NULL;
        char size[TEXT_SIZE_BYTES];
        uint64_t n_bytes = 0;
        ExitStatus status;

        status = bus_client_open(&client, invocation);
        if (!status)
                status = bus_client_find_session(&client, &path, name);
        if (!status)
                status = open_output(&output);
        if (!status)
                status = read_into(&client, path, output.fd, &n_bytes);
        if (!status)
                status = output_file_keep(&output);
        if (!status && !invocation->is_quiet)
                fprintf(stderr, _("%s in %s\n"), text_format_size(size, n_bytes), output.path);
        return status;
}

ExitStatus verb_read(Invocation *invocation) {
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status)
                status = invocation_expect(invocation, 1, 1);
        return status ? status : read_session(invocation, invocation->arguments[0]);
}
