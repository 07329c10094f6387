/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Event view: the kernel's events that the service knows */

#include <string.h>

#include "client/bus-properties.h"
#include "client/event-view.h"
#include "shared/names.h"

void view_events_deinit(ViewEvents *events) {
        g_clear_pointer(&events->names, g_ptr_array_unref);
        g_clear_pointer(&events->why, g_free);
}

static gint compare_names(gconstpointer a, gconstpointer b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int read_events(sd_bus_message *reply, ViewEvents *events) {
        static const PropertyRow rows[] = {
                { "current", "b", offsetof(ViewEvents, is_current), property_read_bool },
                { "why", "s", offsetof(ViewEvents, why), property_read_string },
        };
        const char *name;
        int r;

        r = sd_bus_message_enter_container(reply, 'a', "s");
        while (r >= 0 && (r = sd_bus_message_read(reply, "s", &name)) > 0)
                g_ptr_array_add(events->names, g_strdup(name));
        if (r >= 0)
                r = sd_bus_message_exit_container(reply);
        return r < 0 ? r : properties_read(reply, rows, G_N_ELEMENTS(rows), events);
}

/* Returns 0 or an errno. *error is set if the error came from the service. */
static int
call(sd_bus_message **ret_reply, const BusClient *client, bool start, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = bus_client_new_call(
                client, &message, TRACING_PATH, TRACING_MANAGER_INTERFACE, "ListEvents");
        if (r >= 0)
                r = sd_bus_message_append(message, "a{sv}", 1, "start", "b", (int)start);
        if (r < 0)
                return r;
        return sd_bus_call(client->bus, message, BUS_CALL_TIMEOUT_USEC, error, ret_reply);
}

ExitStatus view_list_events(ViewEvents *ret, const BusClient *client, bool start) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(view_events_deinit) ViewEvents events = {
                .names = g_ptr_array_new_with_free_func(g_free),
        };
        int r;

        r = call(&reply, client, start, &error);
        if (r >= 0)
                r = read_events(reply, &events);
        if (r < 0 && !sd_bus_error_has_name(&error, SD_BUS_ERROR_UNKNOWN_METHOD))
                return sd_bus_error_is_set(&error) ? bus_client_say_error(&error)
                                                   : bus_client_say_errno(r);
        g_ptr_array_sort(events.names, compare_names);
        *ret = events;
        events = (ViewEvents){ 0 };
        return STATUS_OK;
}
