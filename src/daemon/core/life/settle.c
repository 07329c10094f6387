/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A function that changes something which a session may wait for marks the session, and each entry point ends here: so
 * nothing below calls back up to find out what follows from it. It comes to an end, as a session goes forward through
 * six states only, and each flush and each snapshot ends once.
 *
 * Two entry points do without. producer_doorbell() marks nothing, and is called for every few kilobytes. And
 * producer_free() knows no time: what it marks waits for the next tick, which is due at once.
 */

#include "core/life/settle.h"
#include "core/life/session-progress.h"
#include "core/life/trigger-snapshot.h"
#include "core/model/service.h"
#include "core/model/session.h"

/* Snapshots cannot wait for a tick: the transport that stops the session may free it before that. */
void session_settle(Session *session, uint64_t now) {
        list_unlink(&session->marked_link);
        session_progress(session, now);
        while (session->state == SESSION_STOPPED && session_take_snapshot(session, UINT64_MAX, now))
                ;
}

void service_settle(Service *service) {
        Session *session;

        while ((session = list_first(&service->marked, Session, marked_link)))
                session_settle(session, service->now);
}
