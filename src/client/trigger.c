/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Triggers: names of events that sessions listen for */

#include <errno.h>
#include <glib/gi18n.h>
#include <inttypes.h>
#include <stdio.h>

#include "client/json-writer.h"
#include "client/say.h"
#include "client/trigger.h"
#include "shared/names.h"

ExitStatus triggers_check(char *const *names) {
        for (; *names; names++) {
                if (**names && g_utf8_validate(*names, -1, NULL))
                        continue;
                say_error(_("a trigger name must be non-empty UTF-8 text"));
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

static int new_call(sd_bus_message **ret, const BusClient *client, char *const *names) {
        int r;

        r = bus_client_new_call(
                client, ret, TRACING_PATH, TRACING_MANAGER_INTERFACE, "ActivateTriggers");
        if (r >= 0)
                r = sd_bus_message_set_auto_start(*ret, false);
        if (r >= 0)
                r = sd_bus_message_append_strv(*ret, (char **)names);
        if (r >= 0)
                r = sd_bus_message_append(*ret, "a{sv}", 1, "producer", "s", "desktrace");
        return r;
}

static bool is_not_running(const sd_bus_error *error) {
        return sd_bus_error_has_name(error, SD_BUS_ERROR_NAME_HAS_NO_OWNER) ||
               sd_bus_error_has_name(error, SD_BUS_ERROR_SERVICE_UNKNOWN);
}

static ExitStatus
triggers_activate(const BusClient *client, char *const *names, uint32_t *ret_n_sessions) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        *ret_n_sessions = 0;
        r = new_call(&call, client, names);
        if (r < 0)
                return bus_client_say_errno(r);
        r = sd_bus_call(client->bus, call, BUS_CALL_TIMEOUT_USEC, &error, &reply);
        if (r < 0 && is_not_running(&error))
                return STATUS_OK;
        if (r >= 0)
                r = sd_bus_message_read(reply, "u", ret_n_sessions);
        if (r >= 0)
                return STATUS_OK;
        return sd_bus_error_is_set(&error) ? bus_client_say_error(&error) : bus_client_say_errno(r);
}

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

ExitStatus triggers_send(const Invocation *invocation, char *const *names) {
        _cleanup_(bus_client_deinit) BusClient client = { 0 };
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
        say_error(_("none of your sessions is waiting for it"));
        if (invocation->bus == BUS_CHOICE_DEFAULT)
                say_hint(_("This reached the system service; --user reaches your own."));
        return STATUS_NOT_FOUND;
}
