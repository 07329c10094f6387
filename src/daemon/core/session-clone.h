/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Clones: what a session holds now, as a session of its own
 *
 * A clone has stopped from the beginning, and is read as any other session. It begins with the service's packets, as
 * if the original had never been read; those of producers are the ones which the original still holds. The
 * original goes on and does not notice: neither what it gives out to its reader nor what it records changes, but
 * for buffers whose config says otherwise: with transfer_on_clone a buffer is moved into the clone and the original
 * gets an empty one, and with clear_before_clone only what producers give with the clone's flush is kept.
 *
 * Of an original that streams to a file the clone has what was not written yet.
 *
 * A clone is charged to who asked for it: a session, and all bytes of its buffers. Their memory is shared with the
 * original until that overwrites it, but then the clone holds it alone.
 */

#include "core/session.h"

typedef struct CloneOptions {
        Identity owner;
        bool has_output;
        bool detached;
        bool skips_filter;  /* the caller has asked policy_may_skip_filter() */
        const char *name;   /* for people; NULL or "": none. Copied, and cut at SESSION_NAME_MAX */
        uint64_t before_ns; /* leave out what is older, where it can be told; 0: keep all */
} CloneOptions;

/* One reply: 0 with the clone, which is the callee's from then on and wants session_adopt(); or why there is none:
 * SESSION_E_STATE when the original was freed, SESSION_E_LIMIT, or an errno. May come before session_clone() returns,
 * from inside any function of the core. */
typedef void (*SessionCloneDone)(void *userdata, int outcome, Session *clone);

/* Asks the producers for what they still hold and then makes the clone, also when not all of them have answered in
 * time. 0; or without a call of done(), SESSION_E_LIMIT with *error set, or an errno. Of a session in any state. */
int session_clone(Session *session,
                  const CloneOptions *options,
                  SessionCloneDone done,
                  void *userdata,
                  SessionError *error,
                  uint64_t now);

/* Nobody wants it any more: done() is not called. */
void session_clone_cancel(Session *session, void *userdata);

/* Says whose the clone is, for SessionOps. */
void session_adopt(Session *clone, const SessionOps *ops, void *peer);

/* The original's id; 0 when it is none. */
uint64_t session_cloned_from(const Session *session);
