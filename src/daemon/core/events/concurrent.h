/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Concurrent sessions: what a trace says of the other sessions that ran beside it
 *
 * The reader of a trace wants to know whether somebody else was recording, too: that costs time, and shares producers.
 * A session that asks for it (enable_concurrent_session_events) is told what each other session did, as
 * perfetto.protos.ConcurrentSessionEvent; of those that were there before it, since when. Only sessions that
 * its owner may see: names and users of other recordings are nobody's business.
 */

#include "core/model/peer.h"
#include "shared/bytes.h"

/* It is listed from now on. One that is born stopped is a clone. */
void concurrent_added(Session *session);
void concurrent_changed(Session *session);

/* It is about to be freed, in whatever state it is. */
void concurrent_removed(Session *session);

/* What a clone's trace says is what the original's would. 0 or -ENOMEM. */
int concurrent_copy(Session *clone, const Session *session);

/* A step of the read-out. */
int concurrent_put(Session *session, Bytes *out);
