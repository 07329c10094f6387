/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What producers say of their instances, kept for people and for the trace
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
/* Of each period in the config that is not as short as it says. */
void session_note_periods(Session *session, uint64_t now);
/* The service was not there in between. */
void session_note_away(Session *session, const ServiceAway *away);
/* One that was made already, of the process before. */
void session_restore_note(Session *session, uint64_t ns, uid_t user, const NoteInfo *info);
void session_copy_notes(Session *session, const Session *source);
void session_free_notes(Session *session);
