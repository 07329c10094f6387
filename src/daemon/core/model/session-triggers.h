/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The triggers of a session: hits that go into the trace, and planned snapshots
 *
 * life/trigger-snapshot.h takes the snapshots, core/trigger.h decides what a trigger hits.
 */

#include "config/config.h"
#include "core/model/trigger-info.h"
#include "packet/pattern.h"
#include "shared/list.h"
#include "shared/macro.h"

#define TRIGGER_HITS_MAX 128 /* that wait to be read; later ones are left out of the trace */

typedef Perfetto__Protos__TraceConfig__TriggerConfig TriggerConfig;
typedef Perfetto__Protos__TraceConfig__TriggerConfig__Trigger TriggerPb;

/* A hit, as it appears in the trace. */
typedef struct TriggerHit {
        List link;
        uint64_t ns;
        uid_t uid;
        uint32_t delay_ms;
        char *trigger;
        char *producer;
} TriggerHit;

typedef struct SessionTriggers {
        TriggerMode mode;
        Pattern **filters; /* for each trigger in the config; NULL: anybody may send it */
        size_t n_triggers;
        bool is_hit;      /* one has come */
        uint64_t ends_ns; /* START_TRACING: how long to record */
        List hits;        /* TriggerHit: not in the trace yet */
        size_t n_hits;
        TriggerHit *cloned_by; /* in a clone: the hit that made it; NULL once it is in the trace */
        List snapshots;        /* TriggerSnapshot */
        size_t n_snapshots;
        uint64_t
                last_activation; /* the call of service_activate_triggers() that it was last hit by */
} SessionTriggers;

typedef struct TriggerSnapshot {
        List link; /* session->triggers.snapshots */
        Session *session;
        TriggerHit *hit;
        uint64_t due_at;
        bool is_taken; /* the clone is being made */
} TriggerSnapshot;

/* Sets the triggers up from the checked config. Returns 0 or a negative errno. */
int session_triggers_init(Session *session, const Perfetto__Protos__TraceConfig *config);
void session_triggers_deinit(Session *session);

/* Whether it waits for its start, and whether it records. */
void session_triggers_set_up(Session *session, uint64_t now);
void session_triggers_record(Session *session, uint64_t now);

/* Whether its data may not be read yet or, once it has stopped, ever. */
bool session_hides_data(const Session *session);

/* Passes the hits to a clone. */
void session_move_triggers(Session *clone, Session *source);

TriggerHit *trigger_hit_new(uint64_t ns, const TriggerPb *trigger, const TriggerSender *sender);
TriggerHit *trigger_hit_free(TriggerHit *hit);
DEFINE_CLEANUP(TriggerHit *, trigger_hit_free)

/* Plans a snapshot of the session, `delay_ms` from now. Takes the hit over. */
void session_plan_snapshot(Session *session, TriggerHit *hit, uint64_t now);
void session_plan_snapshot_at(Session *session, TriggerHit *hit, uint64_t due_at);
void session_drop_snapshots(Session *session);

/* The first snapshot that is due by then and not being taken yet, or NULL. */
TriggerSnapshot *session_due_snapshot(const Session *session, uint64_t due_by);
TriggerSnapshot *snapshot_free(TriggerSnapshot *snapshot);
void session_arm_snapshots(Session *session);

const TriggerConfig *session_trigger_config(const Session *session);
uint64_t session_trigger_timeout_ns(const Session *session);
void session_keep_hit(Session *session, const TriggerPb *pb, const TriggerSender *sender);
void session_drop_hits(Session *session);
