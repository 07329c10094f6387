/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Session names: each user has a name space
 *
 * A name is unique among the running sessions of one user; a session of another user may have it as well, and
 * neither user notices. Users who may see the sessions of others find these by name as well, after their own.
 */

#include "core/model/peer.h"

/* The user's running session with that name, else the youngest stopped one, or NULL. */
Session *session_find_own(Service *service, uid_t uid, const char *name);

enum {
        _SESSION_NAMES_E_SUCCESS,
        SESSION_NAMES_E_AMBIGUOUS, /* the viewer has none, and several other users do */
};

/* For a viewer who sees all sessions: the viewer's own, else the one of another user; running sessions of others
 * come before stopped ones. *ret is NULL if no session has the name. Returns 0 or SESSION_NAMES_E_AMBIGUOUS. */
int session_find_any(Session **ret, Service *service, uid_t viewer, const char *name);
