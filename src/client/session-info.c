/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Session info: the properties of a session object, read at once */

#include <glib/gi18n.h>
#include <stddef.h>
#include <string.h>

#include "client/bus-properties.h"
#include "client/reason.h"
#include "client/say.h"
#include "client/session-info.h"
#include "shared/names.h"

static void session_source_clear(gpointer item) {
        SessionSource *source = item;

        g_free(source->source);
        g_free(source->producer);
        g_free(source->state);
}

static void session_note_clear(gpointer item) {
        SessionNote *note = item;

        g_free(note->source);
        g_free(note->producer);
        g_free(note->text);
}

void session_info_init(SessionInfo *info) {
        *info = (SessionInfo){
                .sources = g_array_new(FALSE, TRUE, sizeof(SessionSource)),
                .notes = g_array_new(FALSE, TRUE, sizeof(SessionNote)),
        };
        g_array_set_clear_func(info->sources, session_source_clear);
        g_array_set_clear_func(info->notes, session_note_clear);
}

void session_info_deinit(SessionInfo *info) {
        g_clear_pointer(&info->sources, g_array_unref);
        g_clear_pointer(&info->notes, g_array_unref);
        g_clear_pointer(&info->name, g_free);
        g_clear_pointer(&info->scope, g_free);
        g_clear_pointer(&info->state, g_free);
        g_clear_pointer(&info->stop_reason, g_free);
}

/* Both properties are a(ssuus). */
static int read_rows(sd_bus_message *message,
                     GArray *rows,
                     void (*add)(GArray *rows,
                                 const char *source,
                                 const char *producer,
                                 uint32_t uid,
                                 uint32_t pid,
                                 const char *text)) {
        const char *source, *producer, *text;
        uint32_t uid, pid;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "(ssuus)");
        if (r < 0)
                return r;
        g_array_set_size(rows, 0);
        while ((r = sd_bus_message_read(
                        message, "(ssuus)", &source, &producer, &uid, &pid, &text)) > 0)
                add(rows, source, producer, uid, pid, text);
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

static void add_source(GArray *rows,
                       const char *source,
                       const char *producer,
                       uint32_t uid,
                       uint32_t pid,
                       const char *state) {
        SessionSource row = { g_strdup(source), g_strdup(producer), g_strdup(state), uid, pid };

        g_array_append_val(rows, row);
}

static void add_note(GArray *rows,
                     const char *source,
                     const char *producer,
                     uint32_t uid,
                     uint32_t pid,
                     const char *text) {
        SessionNote row = { g_strdup(source), g_strdup(producer), g_strdup(text), uid, pid };

        g_array_append_val(rows, row);
}

static int read_sources(sd_bus_message *message, void *member) {
        return read_rows(message, *(GArray **)member, add_source);
}

static int read_notes(sd_bus_message *message, void *member) {
        return read_rows(message, *(GArray **)member, add_note);
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
        { "Notes", "a(ssuus)", MEMBER(notes), read_notes },
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

void session_info_say_notes(const SessionInfo *info, guint first) {
        for (guint i = first; i < info->notes->len; i++) {
                const SessionNote *note = &g_array_index(info->notes, SessionNote, i);
                g_autofree char *reason = reason_translate(note->text);
                g_autofree char *text = say_clean(reason, strlen(reason));

                say_error(_("note: %s: %s"), note->source, text);
        }
}
