/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib/gi18n.h>

#include "client/bus-client.h"
#include "client/say.h"
#include "client/verbs.h"
#include "shared/names.h"

static gboolean arg_discard;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "discard", 0, 0, G_OPTION_ARG_NONE, &arg_discard, N_("Free its data as well"), NULL },
        { 0 },
};
/* clang-format on */

static ExitStatus stop_session(const Invocation *invocation, const char *name) {
        _cleanup_(bus_client_deinit) BusClient client = { 0 };
        g_autofree char *path = NULL;
        ExitStatus status;

        status = bus_client_open(&client, invocation);
        if (!status)
                status = bus_client_find_session(&client, &path, name);
        if (!status)
                status = bus_client_call(&client,
                                         NULL,
                                         path,
                                         TRACING_SESSION_INTERFACE,
                                         arg_discard ? "Free" : "Stop",
                                         NULL);
        return status;
}

ExitStatus verb_stop(Invocation *invocation) {
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status)
                status = invocation_expect(invocation, 1, 1);
        return status ? status : stop_session(invocation, invocation->arguments[0]);
}
