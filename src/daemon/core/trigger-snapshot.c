/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Snapshots wait in the session until they are due, and then for the clone. One that is planned for later than the
 * session's end is taken at its end: nothing more could come.
 */

#include <stdio.h>

#include "core/session-clone.h"
#include "core/session-private.h"

#define NS_PER_MS UINT64_C(1000000)

typedef struct TriggerSnapshot {
        List link; /* session->triggers.snapshots */
        Session *session;
        TriggerHit *hit;
        uint64_t due_at;
        bool is_taken; /* the clone is being made */
} TriggerSnapshot;

static TriggerSnapshot *snapshot_free(TriggerSnapshot *snapshot) {
        list_unlink(&snapshot->link);
        snapshot->session->triggers.n_snapshots--;
        trigger_hit_free(snapshot->hit);
        free(snapshot);
        return NULL;
}

void session_drop_snapshots(Session *session) {
        TriggerSnapshot *snapshot;

        list_for_each (snapshot, &session->triggers.snapshots, link)
                snapshot_free(snapshot);
}

static void snapshot_failed(TriggerSnapshot *snapshot, int outcome, const char *why) {
        const Session *session = snapshot->session;

        if (!session->is_quiet)
                session->ops->snapshot_failed(session->peer, snapshot->hit->trigger, outcome, why);
        snapshot_free(snapshot);
}

static void on_snapshot(void *userdata, int outcome, Session *clone) {
        TriggerSnapshot *snapshot = userdata;
        const Session *session = snapshot->session;
        char trigger[TRIGGER_NAME_MAX + 1]; /* outlives the clone, which may be freed in there */

        if (outcome != 0) {
                snapshot_failed(snapshot, outcome, "");
                return;
        }
        snprintf(trigger, sizeof(trigger), "%s", snapshot->hit->trigger);
        clone->triggers.cloned_by = TAKE(snapshot->hit);
        snapshot_free(snapshot);
        session->ops->snapshot_taken(session->peer, clone, trigger);
}

/* The owner's, like the session; nobody need be there to take it. */
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
        r = session_clone(snapshot->session, &options, on_snapshot, snapshot, &error, now);
        if (r)
                snapshot_failed(snapshot, r, error.message);
}

static void session_arm_snapshots(Session *session) {
        const TriggerSnapshot *snapshot;
        uint64_t due_at = UINT64_MAX;

        list_for_each (snapshot, &session->triggers.snapshots, link)
                if (!snapshot->is_taken)
                        due_at = MIN(due_at, snapshot->due_at);
        session->timers[SESSION_TIMER_TRIGGER_SNAPSHOT] = due_at;
}

/* Hits beyond the limit are still in the trace, and in the snapshots that are about to be taken. */
void session_plan_snapshot(Session *session, TriggerHit *hit, uint64_t now) {
        TriggerSnapshot *snapshot;

        if (!hit)
                return;
        snapshot = session->triggers.n_snapshots < SESSION_TRIGGERED_CLONES_MAX
                           ? calloc(1, sizeof(*snapshot))
                           : NULL;
        if (!snapshot) {
                trigger_hit_free(hit);
                return;
        }
        *snapshot = (TriggerSnapshot){
                .session = session,
                .hit = hit,
                .due_at = now + hit->delay_ms * NS_PER_MS,
        };
        list_append(&session->triggers.snapshots, &snapshot->link);
        session->triggers.n_snapshots++;
        session_arm_snapshots(session);
}

static TriggerSnapshot *session_due_snapshot(const Session *session, uint64_t due_by) {
        TriggerSnapshot *snapshot;

        list_for_each (snapshot, &session->triggers.snapshots, link)
                if (!snapshot->is_taken && snapshot->due_at <= due_by)
                        return snapshot;
        return NULL;
}

/* To take one may complete others, so that none of them is known to be there after it. */
static void session_take_snapshots(Session *session, uint64_t due_by, uint64_t now) {
        TriggerSnapshot *snapshot;

        while ((snapshot = session_due_snapshot(session, due_by)))
                snapshot_take(snapshot, now);
        session_arm_snapshots(session);
}

void session_on_trigger_snapshot(Session *session, uint64_t now) {
        session_take_snapshots(session, now, now);
}

void session_triggers_stopped(Session *session, uint64_t now) {
        session_take_snapshots(session, UINT64_MAX, now);
}
