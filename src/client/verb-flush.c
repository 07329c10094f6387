/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace flush: has programs hand over what they still hold */

#include <glib/gi18n.h>

#include "client/bus-client.h"
#include "client/say.h"
#include "client/silent-sources.h"
#include "client/verbs.h"
#include "shared/names.h"
#include "shared/text.h"

static char *arg_timeout;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "timeout", 0, 0, G_OPTION_ARG_STRING, &arg_timeout,
          N_("wait at most TIME for programs (default: 5s)"), N_("TIME") },
        { 0 },
};
/* clang-format on */

static ExitStatus parse_timeout(uint32_t *ret_ms) {
        uint64_t ns = 0;

        if (arg_timeout && (text_parse_duration(&ns, arg_timeout) < 0 || ns < 1000000 ||
                            ns / 1000 > BUS_CALL_TIMEOUT_USEC - 1000000)) {
                say_error(_("'%s' is not a valid timeout: at least 1ms, at most 29s"), arg_timeout);
                return STATUS_USAGE;
        }
        *ret_ms = (uint32_t)(ns / 1000000);
        return STATUS_OK;
}

static ExitStatus flush(const BusClient *client, const char *path, uint32_t timeout_ms) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autoptr(GPtrArray) silent = NULL;
        ExitStatus status;
        int r;

        status = bus_client_call(
                client, &reply, path, TRACING_SESSION_INTERFACE, "Flush", "u", timeout_ms);
        if (status)
                return status;
        r = silent_sources_read(&silent, reply);
        if (r < 0)
                return bus_client_say_errno(r);
        silent_sources_print(silent);
        return silent->len ? STATUS_TIMED_OUT : STATUS_OK;
}

static ExitStatus flush_session(const Invocation *invocation, const char *name) {
        _cleanup_(bus_client_deinit) BusClient client = { 0 };
        g_autofree char *path = NULL;
        uint32_t timeout_ms;
        ExitStatus status;

        status = parse_timeout(&timeout_ms);
        if (!status)
                status = bus_client_open(&client, invocation);
        if (!status)
                status = bus_client_find_session(&client, &path, name);
        return status ? status : flush(&client, path, timeout_ms);
}

ExitStatus verb_flush(Invocation *invocation) {
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status)
                status = invocation_expect(invocation, 1, 1);
        return status ? status : flush_session(invocation, invocation->arguments[0]);
}
