/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Event formats: the fields of the kernel's events, as text from tracefs */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "client/event-formats.h"
#include "shared/fd.h"
#include "shared/names.h"

#define EVENTS_PATH      "/sys/kernel/tracing/events"
#define FORMAT_BYTES_MAX (256u << 10)

/* The names come from the service, but the files are read with the user's rights. */
static bool is_event_path(const char *name) {
        return strchr(name, '/') && *name != '/' && !strstr(name, "..");
}

static void read_local(GHashTable *formats, const GPtrArray *events, int events_fd) {
        for (guint i = 0; i < events->len; i++) {
                const char *event = g_ptr_array_index(events, i);
                g_autofree char *path = g_strconcat(event, "/format", NULL);
                _cleanup_(freep) char *text = NULL;

                if (is_event_path(event) &&
                    fd_read_file(&text, NULL, events_fd, path, FORMAT_BYTES_MAX) >= 0)
                        g_hash_table_insert(formats, g_strdup(event), g_strdup(text));
        }
}

static int read_reply(GHashTable *formats, sd_bus_message *reply) {
        const char *event, *text;
        int r;

        r = sd_bus_message_enter_container(reply, 'a', "(ss)");
        while (r >= 0 && (r = sd_bus_message_read(reply, "(ss)", &event, &text)) > 0)
                g_hash_table_insert(formats, g_strdup(event), g_strdup(text));
        return r;
}

/* Asks for the formats of `n` events from `first` on. Returns 0 or an errno. */
static int call(sd_bus_message **ret_reply,
                const BusClient *client,
                const GPtrArray *events,
                guint first,
                guint n,
                sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = bus_client_new_call(
                client, &message, TRACING_PATH, TRACING_MANAGER_INTERFACE, "GetEventFormats");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "s");
        for (guint i = 0; r >= 0 && i < n; i++)
                r = sd_bus_message_append(message, "s", g_ptr_array_index(events, first + i));
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r < 0 ? r
                     : sd_bus_call(client->bus, message, BUS_CALL_TIMEOUT_USEC, error, ret_reply);
}

static ExitStatus
read_service(GHashTable *formats, const BusClient *client, const GPtrArray *events) {
        for (guint first = 0; first < events->len; first += TRACING_FORMATS_MAX) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
                int r;

                r = call(&reply,
                         client,
                         events,
                         first,
                         MIN(events->len - first, TRACING_FORMATS_MAX),
                         &error);
                if (r >= 0)
                        r = read_reply(formats, reply);
                if (r < 0)
                        return sd_bus_error_is_set(&error) ? bus_client_say_error(&error)
                                                           : bus_client_say_errno(r);
        }
        return STATUS_OK;
}

ExitStatus
event_formats_read(GHashTable **ret, const GPtrArray *events, const Invocation *invocation) {
        g_autoptr(GHashTable) formats =
                g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        _cleanup_(bus_client_deinit) BusClient client = { 0 };
        _cleanup_(fd_closep) int fd = open(EVENTS_PATH, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ExitStatus status = STATUS_OK;

        if (fd >= 0) {
                read_local(formats, events, fd);
        } else {
                status = bus_client_open(&client, invocation);
                if (!status)
                        status = read_service(formats, &client, events);
        }
        if (!status)
                *ret = g_steal_pointer(&formats);
        return status;
}
