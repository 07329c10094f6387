/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Owned ops: what the core reports about owned sessions. Sessions are freed when the core has returned, so they are
 * only marked here.
 *
 * A snapshot that a trigger asked for belongs to nobody's connection: it lives for SESSION_LINGER_NS, or less if
 * there are many and nobody reads them.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/session-clone.h"
#include "owner/outcome-words.h"
#include "owner/owned-session.h"
#include "shared/log-user.h"

static void op_changed(void *peer) {
        owned_session_mark(peer);
}

static void op_output_due(void *peer) {
        OwnedSession *session = peer;

        session_stream_due(&session->stream);
}

static void op_triggered(void *peer, const char *trigger, const char *producer, uid_t uid) {
        OwnedSession *session = peer;

        log_user(uid,
                 LOG_INFO,
                 "session %" PRIu64 ": trigger \"%s\" from \"%s\", uid %u",
                 session_id(session->session),
                 trigger,
                 producer,
                 (unsigned)uid);
        session->sessions->ops->triggered(session, trigger, producer, uid);
}

static void op_snapshot_failed(void *peer, const char *trigger, int outcome, const char *why) {
        const OwnedSession *session = peer;

        log_user(session_options(session->session)->owner.uid,
                 LOG_NOTICE,
                 "session %" PRIu64 ": no snapshot for trigger \"%s\": %s",
                 session_id(session->session),
                 trigger,
                 why[0] ? why : clone_outcome_words(outcome));
}

static bool is_unread_snapshot(const OwnedSession *session, uint64_t source) {
        SessionTotals totals;

        if (!session->is_snapshot || session->free_when_finished ||
            session_cloned_from(session->session) != source || session->stream.output)
                return false;
        session_totals(session->session, &totals);
        return totals.bytes_output == 0;
}

static void drop_snapshot(OwnedSession *snapshot, const OwnedSession *source) {
        log_user(session_options(source->session)->owner.uid,
                 LOG_NOTICE,
                 "session %" PRIu64 ": snapshot %" PRIu64
                 " is dropped unread: there are %d later ones",
                 session_id(source->session),
                 session_id(snapshot->session),
                 SESSION_TRIGGERED_CLONES_MAX);
        snapshot->free_when_finished = true;
        owned_session_mark(snapshot);
}

/* A snapshot that somebody reads is not counted, so that its reader is not disturbed. */
static void drop_old_snapshots(const OwnedSession *source) {
        const uint64_t id = session_id(source->session);
        OwnedSession *snapshot;
        size_t n = 0;

        list_for_each (snapshot, &source->sessions->all, link)
                n += is_unread_snapshot(snapshot, id);
        list_for_each (snapshot, &source->sessions->all, link) {
                if (n <= SESSION_TRIGGERED_CLONES_MAX)
                        return;
                if (!is_unread_snapshot(snapshot, id))
                        continue;
                drop_snapshot(snapshot, source);
                n--;
        }
}

static void op_snapshot_taken(void *peer, Session *clone, const char *trigger) {
        OwnedSession *source = peer, *snapshot;
        const OwnedOps *ops = source->sessions->ops;
        int r;

        r = ops->snapshot_new(&snapshot, source);
        if (r < 0) {
                session_free(clone);
                op_snapshot_failed(peer, trigger, r, "");
                return;
        }
        owned_session_adopt(snapshot, clone);
        snapshot->is_snapshot = true;
        r = ops->snapshot_taken(source, snapshot, trigger);
        if (r < 0) {
                ops->free(snapshot);
                op_snapshot_failed(peer, trigger, r, "");
                return;
        }
        drop_old_snapshots(source);
}

static const SessionOps owned_session_ops = {
        .changed = op_changed,
        .output_due = op_output_due,
        .triggered = op_triggered,
        .snapshot_taken = op_snapshot_taken,
        .snapshot_failed = op_snapshot_failed,
};

void owned_session_adopt(OwnedSession *session, Session *clone) {
        session->session = clone;
        session_adopt(clone, &owned_session_ops, session);
}

int owned_session_new(OwnedSession *session,
                      Service *service,
                      Config *config,
                      const SessionOptions *options,
                      SessionError *error) {
        return session_new(&session->session,
                           service,
                           config,
                           options,
                           &owned_session_ops,
                           session,
                           error,
                           owned_sessions_now(session->sessions));
}

int owned_session_restore(OwnedSession *session,
                          Service *service,
                          Config *config,
                          const SessionOptions *options,
                          SessionFormer *former,
                          SessionError *error) {
        return session_restore(&session->session,
                               service,
                               config,
                               options,
                               &owned_session_ops,
                               session,
                               former,
                               error,
                               owned_sessions_now(session->sessions));
}
