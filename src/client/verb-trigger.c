/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib/gi18n.h>
#include <inttypes.h>

#include "client/bus-client.h"
#include "client/say.h"
#include "client/trigger.h"
#include "client/verbs.h"

static const GOptionEntry entries[] = { { 0 } };

static void print_reached(const Invocation *invocation, uint32_t n_sessions) {
        _cleanup_(json_writer_deinit) JsonWriter writer = { 0 };

        if (invocation->json != JSON_OFF) {
                json_writer_init(&writer, invocation->json);
                json_begin_object(&writer, NULL);
                json_uint(&writer, "sessions", n_sessions);
                json_end_object(&writer);
                json_writer_print(&writer);
        } else if (!invocation->is_quiet && n_sessions > 0)
                printf(g_dngettext(GETTEXT_PACKAGE,
                                   "Reached %" PRIu32 " session.\n",
                                   "Reached %" PRIu32 " sessions.\n",
                                   n_sessions),
                       n_sessions);
}

static ExitStatus trigger(const Invocation *invocation) {
        _cleanup_(bus_client_deinit) BusClient client = { 0 };
        char *const *names = invocation->arguments;
        uint32_t n_sessions = 0;
        ExitStatus status;

        status = triggers_check(names);
        if (!status)
                status = bus_client_open(&client, invocation);
        if (!status)
                status = triggers_activate(&client, names, &n_sessions);
        if (status)
                return status;
        print_reached(invocation, n_sessions);
        if (n_sessions > 0)
                return STATUS_OK;
        say_error(_("no session waits for it"));
        if (invocation->bus == BUS_CHOICE_DEFAULT)
                say_hint(_("The machine's service was asked; --user asks your own."));
        return STATUS_NOT_FOUND;
}

ExitStatus verb_trigger(Invocation *invocation) {
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status)
                status = invocation_expect(invocation, 1, TRIGGERS_MAX);
        return status ? status : trigger(invocation);
}
