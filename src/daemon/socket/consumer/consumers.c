/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Where the sessions of the port are found. */

#include "consumer-private.h"

uint64_t consumers_now(const Consumers *consumers) {
        return owned_sessions_now(&consumers->sessions);
}

ConsumerSession *consumers_find(Consumers *consumers, const Session *wanted) {
        OwnedSession *session = owned_sessions_find(&consumers->sessions, wanted);

        return session ? container_of(session, ConsumerSession, owned) : NULL;
}
