/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Sessions of the process before this one: a connection ends with its process, so what is left of who had a session is
 * its key.
 */

#include <errno.h>
#include <inttypes.h>

#include "consumer-private.h"
#include "shared/log-user.h"

static ConsumerSession *of(OwnedSession *owned) {
        return container_of(owned, ConsumerSession, owned);
}

const char *consumers_key(const OwnedSession *owned) {
        return container_of(owned, const ConsumerSession, owned)->key;
}

int consumers_allocate(Consumers *consumers, OwnedSession **ret) {
        ConsumerSession *session;
        int r;

        r = consumer_session_allocate(&session, consumers);
        if (r == 0)
                *ret = &session->owned;
        return r;
}

int consumers_publish(OwnedSession *owned, const char *key, bool was_attached) {
        ConsumerSession *session = of(owned);

        session->key = strdup(key);
        if (!session->key)
                return -ENOMEM;
        if (was_attached)
                session->awaited_until = consumers_now(session->consumers) + CONSUMER_AWAIT_NS;
        consumer_session_publish(session);
        return 0;
}

uint64_t consumers_await_deadline(const Consumers *consumers) {
        const ConsumerSession *session;
        uint64_t deadline = UINT64_MAX;

        list_for_each (session, &consumers->sessions.all, owned.link)
                if (session->awaited_until > 0)
                        deadline = MIN(deadline, session->awaited_until);
        return deadline;
}

void consumers_await_tick(Consumers *consumers, uint64_t now) {
        ConsumerSession *session;

        list_for_each (session, &consumers->sessions.all, owned.link) {
                if (session->awaited_until == 0 || session->awaited_until > now)
                        continue;
                session->awaited_until = 0;
                log_user(session_options(session->owned.session)->owner.uid,
                         LOG_NOTICE,
                         "session %" PRIu64 ": nobody has attached to it again",
                         session_id(session->owned.session));
                consumer_session_drop(session);
        }
}
