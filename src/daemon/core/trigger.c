/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which sessions a trigger is for, and what it does to them. */

#include <errno.h>

#include "core/life/session-progress.h"
#include "core/life/settle.h"
#include "core/model/policy.h"
#include "core/model/service.h"
#include "core/model/session.h"
#include "core/trigger.h"

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
                session_begin(session, now);
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

/* A trigger that nobody listens to costs nothing: programs may send theirs all the time, in case somebody records. The
 * sender does not learn what it did in sessions of other users, nor that it was one too many there. */
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
        service_settle(service);
        return r;
}
