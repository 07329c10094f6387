/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The life of a session
 *
 * Nothing here waits: a state is left by session_progress() when what the session waits for has come, or by the handler
 * of a timer. Both are idempotent.
 */

#include <assert.h>
#include <stdio.h>

#include "core/events/concurrent.h"
#include "core/events/self-trace.h"
#include "core/life/session-progress.h"
#include "core/model/session-output.h"
#include "core/model/session.h"
#include "core/requests/flush.h"
#include "core/requests/session-match.h"
#include "core/requests/session-wait.h"
#include "core/requests/source-instance.h"

/* One bit per successor. Every state can be stopped; nothing leads back. */
static const uint8_t session_successors[_SESSION_STATE_N] = {
        [SESSION_CONFIGURED] = 1 << SESSION_STARTING | 1 << SESSION_FLUSHING,
        [SESSION_STARTING] = 1 << SESSION_STARTED | 1 << SESSION_FLUSHING,
        [SESSION_STARTED] = 1 << SESSION_FLUSHING,
        [SESSION_FLUSHING] = 1 << SESSION_STOPPING,
        [SESSION_STOPPING] = 1 << SESSION_STOPPED,
};

/* The only writer of session->state. */
void session_enter(Session *session, SessionState state) {
        assert(session_successors[session->state] & 1 << state);

        session->state = state;
        concurrent_changed(session);
        self_session_changed(session);
        session_changed(session);
}

uint64_t session_clear_period_ns(const Session *session) {
        const Perfetto__Protos__TraceConfig__IncrementalStateConfig *config =
                session->config->pb->incremental_state_config;

        if (!config || !config->clear_period_ms)
                return UINT64_MAX;
        return config_period_ns(config->clear_period_ms, 0);
}

/* Time without the machine's sleep. The core has BOOTTIME only; this clock is read once at the start of such a duration
 * and once at its end, which is then postponed by the time slept. */
uint64_t session_read_monotonic(const Session *session) {
        ClockReading readings[CLOCK_READINGS_MAX];
        const Service *service = session->service;
        size_t n = service->ops->read_clocks(service->userdata, readings);

        for (size_t i = 0; i < n; i++)
                if (readings[i].clock_id == CLOCK_ID_MONOTONIC)
                        return readings[i].ns;
        return service->now;
}

static void session_begin_duration(Session *session, uint64_t now) {
        const Perfetto__Protos__TraceConfig *config = session->config->pb;
        uint64_t duration_ns = config_ns(config->duration_ms, UINT64_MAX);

        session_arm(session, SESSION_TIMER_DURATION, now, duration_ns);
        if (config->prefer_suspend_clock_for_duration && duration_ns != UINT64_MAX)
                session->ends_at_monotonic = session_read_monotonic(session) + duration_ns;
}

/* From now on it records, and its periods run. */
void session_record(Session *session, uint64_t now) {
        session->timers[SESSION_TIMER_START] = UINT64_MAX;
        session->timers[SESSION_TIMER_SETTLE] = UINT64_MAX;
        session_begin_duration(session, now);
        session_arm(session, SESSION_TIMER_FLUSH, now, session_flush_period_ns(session));
        session_arm(session, SESSION_TIMER_CLEAR, now, session_clear_period_ns(session));
        session->started_at = now;
        session->turned_at = now;
        if (session_streams(session))
                session_arm(session, SESSION_TIMER_OUTPUT, now, session_write_period_ns(session));
        session_triggers_record(session, now);
        session_enter(session, SESSION_STARTED);
}

/* A duration that has passed in the meantime ends at once. */
static void session_go_on_with_duration(Session *session, uint64_t now) {
        const uint64_t duration_ns = config_ns(session->config->pb->duration_ms, UINT64_MAX);
        const uint64_t ends_at = add_saturated(session->started_at, duration_ns);

        const uint64_t left_ns = ends_at - MIN(ends_at, now);

        if (ends_at == UINT64_MAX)
                return;
        session_arm(session, SESSION_TIMER_DURATION, now, left_ns);
        /* How long the machine slept before is unknown. */
        if (session->ends_at_monotonic > 0)
                session->ends_at_monotonic = session_read_monotonic(session) + left_ns;
}

void session_go_on(Session *session, uint64_t started_at, uint64_t now) {
        session_snapshot_clocks(session);
        session_enter(session, SESSION_STARTING);
        session_arm(session, SESSION_TIMER_SNAPSHOT, now, session_snapshot_period_ns(session));
        session_record(session, now);
        session->started_at = started_at;
        session_go_on_with_duration(session, now);
        session_activate_missing(session);
}

/* It has been through its states, and they are not reported again. */
void session_stay_stopped(Session *session, uint64_t started_at, uint64_t stopped_at) {
        session_snapshot_clocks(session);
        /* Once, whether that was read before or not. */
        event_list_forget(&session->events, EVENT_TRACING_DISABLED);
        event_list_add(&session->events, EVENT_TRACING_DISABLED, stopped_at, NULL);
        for (size_t i = 0; i < session->n_buffers; i++)
                trace_buffer_freeze(session->buffers[i].buffer);
        session->started_at = started_at;
        session->stopped_at = stopped_at;
        session->state = SESSION_STOPPED;
}

void session_tell_slow_starters(Session *session, uint64_t now) {
        Bytes sources = {};
        const SourceInstance *instance;
        size_t n = 0;

        list_for_each (instance, &session->instances, session_link)
                if (instance->state == INSTANCE_STARTING && n++ < EVENT_NAMES_MAX)
                        event_sources_add(&sources,
                                          instance->producer_name,
                                          instance->source->pb->config->name);
        if (n > 0)
                event_list_add(&session->events, EVENT_SLOW_STARTING_SOURCES, now, &sources);
        bytes_deinit(&sources);
}

static void final_flush_done(void *userdata, int outcome) {
        Session *session = userdata;
        SourceInstance *instance;

        InstanceCursor cursor = {};
        InstanceInfo silent;
        bool is_complete = outcome == 0 && !session_next_silent(session, &cursor, &silent);

        session->final_flush = is_complete ? FINAL_FLUSH_SUCCEEDED : FINAL_FLUSH_FAILED;
        list_for_each (instance, &session->instances, session_link)
                instance->missed_end |= instance->missed_flush == session->answering_flush;
}

int session_begin(Session *session, uint64_t now) {
        SourceInstance *instance;

        if (session->state != SESSION_CONFIGURED)
                return SESSION_E_STATE;

        /* Before any source is asked: trace readers drop what is older than tracing_started. */
        session_snapshot_clocks(session);
        event_list_add(&session->events, EVENT_TRACING_STARTED, now, NULL);
        session_enter(session, SESSION_STARTING);
        session_arm(session, SESSION_TIMER_SLOW, now, SESSION_SLOW_START_NS);
        session_arm(session, SESSION_TIMER_START, now, SESSION_START_TIMEOUT_NS);
        session_arm(session, SESSION_TIMER_SNAPSHOT, now, session_snapshot_period_ns(session));
        if (now < session->service->settled_at)
                session->timers[SESSION_TIMER_SETTLE] = session->service->settled_at;

        session_activate_missing(session);
        list_for_each (instance, &session->instances, session_link)
                instance_start(instance);
        session_expect_answers(session, now);
        session_mark(session);
        return 0;
}

int session_begin_flush(Session *session,
                        uint64_t timeout_ns,
                        uint64_t flags,
                        SessionFlushDone done,
                        void *userdata) {
        Flush *flush;
        int r;

        if (!session_is_running(session))
                return SESSION_E_STATE;
        if (session->n_flushes >= SESSION_FLUSHES_MAX)
                return SESSION_E_LIMIT;

        timeout_ns = MIN(timeout_ns ?: session_flush_timeout_ns(session),
                         SESSION_TIMEOUT_MAX_MS * NS_PER_MS);
        r = flush_new(&flush, session, timeout_ns, flags, done, userdata);
        if (r < 0)
                return r;
        session_mark(session);
        return 0;
}

void session_end_within(Session *session, const char *reason, uint64_t flush_timeout_ns) {
        Flush *flush;

        if (session->state >= SESSION_FLUSHING)
                return;

        snprintf(session->stop_reason, sizeof(session->stop_reason), "%s", reason);
        session_disarm_all(session);
        session_enter(session, SESSION_FLUSHING);
        /* If this fails, producers still hand over their data when they stop. */
        if (flush_new(&flush,
                      session,
                      flush_timeout_ns,
                      FLUSH_REASON_TRACE_STOP | FLUSH_INITIATOR_SERVICE,
                      final_flush_done,
                      session) < 0)
                session->final_flush = FINAL_FLUSH_FAILED;
        else
                flush_give_up_on_debtors(flush);
        session_mark(session);
}

void session_end(Session *session, const char *reason) {
        session_end_within(session, reason, session_flush_timeout_ns(session));
}

/* No producer is stopped before all have flushed, so that what one records about another is complete. */
static void session_stop_sources(Session *session, uint64_t now) {
        SourceInstance *instance;

        session_enter(session, SESSION_STOPPING);
        session_arm(session, SESSION_TIMER_STOP, now, session_stop_timeout_ns(session));
        list_for_each (instance, &session->instances, session_link)
                instance_stop(instance);
        session_expect_answers(session, now);
        session_give_up_on_suspended(session);
}

/* All sources have stopped, so a flush that waits for one of them is as good as answered. */
static void session_finish(Session *session, uint64_t now) {
        Flush *flush;

        session_disarm_all(session);
        list_for_each (flush, &session->flushes, link)
                flush_finish(flush, 0);
        event_list_add(&session->events, EVENT_TRACING_DISABLED, now, NULL);
        for (size_t i = 0; i < session->n_buffers; i++)
                trace_buffer_freeze(session->buffers[i].buffer);
        session->stopped_at = now;
        session_enter(session, SESSION_STOPPED);
        session_output_due(session);
}

static bool session_is_ready(const Session *session, uint64_t now) {
        return now >= session->service->settled_at && !session_awaits_producer(session) &&
               session->n_in_state[INSTANCE_STARTING] == session->n_asleep;
}

/* Written once, even if late sources start later. */
static void session_tell_all_started(Session *session, uint64_t now) {
        if (session->said_all_started || session->n_in_state[INSTANCE_STARTING] > 0)
                return;
        event_list_add(&session->events, EVENT_ALL_SOURCES_STARTED, now, NULL);
        session->said_all_started = true;
}

/* Starts over after each: a reply may ask for another flush, and that may end others. */
static Flush *session_due_flush(const Session *session, uint64_t now) {
        Flush *flush;

        list_for_each (flush, &session->flushes, link)
                if (flush_is_due(flush, now))
                        return flush;
        return NULL;
}

/* In the order of the states: a session with nobody to wait for runs through several of them at once. */
void session_progress(Session *session, uint64_t now) {
        Flush *flush;

        while ((flush = session_due_flush(session, now)))
                flush_complete(flush);

        if (session->state == SESSION_STARTING && session_is_ready(session, now)) {
                if (session->n_asleep > 0)
                        session_tell_slow_starters(session, now);
                session_record(session, now);
        }
        if (session->state == SESSION_STARTED)
                session_tell_all_started(session, now);
        if (session->state == SESSION_FLUSHING && session->final_flush != FINAL_FLUSH_NONE)
                session_stop_sources(session, now);
        if (session->state == SESSION_STOPPING &&
            session->n_in_state[INSTANCE_STOPPED] == session->n_instances)
                session_finish(session, now);
}
