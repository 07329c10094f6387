/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Taking the snapshots that triggers asked for. A snapshot that is planned for after the session's end is taken when
 * the session ends, as no more data can come.
 */

#include <stdio.h>

#include "core/life/session-clone.h"
#include "core/life/trigger-snapshot.h"
#include "core/model/session.h"

static void snapshot_failed(TriggerSnapshot *snapshot, int outcome, const char *why) {
        const Session *session = snapshot->session;

        if (!session->is_quiet)
                session->ops->snapshot_failed(session->peer, snapshot->hit->trigger, outcome, why);
        snapshot_free(snapshot);
}

static void on_snapshot(void *userdata, int outcome, Session *clone) {
        TriggerSnapshot *snapshot = userdata;
        const Session *session = snapshot->session;
        char trigger[TRIGGER_NAME_MAX + 1]; /* outlives the clone, which may be freed in the call */

        if (outcome != 0) {
                snapshot_failed(snapshot, outcome, "");
                return;
        }
        snprintf(trigger, sizeof(trigger), "%s", snapshot->hit->trigger);
        clone->triggers.cloned_by = TAKE(snapshot->hit);
        snapshot_free(snapshot);
        session->ops->snapshot_taken(session->peer, clone, trigger);
}

/* It belongs to the session's owner, who need not be connected. */
static void snapshot_take(TriggerSnapshot *snapshot, uint64_t now) {
        const CloneOptions options = {
                .owner = snapshot->session->options.owner,
                .detached = true,
                .name = snapshot->hit->trigger,
                .before_ns = snapshot->session->options.snapshot_before_ns,
        };
        SessionError error = {};
        int r;

        snapshot->is_taken = true;
        r = session_begin_clone(snapshot->session, &options, on_snapshot, snapshot, &error, now);
        if (r)
                snapshot_failed(snapshot, r, error.message);
}

/* Taking one may complete others, so no pointer to another one stays valid. */
bool session_take_snapshot(Session *session, uint64_t due_by, uint64_t now) {
        TriggerSnapshot *snapshot = session_due_snapshot(session, due_by);

        if (snapshot)
                snapshot_take(snapshot, now);
        session_arm_snapshots(session);
        return snapshot;
}
