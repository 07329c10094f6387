/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Which producers are not waited for
 *
 * Starts, flushes and stops wait for answers until a deadline of seconds. A process that is stopped or frozen cannot
 * answer, however long one waits: so when no answer has come for SESSION_GRACE_NS, those that are still awaited are
 * looked at, and again for as long as the wait lasts. A suspended one is reported and left out; one that merely is
 * slow has its time.
 */

#include "core/requests/session-wait.h"
#include "core/ingest/producer-take.h"
#include "core/model/flush.h"
#include "core/model/service.h"
#include "core/model/session.h"
#include "core/requests/source-instance.h"

/* How many producers may be looked at in each SESSION_GRACE_NS. More take proportionally longer, so that waiting
 * for thousands of slow ones costs no more than a few percent of a CPU. */
#define LOOKS_PER_GRACE 64

static bool session_waits(const Session *session) {
        return (session->state == SESSION_STARTING &&
                session->n_in_state[INSTANCE_STARTING] > session->n_asleep) ||
               session->n_in_state[INSTANCE_STOPPING] > 0 || !list_is_empty(&session->flushes);
}

void session_expect_answers(Session *session, uint64_t now) {
        if (session->timers[SESSION_TIMER_LOOK] == UINT64_MAX)
                session_give_grace(session, now);
}

void session_give_grace(Session *session, uint64_t now) {
        session->timers[SESSION_TIMER_LOOK] =
                session_waits(session) ? now + SESSION_GRACE_NS : UINT64_MAX;
}

static bool session_awaits_answer_of(const Session *session, const SourceInstance *instance) {
        const Flush *flush;

        if (!instance->producer)
                return false;
        if (instance->state == INSTANCE_STARTING || instance->state == INSTANCE_STOPPING)
                return true;
        list_for_each (flush, &session->flushes, link)
                if (flush_awaits(flush, instance->producer))
                        return true;
        return false;
}

/* What it has committed is taken now. When it goes on it finds the request to stop, and until it has read that, what
 * it writes goes to no buffer. */
static void instance_give_up_on_stop(SourceInstance *instance) {
        if (instance->state != INSTANCE_STOPPING)
                return;
        producer_drain(instance->producer);
        producer_scan(instance->producer, instance->session);
        instance->missed_end = true;
        instance_stopped(instance, "its program is suspended, and did not stop");
}

static void session_give_up_on_producer(Session *session, Producer *producer) {
        SourceInstance *instance;
        Flush *flush;

        list_for_each (flush, &session->flushes, link)
                flush_give_up_on(flush, producer);
        list_for_each (instance, &producer->instances, producer_link) {
                if (instance->session != session)
                        continue;
                instance_set_suspended(instance, true);
                instance_give_up_on_stop(instance);
        }
}

void session_give_up_on_suspended(Session *session) {
        SourceInstance *instance;

        list_for_each (instance, &session->instances, session_link)
                if (instance->state == INSTANCE_STOPPING && instance->is_suspended &&
                    producer_is_suspended(instance->producer))
                        instance_give_up_on_stop(instance);
}

/* Each producer once, however many instances it has. */
void session_look_for_suspended(Session *session, uint64_t now) {
        uint64_t round = ++session->service->last_round;
        SourceInstance *instance;
        size_t n = 0;

        list_for_each (instance, &session->instances, session_link) {
                Producer *producer = instance->producer;

                if (!session_awaits_answer_of(session, instance) || producer->last_round == round)
                        continue;
                producer->last_round = round;
                n++;
                if (producer_is_suspended(producer))
                        session_give_up_on_producer(session, producer);
        }
        if (session_waits(session))
                session->timers[SESSION_TIMER_LOOK] =
                        now + SESSION_GRACE_NS * (1 + n / LOOKS_PER_GRACE);
}
