/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The session keeps the notes, not the instance: they say what the trace lacks, even if their producer is gone. Each is
 * charged to its producer's user. The service itself adds a few.
 */

#include <stdio.h>

#include "core/model/service.h"
#include "core/model/session-notes.h"
#include "core/model/session.h"
#include "shared/names.h"
#include "shared/utf8.h"

static SourceNote *note_free(SourceNote *note) {
        if (!note)
                return NULL;
        list_unlink(&note->link);
        charge_deinit(&note->charge);
        free(note->source);
        free(note->producer);
        free(note->text);
        free(note);
        return NULL;
}
DEFINE_CLEANUP(SourceNote *, note_free)

static void session_take_note(Session *session, uint64_t ns, uid_t user, const NoteInfo *info) {
        _cleanup_(note_freep) SourceNote *note = NULL;
        uint64_t n_bytes = sizeof(*note) + strnlen(info->text, INSTANCE_NOTE_BYTES_MAX) +
                           strlen(info->source) + strlen(info->producer);

        if (session->n_notes >= SESSION_NOTES_MAX || !info->text[0])
                return;
        note = calloc(1, sizeof(*note));
        if (!note)
                return;
        list_init(&note->link);
        note->ns = ns;
        note->identity = info->identity;
        note->user = user;
        note->away = info->away;
        note->source = strdup(info->source);
        note->producer = strdup(info->producer);
        note->text = utf8_copy_line(info->text, INSTANCE_NOTE_BYTES_MAX);
        if (!note->source || !note->producer || !note->text ||
            quota_charge(&session->service->quota,
                         &note->charge,
                         user,
                         QUOTA_DESCRIPTOR_BYTES,
                         n_bytes) != 0)
                return;
        list_append(&session->notes, &note->link);
        session->n_notes++;
        TAKE(note);
}

void session_note_away(Session *session, const ServiceAway *away) {
        const ServiceInfo *service = &session->service->info;
        char text[200];
        const NoteInfo info = {
                .source = TRACING_SERVICE_PRODUCER,
                .producer = TRACING_SERVICE_PRODUCER,
                .text = text,
                .identity = { .uid = service->uid, .pid = service->pid },
                .away = *away,
        };

        if (away->n_lost == 0)
                snprintf(text,
                         sizeof(text),
                         N_("the service was away from %.3f s to %.3f s after boot: what happened "
                            "in between is not recorded"),
                         (double)away->from / 1e9,
                         (double)away->until / 1e9);
        else
                snprintf(text,
                         sizeof(text),
                         N_("the service was away from %.3f s to %.3f s after boot: what happened "
                            "in between is not recorded, and %llu packets from before are lost"),
                         (double)away->from / 1e9,
                         (double)away->until / 1e9,
                         (unsigned long long)away->n_lost);
        session_take_note(session, away->until, service->uid, &info);
}

void session_add_note(SourceInstance *instance, const char *text, uint64_t now) {
        const NoteInfo info = {
                .source = instance->source->pb->config->name,
                .producer = instance->producer_name,
                .text = text,
                .identity = instance->identity,
        };

        if (instance->n_notes == INSTANCE_NOTES_MAX)
                return;
        instance->n_notes++;
        session_take_note(instance->session, now, instance->user, &info);
        session_changed(instance->session);
}

static void session_note_period(Session *session, const char *field, uint32_t ms, uint64_t now) {
        const ServiceInfo *service = &session->service->info;
        char text[160];
        const NoteInfo info = {
                .source = field,
                .producer = TRACING_SERVICE_PRODUCER,
                .text = text,
                .identity = { .uid = service->uid, .pid = service->pid },
        };

        if (ms == 0 || ms * NS_PER_MS >= SESSION_PERIOD_MIN_NS)
                return;
        snprintf(text,
                 sizeof(text),
                 N_("%s %u is below the shortest period (SESSION_PERIOD_MIN_NS); %u ms is used"),
                 field,
                 ms,
                 (unsigned)(SESSION_PERIOD_MIN_NS / NS_PER_MS));
        session_take_note(session, now, service->uid, &info);
}

void session_note_periods(Session *session, uint64_t now) {
        const Perfetto__Protos__TraceConfig *config = session->config->pb;

        session_note_period(session, "flush_period_ms", config->flush_period_ms, now);
        if (config->write_into_file)
                session_note_period(
                        session, "file_write_period_ms", config->file_write_period_ms, now);
        if (config->incremental_state_config)
                session_note_period(session,
                                    "clear_period_ms",
                                    config->incremental_state_config->clear_period_ms,
                                    now);
        if (config->builtin_data_sources)
                session_note_period(session,
                                    "snapshot_interval_ms",
                                    config->builtin_data_sources->snapshot_interval_ms,
                                    now);
}

static void note_info(const SourceNote *note, NoteInfo *ret) {
        *ret = (NoteInfo){
                .source = note->source,
                .producer = note->producer,
                .text = note->text,
                .identity = note->identity,
                .away = note->away,
        };
}

bool session_next_note(const Session *session, const List **at, NoteInfo *ret) {
        *at = *at ? (*at)->next : session->notes.next;
        if (*at == &session->notes)
                return false;
        note_info(list_entry(*at, SourceNote, link), ret);
        return true;
}

size_t session_n_notes(const Session *session) {
        return session->n_notes;
}

void session_restore_note(Session *session, uint64_t ns, uid_t user, const NoteInfo *info) {
        session_take_note(session, ns, user, info);
}

void session_copy_notes(Session *session, const Session *source) {
        const SourceNote *note;

        list_for_each (note, &source->notes, link) {
                NoteInfo info;

                note_info(note, &info);
                session_take_note(session, note->ns, note->user, &info);
        }
}

void session_free_notes(Session *session) {
        SourceNote *note;

        list_for_each (note, &session->notes, link)
                note_free(note);
}
