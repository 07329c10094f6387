/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stddef.h>
#include <string.h>

#include "client/bus-properties.h"
#include "client/session-info.h"
#include "shared/names.h"

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

static int read_sources(sd_bus_message *message, void *member) {
        GArray *sources = *(GArray **)member;
        const char *source, *producer, *state;
        uint32_t uid, pid;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "(ssuus)");
        if (r < 0)
                return r;
        g_array_set_size(sources, 0);
        while ((r = sd_bus_message_read(
                        message, "(ssuus)", &source, &producer, &uid, &pid, &state)) > 0) {
                SessionSource row = {
                        g_strdup(source), g_strdup(producer), g_strdup(state), uid, pid
                };

                g_array_append_val(sources, row);
        }
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

#define MEMBER(name) offsetof(SessionInfo, name)

static const PropertyRow rows[] = {
        { "Id", "t", MEMBER(id), property_read_uint64 },
        { "ClonedFrom", "t", MEMBER(cloned_from), property_read_uint64 },
        { "Name", "s", MEMBER(name), property_read_string },
        { "Scope", "s", MEMBER(scope), property_read_string },
        { "State", "s", MEMBER(state), property_read_string },
        { "StopReason", "s", MEMBER(stop_reason), property_read_string },
        { "OwnerUID", "u", MEMBER(owner_uid), property_read_uint32 },
        { "DurationMSec", "u", MEMBER(duration_ms), property_read_uint32 },
        { "Detached", "b", MEMBER(is_detached), property_read_bool },
        { "StartTime", "t", MEMBER(start_ns), property_read_uint64 },
        { "EndTime", "t", MEMBER(end_ns), property_read_uint64 },
        { "BytesWritten", "t", MEMBER(n_bytes_written), property_read_uint64 },
        { "BytesOutput", "t", MEMBER(n_bytes_output), property_read_uint64 },
        { "ChunksLost", "t", MEMBER(n_chunks_lost), property_read_uint64 },
        { "PacketsLost", "t", MEMBER(n_packets_lost), property_read_uint64 },
        { "Sources", "a(ssuus)", MEMBER(sources), read_sources },
};

const char *session_path_number(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

int session_info_read(SessionInfo *info, sd_bus_message *reply) {
        return properties_read(reply, rows, ARRAY_SIZE(rows), info);
}

ExitStatus session_info_get(SessionInfo *info, const BusClient *client, const char *path) {
        return properties_get(
                client, path, TRACING_SESSION_INTERFACE, rows, ARRAY_SIZE(rows), info);
}
