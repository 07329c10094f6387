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

#include <stdint.h>

#include "shared/bytes.h"

typedef struct Session Session;

#define CONCURRENT_EVENTS_MAX 4096 /* that wait for one read; more are not kept */

/* As perfetto.protos.ConcurrentSessionEvent.State. */
typedef enum SessionPhase {
        PHASE_NONE, /* nobody has been told of it yet */
        PHASE_DISABLED,
        PHASE_CONFIGURED,
        PHASE_STARTED,
        PHASE_STOPPING,
        PHASE_CLONED,
} SessionPhase;

/* Embedded in a session; zero-initialised is empty. */
typedef struct Concurrent {
        SessionPhase phase;
        uint64_t phase_ns; /* since when */
        Bytes packets;     /* of others, framed, that nobody has read yet */
        unsigned n_packets;
} Concurrent;

/* It is listed from now on. One that is born stopped is a clone. */
void concurrent_added(Session *session);
void concurrent_changed(Session *session);

/* It is about to be freed, in whatever state it is. */
void concurrent_removed(Session *session);

/* What a clone's trace says is what the original's would. 0 or -ENOMEM. */
int concurrent_copy(Session *clone, const Session *session);

/* A step of the read-out. */
int concurrent_put(Session *session, Bytes *out);
