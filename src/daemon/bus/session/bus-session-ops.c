/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * How sessions come to be objects: begun here, cloned, or another transport's; and which of them gives way to a new one
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

int bus_session_new(BusSession **ret,
                    Client *owner,
                    Config **config,
                    int *fd,
                    const SessionOptions *options,
                    sd_bus_error *error) {
        _cleanup_(bus_session_freep) BusSession *session = NULL;
        Bus *bus = owner->bus;
        SessionError why = {};
        int r;

        r = bus_session_allocate(&session, bus);
        if (r < 0)
                return r;
        if (*fd >= 0) {
                r = bus_session_open_output(session, owner->user, *config, fd, error);
                if (r < 0)
                        return r;
        }
        r = owned_session_new(&session->owned, bus->service, *config, options, &why);
        if (r)
                return bus_error_set_session(error, "cannot start the session", r, &why);
        *config = NULL;
        r = bus_session_publish(session, owner);
        if (r < 0)
                return r;
        *ret = TAKE(session);
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
