/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Ports observer: shows people what is connected to Perfetto's sockets
 *
 * The D-Bus transport fills it in, so that producers and sessions of these sockets are objects on the bus like others.
 */

#include "core/session.h"
#include "output/session-stream.h"

typedef struct PortsObserver {
        /* The result is passed to the other functions; NULL: it is not shown. */
        void *(*producer_came)(void *userdata, Producer *producer);
        void (*source_came)(void *object, const char *source); /* or has changed */
        void (*source_went)(void *object, const char *source);
        void (*sources_changed)(void *object); /* after some of these */
        void (*producer_goes)(void *object);   /* and is still there */

        /* Sessions of consumers. These may be NULL, all together. A session and its stream stay until the session goes.
         * Some are called from within the core: they may send, and must not call it. */
        void *(*session_came)(void *userdata, Session *session, const SessionStream *stream);
        void (*session_changed)(void *object);
        void (*session_source)(void *object, const InstanceInfo *source); /* has started or ended */
        void (*session_triggered)(void *object,
                                  const char *trigger,
                                  const char *producer,
                                  uid_t uid);
        void (*session_snapshot)(void *object, void *snapshot, const char *trigger);
        void (*session_goes)(void *object); /* and is still there */
} PortsObserver;
