/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a session keeps of triggers: hits that the trace will have, and snapshots that are planned
 *
 * life/trigger-snapshot.h takes the snapshots, core/trigger.h decides what a trigger hits.
 */

#include "config/config.h"
#include "core/model/trigger-info.h"
#include "packet/pattern.h"
#include "shared/list.h"
#include "shared/macro.h"

#define TRIGGER_HITS_MAX 128 /* that wait to be read; later ones are not in the trace */

typedef Perfetto__Protos__TraceConfig__TriggerConfig TriggerConfig;
typedef Perfetto__Protos__TraceConfig__TriggerConfig__Trigger TriggerPb;

/* A hit, as it gets into the trace. */
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
        Pattern **filters; /* of each trigger in the config; NULL: from anybody */
        size_t n_triggers;
        bool is_hit;      /* one has come */
        uint64_t ends_ns; /* START_TRACING: how long to record */
        List hits;        /* TriggerHit: not in the trace yet */
        size_t n_hits;
        TriggerHit *cloned_by; /* of a clone: the hit that made it; NULL when it is said, too */
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

/* From the config, which is checked. 0 or a negative errno. */
int session_triggers_init(Session *session, const Perfetto__Protos__TraceConfig *config);
void session_triggers_deinit(Session *session);

/* It waits for its start; it records. */
void session_triggers_set_up(Session *session, uint64_t now);
void session_triggers_record(Session *session, uint64_t now);

/* Nothing may be read, now or (when it has stopped) ever. */
bool session_hides_data(const Session *session);

/* A clone gets the hits. */
void session_move_triggers(Session *clone, Session *source);

TriggerHit *trigger_hit_new(uint64_t ns, const TriggerPb *trigger, const TriggerSender *sender);
TriggerHit *trigger_hit_free(TriggerHit *hit);
DEFINE_CLEANUP(TriggerHit *, trigger_hit_free)

/* The session's clone is due `delay_ms` from now. Takes the hit over. */
void session_plan_snapshot(Session *session, TriggerHit *hit, uint64_t now);
void session_plan_snapshot_at(Session *session, TriggerHit *hit, uint64_t due_at);
void session_drop_snapshots(Session *session);

/* The first that is due by then and not yet being taken; NULL: none. */
TriggerSnapshot *session_due_snapshot(const Session *session, uint64_t due_by);
TriggerSnapshot *snapshot_free(TriggerSnapshot *snapshot);
void session_arm_snapshots(Session *session);

const TriggerConfig *session_trigger_config(const Session *session);
uint64_t session_trigger_timeout_ns(const Session *session);
void session_keep_hit(Session *session, const TriggerPb *pb, const TriggerSender *sender);
void session_drop_hits(Session *session);
