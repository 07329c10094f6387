/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Events are encoded when they happen: what waits for a read is bytes, and needs nothing of the session that it is
 * about, which may be gone by then.
 */

#include <stdlib.h>

#include "core/events/concurrent.h"
#include "core/events/service-packets.h"
#include "core/model/policy.h"
#include "core/model/service.h"
#include "core/model/session.h"

static const SessionPhase state_phases[_SESSION_STATE_N] = {
        [SESSION_CONFIGURED] = PHASE_CONFIGURED, [SESSION_STARTING] = PHASE_STARTED,
        [SESSION_STARTED] = PHASE_STARTED,       [SESSION_FLUSHING] = PHASE_NONE,
        [SESSION_STOPPING] = PHASE_STOPPING,     [SESSION_STOPPED] = PHASE_DISABLED,
};

static bool session_is_curious(const Session *session) {
        const Perfetto__Protos__TraceConfig__BuiltinDataSource *config =
                session->config->pb->builtin_data_sources;

        return config && config->enable_concurrent_session_events;
}

/* Nobody reads what is added to a session that has ended, least of all to a clone. */
static bool session_hears_of(const Session *session, const Session *other) {
        return session != other && session->state != SESSION_STOPPED &&
               session_is_curious(session) &&
               policy_owns_session(&session->service->info, &session->options.owner, other);
}

static size_t session_n_live(const Session *session) {
        return session->n_instances - session->n_in_state[INSTANCE_STOPPED];
}

/* Out of memory loses the event. */
static void concurrent_tell(Session *session, const Session *other) {
        Concurrent *concurrent = &session->concurrent;
        const ConcurrentEvent event = {
                .ns = other->concurrent.phase_ns,
                .phase = other->concurrent.phase,
                .session_id = other->id,
                .session_name = session_name(other),
                .uid = other->options.owner.uid,
                .n_sources = (uint32_t)session_n_live(other),
        };

        if (concurrent->n_packets >= CONCURRENT_EVENTS_MAX)
                return;
        if (packet_put_concurrent_event(&concurrent->packets, &session->service->info, &event) == 0)
                concurrent->n_packets++;
}

static void concurrent_enter(Session *session, SessionPhase phase) {
        Session *other;

        if (phase == PHASE_NONE || phase == session->concurrent.phase)
                return;
        session->concurrent.phase = phase;
        session->concurrent.phase_ns = session->service->now;
        list_for_each (other, &session->service->sessions, link)
                if (session_hears_of(other, session))
                        concurrent_tell(other, session);
}

static int compare_since(const void *a, const void *b) {
        uint64_t since_a = (*(const Session *const *)a)->concurrent.phase_ns;
        uint64_t since_b = (*(const Session *const *)b)->concurrent.phase_ns;

        return since_a < since_b ? -1 : since_a > since_b;
}

/* Sessions that were there before come in the order of their latest event. */
static void concurrent_look_around(Session *session) {
        const Session *others[SERVICE_SESSIONS_MAX];
        const Session *other;
        size_t n = 0;

        list_for_each (other, &session->service->sessions, link)
                if (n < ARRAY_SIZE(others) && session_hears_of(session, other))
                        others[n++] = other;
        if (n > 0)
                qsort(others, n, sizeof(*others), compare_since);
        for (size_t i = 0; i < n; i++)
                concurrent_tell(session, others[i]);
}

void concurrent_added(Session *session) {
        concurrent_look_around(session);
        concurrent_enter(session,
                         session->state == SESSION_STOPPED ? PHASE_CLONED : PHASE_CONFIGURED);
}

void concurrent_changed(Session *session) {
        SessionPhase phase = state_phases[session->state];

        /* A session that waits for nobody has no such phase. */
        if (phase == PHASE_STOPPING && session_n_live(session) == 0)
                return;
        concurrent_enter(session, phase);
}

void concurrent_removed(Session *session) {
        if (session->concurrent.phase != PHASE_NONE && session->concurrent.phase != PHASE_CLONED)
                concurrent_enter(session, PHASE_DISABLED);
        bytes_deinit(&session->concurrent.packets);
}

int concurrent_copy(Session *clone, const Session *session) {
        const Concurrent *from = &session->concurrent;

        clone->concurrent.n_packets = from->n_packets;
        return bytes_append(&clone->concurrent.packets, from->packets.data, from->packets.n);
}

int concurrent_put(Session *session, Bytes *out) {
        Concurrent *concurrent = &session->concurrent;
        int r;

        if (concurrent->n_packets == 0)
                return 0;
        r = bytes_append(out, concurrent->packets.data, concurrent->packets.n);
        bytes_deinit(&concurrent->packets);
        concurrent->n_packets = 0;
        return r;
}
