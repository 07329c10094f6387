/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Notes of producers about their instances, kept for people and for the trace
 *
 * Without memory, beyond a limit or its user's quota a note is left out.
 */

#include "core/model/session-info.h"

typedef struct SourceInstance SourceInstance;

typedef struct SourceNote {
        List link; /* session->notes */
        Charge charge;
        uint64_t ns;
        Identity identity;
        uid_t user; /* who is charged */
        char *source, *producer, *text;
        ServiceAway away;
} SourceNote;

void session_add_note(SourceInstance *instance, const char *text, uint64_t now);
/* Notes each period that is longer than the config asked for. */
void session_note_periods(Session *session, uint64_t now);
/* Notes that the service was away in between. */
void session_note_away(Session *session, const ServiceAway *away);
/* Restores a note that an earlier process made. */
void session_restore_note(Session *session, uint64_t ns, uid_t user, const NoteInfo *info);
void session_copy_notes(Session *session, const Session *source);
void session_free_notes(Session *session);
