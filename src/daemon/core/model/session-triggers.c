/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The triggers of a session: those in its config, their hits, and when they end the session. */

#include <errno.h>

#include "core/model/service.h"
#include "core/model/session.h"

#define MODE(_name) PERFETTO__PROTOS__TRACE_CONFIG__TRIGGER_CONFIG__TRIGGER_MODE__##_name

void session_keep_hit(Session *session, const TriggerPb *pb, const TriggerSender *sender) {
        SessionTriggers *triggers = &session->triggers;
        TriggerHit *hit;

        if (triggers->n_hits >= TRIGGER_HITS_MAX)
                return;
        hit = trigger_hit_new(session->service->now, pb, sender);
        if (!hit)
                return;
        list_append(&triggers->hits, &hit->link);
        triggers->n_hits++;
}

void session_drop_hits(Session *session) {
        TriggerHit *hit;

        list_for_each (hit, &session->triggers.hits, link)
                trigger_hit_free(hit);
        session->triggers.n_hits = 0;
}

void session_move_triggers(Session *clone, Session *source) {
        TriggerHit *hit;

        list_for_each (hit, &source->triggers.hits, link) {
                list_unlink(&hit->link);
                list_append(&clone->triggers.hits, &hit->link);
        }
        clone->triggers.n_hits = source->triggers.n_hits;
        source->triggers.n_hits = 0;
}

const TriggerConfig *session_trigger_config(const Session *session) {
        return session->config->pb->trigger_config;
}

static TriggerMode config_trigger_mode(const TriggerConfig *config) {
        if (!config)
                return TRIGGER_MODE_NONE;
        switch (config->trigger_mode) {
        case MODE(START_TRACING):
                return TRIGGER_MODE_START;
        case MODE(STOP_TRACING):
                return config->use_clone_snapshot_if_available ? TRIGGER_MODE_CLONE
                                                               : TRIGGER_MODE_STOP;
        case MODE(CLONE_SNAPSHOT):
                return TRIGGER_MODE_CLONE;
        default:
                return TRIGGER_MODE_NONE;
        }
}

static int trigger_filter_new(Pattern **ret, const TriggerPb *trigger) {
        char why[PATTERN_WHY_BYTES];

        if (!trigger->producer_name_regex || !trigger->producer_name_regex[0])
                return 0;
        return pattern_new(ret, trigger->producer_name_regex, why);
}

int session_triggers_init(Session *session, const Perfetto__Protos__TraceConfig *config) {
        SessionTriggers *triggers = &session->triggers;
        const TriggerConfig *pb = config->trigger_config;

        triggers->mode = config_trigger_mode(pb);
        if (triggers->mode == TRIGGER_MODE_NONE)
                return 0;
        triggers->filters = calloc(MAX(pb->n_triggers, (size_t)1), sizeof(*triggers->filters));
        if (!triggers->filters)
                return -ENOMEM;
        for (size_t i = 0; i < pb->n_triggers; i++) {
                int r = trigger_filter_new(&triggers->filters[i], pb->triggers[i]);

                if (r < 0)
                        return r;
                triggers->n_triggers++;
        }
        return 0;
}

void session_triggers_deinit(Session *session) {
        SessionTriggers *triggers = &session->triggers;

        session_drop_hits(session);
        session_drop_snapshots(session);
        triggers->cloned_by = trigger_hit_free(triggers->cloned_by);
        for (size_t i = 0; i < triggers->n_triggers; i++)
                pattern_free(triggers->filters[i]);
        free(triggers->filters);
}

TriggerMode session_trigger_mode(const Session *session) {
        return session->triggers.mode;
}

bool session_is_deferred(const Session *session) {
        return session->config->pb->deferred_start || session->triggers.mode == TRIGGER_MODE_START;
}

/* A clone has none of the original's triggers, as it is only read. */
bool session_hides_data(const Session *session) {
        const SessionTriggers *triggers = &session->triggers;

        return triggers->mode == TRIGGER_MODE_CLONE ||
               (triggers->n_triggers > 0 && !triggers->is_hit);
}

uint64_t session_trigger_timeout_ns(const Session *session) {
        return session_trigger_config(session)->trigger_timeout_ms * NS_PER_MS;
}

void session_triggers_set_up(Session *session, uint64_t now) {
        if (session->triggers.mode == TRIGGER_MODE_START)
                session->timers[SESSION_TIMER_TRIGGER_TIMEOUT] =
                        now + session_trigger_timeout_ns(session);
}

/* In the other modes the session waits for a trigger while it records. */
void session_triggers_record(Session *session, uint64_t now) {
        const SessionTriggers *triggers = &session->triggers;

        if (triggers->mode == TRIGGER_MODE_STOP || triggers->mode == TRIGGER_MODE_CLONE)
                session->timers[SESSION_TIMER_TRIGGER_TIMEOUT] =
                        now + session_trigger_timeout_ns(session);
        if (triggers->mode == TRIGGER_MODE_START && triggers->is_hit)
                session->timers[SESSION_TIMER_TRIGGER_STOP] = now + triggers->ends_ns;
}
