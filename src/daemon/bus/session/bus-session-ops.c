/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Sessions that become objects without a StartSession(): clones, and those of the other transport
 */

#include <errno.h>

#include "bus/session/bus-session-ops.h"
#include "bus/session/bus-session.h"

int bus_clone_publish(BusSession *clone, const BusSession *source, Client *owner) {
        int r;

        clone->is_public = source->is_public;
        r = bus_session_publish(clone, owner);
        if (r >= 0)
                bus_session_mark(clone);
        return r;
}

int bus_session_new_foreign(BusSession **ret,
                            Bus *bus,
                            Session *session,
                            const SessionStream *stream) {
        BusSession *object;
        int r;

        r = bus_session_allocate(&object, bus);
        if (r < 0)
                return r;
        object->owned.foreign = stream;
        object->owned.session = session;
        r = bus_session_publish(object, NULL);
        if (r < 0) {
                bus_session_free(object);
                return r;
        }
        *ret = object;
        return 0;
}
