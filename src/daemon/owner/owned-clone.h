/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Owned clone: a clone that a peer has asked for, until it is made
 *
 * Its output is opened first, so that nothing happens to the original if the clone cannot be written. The core
 * answers later, from inside its own work; the transport adopts the clone when the core has returned, and publishes
 * it. Embedded in the transport's request.
 */

#include "core/session-clone.h"
#include "owner/owned-session.h"

typedef struct OwnedClone OwnedClone;

struct OwnedClone {
        Session *source; /* NULL: no clone was asked for */
        OwnedSession *
                session; /* the session that the clone will have, already with its output; NULL once adopted */
        /* Called from within the core, at the moment of the clone: only to mark, and to copy. */
        void (*answered)(OwnedClone *clone);

        bool is_answered;
        int outcome; /* SESSION_E_… or a negative errno if there is no clone */
        Session *cloned;
};

/* The same as session_clone(); `session` is allocated, and belongs to the clone from now on. */
int owned_clone_ask(OwnedClone *clone,
                    Session *source,
                    OwnedSession *session,
                    const CloneOptions *options,
                    void (*answered)(OwnedClone *clone),
                    SessionError *error);

/* To be called when the core has answered without an error: the session now belongs to the caller, who publishes
 * it. */
OwnedSession *owned_clone_adopt(OwnedClone *clone);

/* Cancels the clone, and frees everything that was not adopted. A zeroed one is allowed. */
void owned_clone_deinit(OwnedClone *clone);
