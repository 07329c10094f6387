/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What the core tells of a session, and those that come of it: signals are sent from within the core, which sd-bus only
 * queues; sessions are freed when the core has returned. A snapshot that a trigger asked for belongs to nobody's
 * connection: it lives for SESSION_LINGER_NS, and less long when many come and nobody reads them.
 */

#include <errno.h>
#include <inttypes.h>

#include "bus/bus-emit.h"
#include "bus/bus-session.h"
#include "core/session-clone.h"
#include "core/trigger.h"
#include "shared/log-user.h"

static const SessionOps session_ops;

static void op_changed(void *peer) {
        bus_session_mark(peer);
}

static void op_output_due(void *peer) {
        BusSession *session = peer;

        session_stream_due(&session->output);
}

static void op_triggered(void *peer, const char *trigger, const char *producer, uid_t uid) {
        BusSession *session = peer;

        log_user(uid,
                 LOG_INFO,
                 "session %" PRIu64 ": trigger \"%s\" from \"%s\", uid %u",
                 session_id(session->session),
                 trigger,
                 producer,
                 (unsigned)uid);
        bus_emit_session_triggered(session, trigger, producer, uid);
}

static void op_snapshot_failed(void *peer, const char *trigger, int outcome, const char *why) {
        const BusSession *session = peer;

        log_user(session_options(session->session)->owner.uid,
                 LOG_NOTICE,
                 "session %" PRIu64 ": no snapshot for trigger \"%s\": %s",
                 session_id(session->session),
                 trigger,
                 why[0]        ? why
                 : outcome < 0 ? strerror(-outcome)
                               : "the session has ended, or there are too many");
}

int bus_clone_publish(BusSession *clone,
                      Session *session,
                      const BusSession *source,
                      Client *owner) {
        int r;

        clone->session = session;
        clone->is_public = source->is_public;
        session_adopt(session, &session_ops, clone);
        r = bus_session_publish(clone, owner);
        if (r < 0) {
                bus_session_free(clone);
                return r;
        }
        bus_session_mark(clone);
        return 0;
}

static bool snapshot_is_unread(const BusSession *snapshot, uint64_t source) {
        SessionTotals totals;

        if (!snapshot->is_snapshot || snapshot->free_when_finished ||
            session_cloned_from(snapshot->session) != source || snapshot->output.output)
                return false;
        session_totals(snapshot->session, &totals);
        return totals.bytes_output == 0;
}

/* One that somebody reads is not counted, and its reader not disturbed. */
static void drop_old_snapshots(const BusSession *source) {
        const uint64_t id = session_id(source->session);
        BusSession *snapshot;
        size_t n = 0;

        list_for_each (snapshot, &source->bus->sessions, link)
                n += snapshot_is_unread(snapshot, id);
        list_for_each (snapshot, &source->bus->sessions, link) {
                if (n <= SESSION_TRIGGERED_CLONES_MAX)
                        return;
                if (!snapshot_is_unread(snapshot, id))
                        continue;
                log_user(session_options(source->session)->owner.uid,
                         LOG_NOTICE,
                         "session %" PRIu64 ": snapshot %" PRIu64
                         " is dropped unread: there are %d later ones",
                         id,
                         session_id(snapshot->session),
                         SESSION_TRIGGERED_CLONES_MAX);
                snapshot->free_when_finished = true;
                bus_session_mark(snapshot);
                n--;
        }
}

static void op_snapshot_taken(void *peer, Session *clone, const char *trigger) {
        BusSession *source = peer, *snapshot = NULL;
        int r;

        r = bus_session_allocate(&snapshot, source->bus);
        if (r < 0)
                session_free(clone);
        else
                r = bus_clone_publish(snapshot, clone, source, NULL);
        if (r < 0) {
                op_snapshot_failed(peer, trigger, r, "");
                return;
        }
        snapshot->is_snapshot = true;
        bus_emit_session_snapshot(source, snapshot->path, trigger);
        drop_old_snapshots(source);
}

static const SessionOps session_ops = {
        .changed = op_changed,
        .output_due = op_output_due,
        .triggered = op_triggered,
        .snapshot_taken = op_snapshot_taken,
        .snapshot_failed = op_snapshot_failed,
};

int bus_session_new_foreign(BusSession **ret,
                            Bus *bus,
                            Session *session,
                            const SessionStream *stream) {
        BusSession *object;
        int r;

        r = bus_session_allocate(&object, bus);
        if (r < 0)
                return r;
        object->foreign = stream;
        object->session = session;
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
        r = session_new(&session->session,
                        bus->service,
                        *config,
                        options,
                        &session_ops,
                        session,
                        &why,
                        bus_now(bus));
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
        return session->session && !session->foreign && !session->owner &&
               bus_session_is_finished(session) && list_is_empty(&session->waiters) &&
               session_options(session->session)->owner.uid == uid;
}

bool bus_drop_left_session(Bus *bus, uid_t uid) {
        BusSession *session, *first = NULL;

        list_for_each (session, &bus->sessions, link)
                if (is_left(session, uid) && (!first || session_stopped_at(session->session) <
                                                                session_stopped_at(first->session)))
                        first = session;
        if (!first)
                return false;
        log_user(uid,
                 LOG_NOTICE,
                 "session %" PRIu64 " is dropped unread: its user starts another one",
                 session_id(first->session));
        bus_session_free(first);
        return true;
}
