/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Concurrent sessions: what a trace records about other sessions at the same time
 *
 * The reader of a trace wants to know whether somebody else was recording, too: that costs time, and shares producers.
 * The trace of a session that asks for it (enable_concurrent_session_events) says what each other session did, as
 * perfetto.protos.ConcurrentSessionEvent, and when those began that were there before. It covers only sessions that the
 * owner may see: names and users of other recordings are private.
 */

#include "core/model/peer.h"
#include "shared/bytes.h"

/* The session is listed from now on. If it starts out as stopped, it is a clone. */
void concurrent_added(Session *session);
void concurrent_changed(Session *session);

/* The session is about to be freed, in whatever state. */
void concurrent_removed(Session *session);

/* Copies the events of the original to its clone. Returns 0 or -ENOMEM. */
int concurrent_copy(Session *clone, const Session *session);

/* A step of the read-out. */
int concurrent_put(Session *session, Bytes *out);
