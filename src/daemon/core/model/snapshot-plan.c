/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Snapshots that triggers have asked for, until they are taken. */

#include "core/model/session.h"

TriggerSnapshot *snapshot_free(TriggerSnapshot *snapshot) {
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

void session_arm_snapshots(Session *session) {
        const TriggerSnapshot *snapshot;
        uint64_t due_at = UINT64_MAX;

        list_for_each (snapshot, &session->triggers.snapshots, link)
                if (!snapshot->is_taken)
                        due_at = MIN(due_at, snapshot->due_at);
        session->timers[SESSION_TIMER_TRIGGER_SNAPSHOT] = due_at;
}

/* Hits beyond the limit are still in the trace, and in the snapshots that are about to be taken. */
void session_plan_snapshot_at(Session *session, TriggerHit *hit, uint64_t due_at) {
        TriggerSnapshot *snapshot;

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
                .due_at = due_at,
        };
        list_append(&session->triggers.snapshots, &snapshot->link);
        session->triggers.n_snapshots++;
        session_arm_snapshots(session);
}

void session_plan_snapshot(Session *session, TriggerHit *hit, uint64_t now) {
        if (hit)
                session_plan_snapshot_at(session, hit, now + hit->delay_ms * NS_PER_MS);
}

TriggerSnapshot *session_due_snapshot(const Session *session, uint64_t due_by) {
        TriggerSnapshot *snapshot;

        list_for_each (snapshot, &session->triggers.snapshots, link)
                if (!snapshot->is_taken && snapshot->due_at <= due_by)
                        return snapshot;
        return NULL;
}
