/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Owned clone: a clone that a peer has asked for, until it is there
 *
 * Its output is opened first, as nothing is to happen to the original for a clone that cannot be written. The core
 * answers later, from inside its own work; the transport adopts the clone when the core has returned, and publishes it.
 * Embedded in the transport's request.
 */

#include "core/session-clone.h"
#include "owner/owned-session.h"

typedef struct OwnedClone OwnedClone;

struct OwnedClone {
        Session *source; /* NULL: nothing is asked */
        OwnedSession *
                session; /* what the clone will be, with its output already; NULL once it is adopted */
        /* Called from within the core, at the moment of the clone: only to mark, and to copy. */
        void (*answered)(OwnedClone *clone);

        bool is_answered;
        int outcome; /* SESSION_E_… or a negative errno: there is no clone */
        Session *cloned;
};

/* As session_clone(); `session` is allocated, and the clone's from now on. */
int owned_clone_ask(OwnedClone *clone,
                    Session *source,
                    OwnedSession *session,
                    const CloneOptions *options,
                    void (*answered)(OwnedClone *clone),
                    SessionError *error);

/* The core has answered without an error: the session is the caller's, to be published. */
OwnedSession *owned_clone_adopt(OwnedClone *clone);

/* Takes the question back, and frees what was not adopted. Zeros are allowed. */
void owned_clone_deinit(OwnedClone *clone);
