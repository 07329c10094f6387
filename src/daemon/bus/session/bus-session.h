/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Making and freeing the objects of sessions, and the calls that wait for one. */

#include "bus/link/request.h"
#include "bus/object/bus-session.h"
#include "owner/owned-clone.h"

typedef enum WaitFor {
        WAIT_SESSION,   /* StartSession(): replies with the path */
        WAIT_STARTED,   /* Start() */
        WAIT_STOPPED,   /* Stop() */
        WAIT_FREED,     /* Free() of a session whose output is still being written */
        WAIT_FLUSHED,   /* Flush() */
        WAIT_READ_INTO, /* ReadInto() */
        WAIT_CLONED,    /* Clone() */
} WaitFor;

/* A call that waits for the session. */
typedef struct SessionWaiter {
        Request request;
        BusSession *session;
        WaitFor what;
        bool is_flushed;
        int outcome;           /* of the flush */
        sd_bus_message *reply; /* names producers that did not answer; NULL: out of memory */
        List link;             /* session->waiters */
        OwnedClone clone;      /* of Clone() */
} SessionWaiter;

/* The two steps of making one: allocated without a session of the core, it is no object yet; published with one, it
 * is. `owner` may be NULL. */
int bus_session_allocate(BusSession **ret, Bus *bus);
int bus_session_publish(BusSession *session, Client *owner);

BusSession *bus_session_free(BusSession *session);
DEFINE_CLEANUP(BusSession *, bus_session_free)

/* Its Client is being freed. */
void bus_session_owner_gone(BusSession *session);

/* A negative errno has *error set. */
int session_wait(SessionWaiter **ret,
                 BusSession *session,
                 Client *client,
                 sd_bus_message *message,
                 WaitFor what,
                 sd_bus_error *error);
SessionWaiter *session_waiter_free(SessionWaiter *waiter);
