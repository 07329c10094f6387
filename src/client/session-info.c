/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "client/session-info.h"
#include "shared/names.h"

typedef struct PropertyRow {
        const char *name;
        char type;
        size_t offset;
} PropertyRow;

static const PropertyRow rows[] = {
        { "Id", 't', offsetof(SessionInfo, id) },
        { "Name", 's', offsetof(SessionInfo, name) },
        { "Scope", 's', offsetof(SessionInfo, scope) },
        { "State", 's', offsetof(SessionInfo, state) },
        { "StopReason", 's', offsetof(SessionInfo, stop_reason) },
        { "OwnerUID", 'u', offsetof(SessionInfo, owner_uid) },
        { "DurationMSec", 'u', offsetof(SessionInfo, duration_ms) },
        { "Detached", 'b', offsetof(SessionInfo, is_detached) },
        { "BytesWritten", 't', offsetof(SessionInfo, n_bytes_written) },
        { "BytesOutput", 't', offsetof(SessionInfo, n_bytes_output) },
        { "ChunksLost", 't', offsetof(SessionInfo, n_chunks_lost) },
        { "PacketsLost", 't', offsetof(SessionInfo, n_packets_lost) },
};

static void session_source_clear(gpointer item) {
        SessionSource *source = item;

        g_free(source->source);
        g_free(source->producer);
        g_free(source->state);
}

void session_info_init(SessionInfo *info) {
        *info = (SessionInfo){ .sources = g_array_new(FALSE, TRUE, sizeof(SessionSource)) };
        g_array_set_clear_func(info->sources, session_source_clear);
}

void session_info_deinit(SessionInfo *info) {
        g_clear_pointer(&info->sources, g_array_unref);
        g_clear_pointer(&info->name, g_free);
        g_clear_pointer(&info->scope, g_free);
        g_clear_pointer(&info->state, g_free);
        g_clear_pointer(&info->stop_reason, g_free);
}

static int read_sources(SessionInfo *info, sd_bus_message *reply) {
        const char *source, *producer, *state;
        uint32_t uid, pid;
        int r;

        r = sd_bus_message_enter_container(reply, 'a', "(ssuus)");
        if (r < 0)
                return r;
        g_array_set_size(info->sources, 0);
        while ((r = sd_bus_message_read(reply, "(ssuus)", &source, &producer, &uid, &pid, &state)) >
               0) {
                SessionSource row = {
                        g_strdup(source), g_strdup(producer), g_strdup(state), uid, pid
                };

                g_array_append_val(info->sources, row);
        }
        return r < 0 ? r : sd_bus_message_exit_container(reply);
}

static int read_string(char **field, sd_bus_message *reply) {
        const char *text;
        int r;

        r = sd_bus_message_read(reply, "s", &text);
        if (r < 0)
                return r;
        g_free(*field);
        *field = g_strdup(text);
        return 0;
}

static int read_row(SessionInfo *info, const PropertyRow *row, sd_bus_message *reply) {
        void *field = (char *)info + row->offset;
        int flag, r;

        if (row->type == 's')
                return read_string(field, reply);
        if (row->type != 'b')
                return sd_bus_message_read_basic(reply, row->type, field);
        r = sd_bus_message_read_basic(reply, 'b', &flag); /* an int, says sd-bus */
        if (r < 0)
                return r;
        *(bool *)field = flag;
        return 0;
}

static const PropertyRow *row_find(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (streq(rows[i].name, name))
                        return &rows[i];
        return NULL;
}

static int read_value(SessionInfo *info, const char *name, sd_bus_message *reply) {
        const PropertyRow *row = row_find(name);
        char type[2] = { row ? row->type : 0, 0 };
        int r;

        if (!row && !streq(name, "Sources"))
                return sd_bus_message_skip(reply, "v");
        r = sd_bus_message_enter_container(reply, 'v', row ? type : "a(ssuus)");
        if (r < 0)
                return r;
        r = row ? read_row(info, row, reply) : read_sources(info, reply);
        return r < 0 ? r : sd_bus_message_exit_container(reply);
}

int session_info_read(SessionInfo *info, sd_bus_message *reply) {
        const char *name;
        int r;

        r = sd_bus_message_enter_container(reply, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
                r = sd_bus_message_read(reply, "s", &name);
                if (r >= 0)
                        r = read_value(info, name, reply);
                if (r >= 0)
                        r = sd_bus_message_exit_container(reply);
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : sd_bus_message_exit_container(reply);
}

ExitStatus session_info_get(SessionInfo *info, const BusClient *client, const char *path) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        ExitStatus status;
        int r;

        status = bus_client_call(client,
                                 &reply,
                                 path,
                                 "org.freedesktop.DBus.Properties",
                                 "GetAll",
                                 "s",
                                 TRACING_SESSION_INTERFACE);
        if (status)
                return status;
        r = session_info_read(info, reply);
        return r < 0 ? bus_client_say_errno(r) : STATUS_OK;
}
