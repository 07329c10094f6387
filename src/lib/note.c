/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Notes wait at their instance until the private thread sends them. It does so before any reply, so that the service
 * has the notes of a setup before it hears that the instance has started.
 */

#include <errno.h>

#include "lib/source-private.h"
#include "shared/utf8.h"

typedef struct Note {
        List link;
        char *text;
} Note;

static void note_free(Note *note) {
        free(note->text);
        free(note);
}

/* Invalid UTF-8 cannot be sent. */
static Note *note_new(const char *text) {
        Note *note = calloc(1, sizeof(*note));

        if (!note)
                return NULL;
        list_init(&note->link);
        note->text = utf8_copy_line(text, INSTANCE_NOTE_BYTES_MAX);
        if (note->text)
                return note;
        note_free(note);
        return NULL;
}

DT_EXPORT int dt_instance_add_note(dt_instance *instance, const char *text) {
        Note *note;

        if (library_inert())
                return -ECANCELED;
        note = note_new(text);
        if (!note)
                return -ENOMEM;
        library_lock();
        if (instance->n_notes == INSTANCE_NOTES_MAX) {
                library_unlock();
                note_free(note);
                return -ENOBUFS;
        }
        instance->n_notes++;
        list_append(&instance->notes, &note->link);
        library.has_notes = true;
        library_unlock();
        if (!library_on_thread()) /* otherwise the loop sends them before it waits */
                library_wake();
        return 0;
}

static Note *take_note(dt_instance *instance) {
        Note *note;

        library_lock();
        note = list_first(&instance->notes, Note, link);
        if (note)
                list_unlink(&note->link);
        library_unlock();
        return note;
}

void instance_drop_notes(dt_instance *instance) {
        Note *note;

        while ((note = take_note(instance)))
                note_free(note);
}

/* A service that does not know the call sends no reply. */
void instance_send_notes(dt_instance *instance) {
        Note *note;

        while ((note = take_note(instance))) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;

                if (connection_new_call(instance->connection, &call, "AddNotes") >= 0 &&
                    sd_bus_message_append(call, "tas", instance->id, 1, note->text) >= 0 &&
                    sd_bus_message_set_expect_reply(call, false) >= 0)
                        sd_bus_send(instance->connection->bus, call, NULL);
                note_free(note);
        }
}

static void keep_notes(void) {
        library_lock();
        library.has_notes = true;
        library_unlock();
}

void notes_send(void) {
        bool has_notes;

        library_lock();
        has_notes = library.has_notes;
        library.has_notes = false;
        library_unlock();
        for (unsigned i = 0; has_notes && i < library.n_connections; i++) {
                dt_instance *instance;

                if (library.connections[i]->away_until_ns > 0) { /* no service would receive them */
                        keep_notes();
                        continue;
                }
                list_for_each (instance, &library.connections[i]->instances, connection_link)
                        instance_send_notes(instance);
        }
}
