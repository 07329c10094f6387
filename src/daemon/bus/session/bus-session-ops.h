/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Objects for sessions that another transport has started, and for clones. */

#include "bus/object/bus-session.h"

/* Makes only the object, for a session of another transport that has just begun; the object must be freed before the
 * session. Only the connection of the other transport reads or ends the session, and decides whether the session
 * outlives it. */
int bus_session_new_foreign(BusSession **ret,
                            Bus *bus,
                            Session *session,
                            const SessionStream *stream);

/* Makes an object of a clone that was adopted. */
int bus_clone_publish(BusSession *clone, const BusSession *source, Client *owner);
