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

#include "core/life/session-clone.h"
#include "core/session.h"

/* Asks the producers for what they still hold and then makes the clone, also when not all of them have answered in
 * time. Returns 0; or without a call of done(), SESSION_E_LIMIT with *error set, or an errno. Of a session in any
 * state. */
int session_clone(Session *session,
                  const CloneOptions *options,
                  SessionCloneDone done,
                  void *userdata,
                  SessionError *error,
                  uint64_t now);
