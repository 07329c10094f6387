/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bus properties: a{sv} into the members of a struct, by a table */

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "client/bus-properties.h"

int property_read_string(sd_bus_message *message, void *member) {
        char **string = member;
        const char *text;
        int r;

        r = sd_bus_message_read(message, "s", &text);
        if (r < 0)
                return r;
        g_free(*string);
        *string = g_strdup(text);
        return 0;
}

int property_read_strings(sd_bus_message *message, void *member) {
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
        char ***strings = member;
        const char *text;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "s");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(message, "s", &text)) > 0)
                g_strv_builder_add(builder, text);
        if (r < 0)
                return r;
        g_strfreev(*strings);
        *strings = g_strv_builder_end(builder);
        return sd_bus_message_exit_container(message);
}

int property_read_uint32(sd_bus_message *message, void *member) {
        return sd_bus_message_read_basic(message, 'u', member);
}

int property_read_uint64(sd_bus_message *message, void *member) {
        return sd_bus_message_read_basic(message, 't', member);
}

int property_read_bool(sd_bus_message *message, void *member) {
        int flag, r;

        r = sd_bus_message_read_basic(message, 'b', &flag); /* an int, says sd-bus */
        if (r < 0)
                return r;
        *(bool *)member = flag;
        return 0;
}

static const PropertyRow *
row_find(const PropertyRow *rows, size_t n_rows, const char *name, const char *signature) {
        for (size_t i = 0; i < n_rows; i++)
                if (streq(rows[i].name, name) && streq(rows[i].signature, signature))
                        return &rows[i];
        return NULL;
}

static int
read_entry(sd_bus_message *message, const PropertyRow *rows, size_t n_rows, void *object) {
        const char *name, *signature;
        const PropertyRow *row;
        int r;

        r = sd_bus_message_read(message, "s", &name);
        if (r >= 0)
                r = sd_bus_message_peek_type(message, NULL, &signature);
        if (r < 0)
                return r;
        row = row_find(rows, n_rows, name, signature);
        if (!row)
                return sd_bus_message_skip(message, "v");
        r = sd_bus_message_enter_container(message, 'v', signature);
        if (r < 0)
                return r;
        r = row->read(message, (char *)object + row->offset);
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

int properties_read(sd_bus_message *message, const PropertyRow *rows, size_t n_rows, void *object) {
        int r;

        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
                r = read_entry(message, rows, n_rows, object);
                if (r >= 0)
                        r = sd_bus_message_exit_container(message);
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

ExitStatus properties_get(const BusClient *client,
                          const char *path,
                          const char *interface,
                          const PropertyRow *rows,
                          size_t n_rows,
                          void *object) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        ExitStatus status;
        int r;

        status = bus_client_call(
                client, &reply, path, "org.freedesktop.DBus.Properties", "GetAll", "s", interface);
        if (status)
                return status;
        r = properties_read(reply, rows, n_rows, object);
        return r < 0 ? bus_client_say_errno(r) : STATUS_OK;
}
