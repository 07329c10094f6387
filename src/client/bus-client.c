/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bus client: the connection to the service */

#include <errno.h>
#include <glib/gi18n.h>
#include <stdarg.h>
#include <string.h>

#include "client/bus-client.h"
#include "client/say.h"
#include "shared/names.h"

void bus_client_deinit(BusClient *client) {
        /* Flushing a connection that is not set up yet waits for the peer, without any limit. */
        if (client->bus && sd_bus_is_ready(client->bus) > 0)
                sd_bus_flush(client->bus);
        client->bus = sd_bus_close_unref(client->bus);
}

/* The name of the connection that has the service's name now, or NULL. */
static char *find_owner(sd_bus *bus) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *owner;

        if (sd_bus_call_method(bus,
                               MESSAGE_BUS_NAME,
                               MESSAGE_BUS_PATH,
                               MESSAGE_BUS_NAME,
                               "GetNameOwner",
                               NULL,
                               &reply,
                               "s",
                               TRACING_BUS_NAME) < 0 ||
            sd_bus_message_read(reply, "s", &owner) <= 0)
                return NULL;
        return g_strdup(owner);
}

/* A match for the service's name does not keep other senders out: a bus delivers signals that any peer sends to
 * us directly, and sd-bus does not compare their sender with the name. */
static int drop_foreign(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        const char *sender = sd_bus_message_get_sender(message);
        g_autofree char *owner = NULL;

        if (sd_bus_message_is_signal(message, NULL, NULL) <= 0 || !sender || sender[0] != ':')
                return 0;
        owner = find_owner(sd_bus_message_get_bus(message));
        return !owner || !streq(owner, sender);
}

int bus_client_open_socket(BusClient *client, const char *path) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        g_autofree char *escaped = g_uri_escape_string(path, "/", FALSE);
        g_autofree char *address = g_strconcat("unix:path=", escaped, NULL);
        int r;

        r = sd_bus_new(&bus);
        if (r < 0)
                return r;
        r = sd_bus_set_address(bus, address);
        if (r < 0)
                return r;
        r = sd_bus_start(bus);
        if (r < 0)
                return r;
        *client = (BusClient){ .bus = TAKE(bus), .where = "standalone" };
        return 0;
}

int bus_client_try_open(BusClient *client, BusChoice choice) {
        const char *socket = g_getenv(TRACING_ENV_SOCKET);
        int r;

        if (choice == BUS_CHOICE_DEFAULT && socket && *socket)
                return bus_client_open_socket(client, socket);
        *client = (BusClient){ .destination = TRACING_BUS_NAME };
        if (choice == BUS_CHOICE_USER) {
                client->where = "user";
                r = sd_bus_open_user_with_description(&client->bus, "desktrace");
                return r < 0 ? r : sd_bus_add_filter(client->bus, NULL, drop_foreign, NULL);
        }
        client->where = "system";
        r = sd_bus_open_system_with_description(&client->bus, "desktrace");
        if (r >= 0)
                return sd_bus_add_filter(client->bus, NULL, drop_foreign, NULL);
        /* A machine without a bus may still have the service. */
        if (bus_client_open_socket(client, TRACING_SOCKET_SYSTEM) < 0)
                return r;
        client->where = "system";
        return 0;
}

ExitStatus bus_client_open(BusClient *client, const Invocation *invocation) {
        int r = bus_client_try_open(client, invocation->bus);

        say_set_bus_option(invocation_bus_option(invocation));
        if (invocation->bus == BUS_CHOICE_USER)
                say_set_command(NULL); /* root uses the other service */
        if (r < 0) {
                say_error(invocation->bus == BUS_CHOICE_USER
                                  ? _("cannot connect to the user bus: %s")
                                  : _("cannot connect to the system bus: %s"),
                          g_strerror(-r));
                say_hint(_("Without a bus, record with --standalone."));
                return STATUS_NO_SERVICE;
        }
        sd_bus_set_allow_interactive_authorization(client->bus, invocation->may_ask);
        return STATUS_OK;
}

ExitStatus bus_client_say_error(const sd_bus_error *error) {
        g_autofree char *sentence = bus_error_sentence(error);
        ExitStatus status = exit_status_of_bus_error(error->name);

        say_error("%s", sentence);
        say_hint(exit_status_hint(error->name));
        if (status == STATUS_NOT_AUTHORIZED || status == STATUS_NEEDS_AUTHENTICATION)
                say_hint_denied();
        return status;
}

ExitStatus bus_client_say_errno(int r) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

        /* A connection that ends has no error message of its own. */
        if (r == -ECONNRESET || r == -ENOTCONN || r == -EPIPE || r == -ECONNREFUSED)
                sd_bus_error_set(
                        &error, SD_BUS_ERROR_DISCONNECTED, _("the service closed the connection"));
        else
                sd_bus_error_set_errno(&error, r);
        return bus_client_say_error(&error);
}

int bus_client_new_call(const BusClient *client,
                        sd_bus_message **ret,
                        const char *path,
                        const char *interface,
                        const char *member) {
        return sd_bus_message_new_method_call(
                client->bus, ret, client->destination, path, interface, member);
}

ExitStatus bus_client_call(const BusClient *client,
                           sd_bus_message **ret_reply,
                           const char *path,
                           const char *interface,
                           const char *member,
                           const char *types,
                           ...) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        va_list arguments;
        int r;

        r = bus_client_new_call(client, &message, path, interface, member);
        if (r < 0)
                return bus_client_say_errno(r);
        va_start(arguments, types);
        r = types ? sd_bus_message_appendv(message, types, arguments) : 0;
        va_end(arguments);
        if (r < 0)
                return bus_client_say_errno(r);
        r = sd_bus_call(client->bus, message, BUS_CALL_TIMEOUT_USEC, &error, ret_reply);
        if (r >= 0)
                return STATUS_OK;
        return sd_bus_error_is_set(&error) ? bus_client_say_error(&error) : bus_client_say_errno(r);
}

ExitStatus bus_client_find_session(const BusClient *client, char **ret_path, const char *name) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *path;
        ExitStatus status;
        int r;

        if (!g_utf8_validate(name, -1, NULL)) {
                say_error(_("a session name must be UTF-8 text"));
                return STATUS_USAGE;
        }
        status = bus_client_call(
                client, &reply, TRACING_PATH, TRACING_MANAGER_INTERFACE, "GetSession", "s", name);
        if (status)
                return status;
        r = sd_bus_message_read(reply, "o", &path);
        if (r < 0)
                return bus_client_say_errno(r);
        *ret_path = g_strdup(path);
        return STATUS_OK;
}
