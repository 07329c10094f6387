/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Owned clone: the core owns the clone while making it, then the OwnedClone does, and once it is adopted the
 * OwnedSession */

#include "owner/owned-clone.h"

static void on_cloned(void *userdata, int outcome, Session *cloned) {
        OwnedClone *clone = userdata;

        clone->is_answered = true;
        clone->outcome = outcome;
        clone->cloned = cloned;
        clone->answered(clone);
}

int owned_clone_ask(OwnedClone *clone,
                    Session *source,
                    OwnedSession *session,
                    const CloneOptions *options,
                    void (*answered)(OwnedClone *clone),
                    SessionError *error) {
        int r;

        *clone = (OwnedClone){ .source = source, .session = session, .answered = answered };
        r = session_clone(
                source, options, on_cloned, clone, error, owned_sessions_now(session->sessions));
        if (r)
                clone->source = NULL;
        return r;
}

OwnedSession *owned_clone_adopt(OwnedClone *clone) {
        OwnedSession *session = TAKE(clone->session);

        owned_session_adopt(session, TAKE(clone->cloned));
        return session;
}

void owned_clone_deinit(OwnedClone *clone) {
        OwnedSession *session = TAKE(clone->session);

        if (clone->source && !clone->is_answered)
                session_clone_cancel(clone->source, clone);
        clone->source = NULL;
        clone->cloned = session_free(clone->cloned);
        if (session)
                session->sessions->ops->free(session);
}
