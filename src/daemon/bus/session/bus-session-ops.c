/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Sessions that become objects without a StartSession(): clones, and those of the other transport; and which of a
 * user's sessions makes room for a new one
 */

#include <errno.h>
#include <inttypes.h>

#include "bus/object/bus-session.h"
#include "shared/log-user.h"

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

static bool is_left(const BusSession *session, uid_t uid) {
        return session->owned.session && !session->owned.foreign && !session->owner &&
               owned_session_is_finished(&session->owned) && list_is_empty(&session->waiters) &&
               session_options(session->owned.session)->owner.uid == uid;
}

bool bus_drop_left_session(Bus *bus, uid_t uid) {
        BusSession *session, *first = NULL;

        list_for_each (session, &bus->sessions.all, owned.link)
                if (is_left(session, uid) &&
                    (!first || session_stopped_at(session->owned.session) <
                                       session_stopped_at(first->owned.session)))
                        first = session;
        if (!first)
                return false;
        log_user(uid,
                 LOG_NOTICE,
                 "session %" PRIu64 " is dropped unread: its user starts another one",
                 session_id(first->owned.session));
        bus_session_free(first);
        return true;
}
