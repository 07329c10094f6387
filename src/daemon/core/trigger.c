/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "core/policy.h"
#include "core/service-packets.h"
#include "core/session-private.h"

#define NS_PER_MS UINT64_C(1000000)

typedef Perfetto__Protos__TraceConfig__TriggerConfig TriggerConfig;
typedef Perfetto__Protos__TraceConfig__TriggerConfig__Trigger TriggerPb;

#define MODE(_name) PERFETTO__PROTOS__TRACE_CONFIG__TRIGGER_CONFIG__TRIGGER_MODE__##_name

/*
 * Hits
 */

TriggerHit *trigger_hit_free(TriggerHit *hit) {
        if (!hit)
                return NULL;
        list_unlink(&hit->link);
        free(hit->trigger);
        free(hit->producer);
        free(hit);
        return NULL;
}

TriggerHit *trigger_hit_new(uint64_t ns, const TriggerPb *trigger, const TriggerSender *sender) {
        _cleanup_(trigger_hit_freep) TriggerHit *hit = calloc(1, sizeof(*hit));

        if (!hit)
                return NULL;
        *hit = (TriggerHit){
                .ns = ns,
                .uid = sender->identity.uid,
                .delay_ms = trigger->stop_delay_ms,
                .trigger = strdup(trigger->name),
                .producer = strdup(sender->producer ?: sender->name ?: ""),
        };
        list_init(&hit->link);
        return hit->trigger && hit->producer ? TAKE(hit) : NULL;
}

static void session_keep_hit(Session *session, const TriggerPb *pb, const TriggerSender *sender) {
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

static void session_drop_hits(Session *session) {
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

static int put_hit(const Session *session, Bytes *out, uint32_t field, const TriggerHit *hit) {
        const TriggerEvent event = {
                .ns = hit->ns,
                .trigger = hit->trigger,
                .producer = hit->producer,
                .uid = hit->uid,
                .delay_ms = hit->delay_ms,
        };

        return packet_put_trigger(out, &session->service->info, field, &event);
}

int session_put_triggers(Session *session, Bytes *out) {
        const Perfetto__Protos__TraceConfig__BuiltinDataSource *builtin =
                session->config->pb->builtin_data_sources;
        SessionTriggers *triggers = &session->triggers;
        const TriggerHit *hit;
        int r = 0;

        if (builtin && builtin->disable_trace_config)
                return 0;
        if (triggers->cloned_by)
                r = put_hit(session, out, PACKET_CLONE_SNAPSHOT_TRIGGER, triggers->cloned_by);
        triggers->cloned_by = trigger_hit_free(triggers->cloned_by);
        list_for_each (hit, &triggers->hits, link)
                if (r == 0)
                        r = put_hit(session, out, PACKET_TRIGGER, hit);
        session_drop_hits(session);
        return r;
}

/*
 * What a config listens to
 */

static const TriggerConfig *session_trigger_config(const Session *session) {
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

/* A clone has none of the original's triggers: it is there to be read. */
bool session_hides_data(const Session *session) {
        const SessionTriggers *triggers = &session->triggers;

        return triggers->mode == TRIGGER_MODE_CLONE ||
               (triggers->n_triggers > 0 && !triggers->is_hit);
}

/*
 * When it ends
 */

static uint64_t session_trigger_timeout_ns(const Session *session) {
        return session_trigger_config(session)->trigger_timeout_ms * NS_PER_MS;
}

void session_triggers_set_up(Session *session, uint64_t now) {
        if (session->triggers.mode == TRIGGER_MODE_START)
                session->timers[SESSION_TIMER_TRIGGER_TIMEOUT] =
                        now + session_trigger_timeout_ns(session);
}

/* The others wait for a trigger while they record. */
void session_triggers_record(Session *session, uint64_t now) {
        const SessionTriggers *triggers = &session->triggers;

        if (triggers->mode == TRIGGER_MODE_STOP || triggers->mode == TRIGGER_MODE_CLONE)
                session->timers[SESSION_TIMER_TRIGGER_TIMEOUT] =
                        now + session_trigger_timeout_ns(session);
        if (triggers->mode == TRIGGER_MODE_START && triggers->is_hit)
                session->timers[SESSION_TIMER_TRIGGER_STOP] = now + triggers->ends_ns;
}

void session_on_trigger_timeout(Session *session, uint64_t now) {
        session_stop(session, "trigger-timeout", now);
}

void session_on_trigger_stop(Session *session, uint64_t now) {
        session_stop(session, "trigger", now);
}

/*
 * What a trigger does. Only the first one has an effect besides getting into the trace, but for clones.
 */

/* Without a delay Perfetto would record for ever; here the timeout ends it. */
static void session_start_by_trigger(Session *session, const TriggerPb *pb, uint64_t now) {
        session->triggers.ends_ns = pb->stop_delay_ms ? pb->stop_delay_ms * NS_PER_MS
                                                      : session_trigger_timeout_ns(session);
        session->timers[SESSION_TIMER_TRIGGER_TIMEOUT] = UINT64_MAX;
        if (session->state == SESSION_STARTED)
                session_triggers_record(session, now);
        else
                session_start(session, now);
}

static void session_stop_by_trigger(Session *session, const TriggerPb *pb, uint64_t now) {
        session->timers[SESSION_TIMER_TRIGGER_STOP] = now + pb->stop_delay_ms * NS_PER_MS;
}

static void
session_hit(Session *session, const TriggerPb *pb, const TriggerSender *sender, uint64_t now) {
        SessionTriggers *triggers = &session->triggers;
        bool is_first = !triggers->is_hit;

        session_snapshot_clocks(session);
        session_keep_hit(session, pb, sender);
        triggers->is_hit = true;
        if (!session->is_quiet)
                session->ops->triggered(session->peer,
                                        pb->name,
                                        sender->producer ?: sender->name ?: "",
                                        sender->identity.uid);
        if (triggers->mode == TRIGGER_MODE_CLONE)
                session_plan_snapshot(session, trigger_hit_new(now, pb, sender), now);
        else if (is_first && triggers->mode == TRIGGER_MODE_START)
                session_start_by_trigger(session, pb, now);
        else if (is_first)
                session_stop_by_trigger(session, pb, now);
}

/*
 * Which sessions it is for
 */

/* Its place in the config; -1: not there. */
static ssize_t session_find_trigger(const Session *session, const char *name) {
        for (size_t i = 0; i < session->triggers.n_triggers; i++)
                if (streq(session_trigger_config(session)->triggers[i]->name, name))
                        return (ssize_t)i;
        return -1;
}

static bool filter_takes_sender(Pattern *filter, const TriggerSender *sender) {
        if (!filter)
                return true;
        return sender->producer &&
               pattern_match(filter, sender->producer, strlen(sender->producer)) == 1;
}

/* Evenly from 0 to, but without, 1. */
static double service_draw(const Service *service) {
        uint64_t bits;

        service->ops->random(service->userdata, &bits, sizeof(bits));
        return (double)(bits >> 11) * 0x1p-53;
}

static bool session_is_of(const Session *session, const TriggerSender *sender) {
        return session->options.owner.uid == sender->identity.uid;
}

/* Other users may stop a recording only if its owner wants that. */
static bool
session_takes_sender(const Session *session, const TriggerPb *pb, const TriggerSender *sender) {
        return session_is_of(session, sender) ||
               (pb->from_other_users &&
                policy_may_record(&session->service->info, &session->options, &sender->identity));
}

/* The trigger of that name if the session listens to this sender; else NULL. */
static const TriggerPb *
session_listens(const Session *session, const char *name, const TriggerSender *sender) {
        ssize_t trigger = session_find_trigger(session, name);
        const TriggerPb *pb;

        if (trigger < 0 || !session_is_open(session) ||
            !filter_takes_sender(session->triggers.filters[trigger], sender))
                return NULL;
        pb = session_trigger_config(session)->triggers[trigger];
        return session_takes_sender(session, pb, sender) ? pb : NULL;
}

/* The order is Perfetto's: who is not meant draws no lot, and who is skipped does not count. */
static bool session_takes(const Session *session, const TriggerPb *pb, uint64_t now) {
        uint64_t max = MIN(pb->max_per_24_h, (uint32_t)TRIGGER_HISTORY_HITS_MAX), n;
        Service *service = session->service;

        if (pb->skip_probability > 0 && service_draw(service) < pb->skip_probability)
                return false;
        n = trigger_history_count(
                &service->trigger_history, session->options.owner.uid, pb->name, now);
        return max == 0 || n < max;
}

/* One call of service_activate_triggers(). */
typedef struct Activation {
        uint64_t id;
        const TriggerSender *sender;
        uint64_t now;
        size_t n_sessions;              /* of the sender's user that have taken something */
        bool is_paid[_TRIGGER_REACH_N]; /* the trigger at hand */
} Activation;

static void session_activate(Session *session, const TriggerPb *pb, Activation *activation) {
        trigger_history_add(&session->service->trigger_history,
                            session->user,
                            session->options.owner.uid,
                            pb->name,
                            activation->now);
        activation->n_sessions += session_is_of(session, activation->sender) &&
                                  session->triggers.last_activation != activation->id;
        session->triggers.last_activation = activation->id;
        session_hit(session, pb, activation->sender, activation->now);
}

/* A trigger is paid for once, however many sessions of the sender's own user, or of others, take it. */
static bool activation_pay(Activation *activation, Service *service, TriggerReach reach) {
        if (!activation->is_paid[reach])
                activation->is_paid[reach] = trigger_history_may_send(
                        &service->trigger_history,
                        reach,
                        service_user_of(service, &activation->sender->identity),
                        activation->now);
        return activation->is_paid[reach];
}

/* What nobody listens to is for free: programs may send triggers all the time, for whoever comes to record. What
 * becomes of it in sessions of others, also that it was one too many, the sender does not learn. */
static int service_activate_trigger(Service *service, const char *name, Activation *activation) {
        Session *session;

        trigger_history_begin(&service->trigger_history);
        memset(activation->is_paid, 0, sizeof(activation->is_paid));
        list_for_each (session, &service->sessions, link) {
                const TriggerPb *pb = session_listens(session, name, activation->sender);
                TriggerReach reach = pb && session_is_of(session, activation->sender)
                                             ? TRIGGER_REACH_OWN
                                             : TRIGGER_REACH_OTHERS;

                if (!pb)
                        continue;
                if (activation_pay(activation, service, reach)) {
                        if (session_takes(session, pb, activation->now))
                                session_activate(session, pb, activation);
                } else if (reach == TRIGGER_REACH_OWN) {
                        return TRIGGER_E_LIMIT;
                }
        }
        return 0;
}

int service_activate_triggers(Service *service,
                              const TriggerSender *sender,
                              const char *const names[],
                              size_t n_names,
                              size_t *ret_n_sessions,
                              uint64_t now) {
        Activation activation = {
                .id = ++service->last_activation,
                .sender = sender,
                .now = service_note_now(service, now),
        };
        int r = 0;

        for (size_t i = 0; i < n_names && r == 0; i++)
                r = service_activate_trigger(service, names[i], &activation);
        *ret_n_sessions = activation.n_sessions;
        return r;
}
