/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Silent sources: data sources that did not answer a flush or a stop in time */

#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>

#include "client/say.h"
#include "client/silent-sources.h"

static void silent_source_free(gpointer item) {
        SilentSource *source = item;

        g_free(source->source);
        g_free(source->producer);
        g_free(source);
}

/* Other programs chose these names. */
static SilentSource *silent_source_new(const char *source, const char *producer) {
        SilentSource *row = g_new0(SilentSource, 1);

        row->source = say_clean(source, strlen(source));
        row->producer = say_clean(producer, strlen(producer));
        return row;
}

int silent_sources_read(GPtrArray **ret, sd_bus_message *reply) {
        g_autoptr(GPtrArray) silent = g_ptr_array_new_with_free_func(silent_source_free);
        const char *source, *producer;
        uint32_t uid, pid;
        int r;

        if (sd_bus_message_is_empty(reply)) { /* of a service that does not tell yet */
                *ret = g_steal_pointer(&silent);
                return 0;
        }
        r = sd_bus_message_enter_container(reply, 'a', "(ssuu)");
        while (r >= 0 &&
               (r = sd_bus_message_read(reply, "(ssuu)", &source, &producer, &uid, &pid)) > 0) {
                SilentSource *row = silent_source_new(source, producer);

                row->uid = uid;
                row->pid = pid;
                g_ptr_array_add(silent, row);
        }
        if (r >= 0)
                r = sd_bus_message_exit_container(reply);
        if (r < 0)
                return r;
        *ret = g_steal_pointer(&silent);
        return 0;
}

bool silent_sources_have(const GPtrArray *silent, const char *source, uint32_t pid) {
        for (guint i = 0; silent && i < silent->len; i++) {
                const SilentSource *row = g_ptr_array_index(silent, i);

                if (row->pid == pid && streq(row->source, source))
                        return true;
        }
        return false;
}

void silent_sources_print(const GPtrArray *silent) {
        for (guint i = 0; silent && i < silent->len; i++) {
                const SilentSource *source = g_ptr_array_index(silent, i);

                say_error(_("%s (pid %" PRIu32
                            ") did not answer in time: its last %s data is missing"),
                          source->producer,
                          source->pid,
                          source->source);
        }
}

void silent_sources_write_json(const GPtrArray *silent, JsonWriter *writer) {
        json_begin_array(writer, "silent");
        for (guint i = 0; silent && i < silent->len; i++) {
                const SilentSource *source = g_ptr_array_index(silent, i);

                json_begin_object(writer, NULL);
                json_string(writer, "source", source->source);
                json_string(writer, "producer", source->producer);
                json_uint(writer, "uid", source->uid);
                json_uint(writer, "pid", source->pid);
                json_end_object(writer);
        }
        json_end_array(writer);
}
