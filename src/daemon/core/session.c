/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The life of a session
 *
 * Nothing here waits: a state is left by session_progress(), which everybody calls who has changed something
 * that the session may wait for, or by the handler of a timer. Both are idempotent.
 */

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "core/self-trace.h"
#include "core/session-private.h"

/* One bit per successor. Every state can be stopped; nothing leads back. */
static const uint8_t session_successors[_SESSION_STATE_N] = {
        [SESSION_CONFIGURED] = 1 << SESSION_STARTING | 1 << SESSION_FLUSHING,
        [SESSION_STARTING] = 1 << SESSION_STARTED | 1 << SESSION_FLUSHING,
        [SESSION_STARTED] = 1 << SESSION_FLUSHING,
        [SESSION_FLUSHING] = 1 << SESSION_STOPPING,
        [SESSION_STOPPING] = 1 << SESSION_STOPPED,
};

static const char *const session_state_names[_SESSION_STATE_N] = {
        [SESSION_CONFIGURED] = "configured", [SESSION_STARTING] = "starting",
        [SESSION_STARTED] = "started",       [SESSION_FLUSHING] = "flushing",
        [SESSION_STOPPING] = "stopping",     [SESSION_STOPPED] = "stopped",
};

const char *session_state_name(SessionState state) {
        return session_state_names[state];
}

const uint64_t *session_uuid(const Session *session) {
        return session->uuid;
}

/* Asked to record, and not yet to stop. */
bool session_is_running(const Session *session) {
        return session->state == SESSION_STARTING || session->state == SESSION_STARTED;
}

/* Also before the start: late sources are set up then, and started with the others. */
bool session_is_open(const Session *session) {
        return session->state <= SESSION_STARTED;
}

/* Within session_new() and session_free() the transport knows by itself, and has nothing to look at. */
void session_changed(Session *session) {
        session->n_changes++;
        if (!session->is_quiet)
                session->ops->changed(session->peer);
}

/* The only writer of session->state. */
static void session_enter(Session *session, SessionState state) {
        assert(session_successors[session->state] & 1 << state);

        session->state = state;
        concurrent_changed(session);
        self_session_changed(session);
        session_changed(session);
}

uint64_t session_stop_timeout_ns(const Session *session) {
        return config_ns(session->config->pb->data_source_stop_timeout_ms, SESSION_STOP_TIMEOUT_NS);
}

uint64_t session_flush_timeout_ns(const Session *session) {
        return config_ns(session->config->pb->flush_timeout_ms, SESSION_FLUSH_TIMEOUT_NS);
}

static uint64_t session_clear_period_ns(const Session *session) {
        const Perfetto__Protos__TraceConfig__IncrementalStateConfig *config =
                session->config->pb->incremental_state_config;

        if (!config || !config->clear_period_ms)
                return UINT64_MAX;
        return config_period_ns(config->clear_period_ms, 0);
}

/* UINT64_MAX: only the one at the start, or not even that. */
static uint64_t session_snapshot_period_ns(const Session *session) {
        const Perfetto__Protos__TraceConfig__BuiltinDataSource *config =
                session->config->pb->builtin_data_sources;

        if (config && config->disable_clock_snapshotting)
                return UINT64_MAX;
        return config_period_ns(config ? config->snapshot_interval_ms : 0,
                                SESSION_SNAPSHOT_INTERVAL_NS);
}

static void session_arm(Session *session, SessionTimer timer, uint64_t now, uint64_t after_ns) {
        session->timers[timer] = after_ns == UINT64_MAX ? UINT64_MAX : now + after_ns;
}

/* When recording ends no period and no overdue start matters any more. */
static void session_disarm_all(Session *session) {
        for (size_t i = 0; i < _SESSION_TIMER_N; i++)
                session->timers[i] = UINT64_MAX;
}

/* Trace readers convert every other clock to BOOTTIME by these. */
void session_snapshot_clocks(Session *session) {
        Service *service = session->service;
        ClockSnapshot snapshot;

        if (session_snapshot_period_ns(session) == UINT64_MAX)
                return;
        snapshot.n = service->ops->read_clocks(service->userdata, snapshot.readings);
        clock_ring_add(&session->clocks, &snapshot);
}

/* Takes what every producer has finished, committed or not. A producer with several instances is drained once; the
 * round tells who was. */
void session_drain(Session *session) {
        uint64_t round = ++session->service->last_round;
        SourceInstance *instance;

        list_for_each (instance, &session->instances, session_link) {
                Producer *producer = instance->producer;

                if (!producer || producer->last_round == round)
                        continue;
                producer->last_round = round;
                producer_drain(producer);
                producer_scan(producer, session);
        }
}

int session_start(Session *session, uint64_t now) {
        SourceInstance *instance;

        now = service_note_now(session->service, now);
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
        session_progress(session, now);
        return 0;
}

/* Time as it is for who sleeps with the machine. The core has BOOTTIME only; this is asked once at the start of such a
 * duration and once at its end, which is put off by what was slept through. */
static uint64_t session_read_monotonic(const Session *session) {
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
static void session_record(Session *session, uint64_t now) {
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

static void session_tell_slow_starters(Session *session, uint64_t now) {
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

static void
session_stop_within(Session *session, const char *reason, uint64_t flush_timeout_ns, uint64_t now) {
        Flush *flush;

        now = service_note_now(session->service, now);
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
        session_progress(session, now);
}

void session_stop(Session *session, const char *reason, uint64_t now) {
        session_stop_within(session, reason, session_flush_timeout_ns(session), now);
}

void session_disable(Session *session, const char *reason, uint64_t now) {
        session_stop_within(session,
                            reason,
                            MIN(session_flush_timeout_ns(session), SESSION_DISABLE_FLUSH_NS),
                            now);
}

/* Nobody is stopped before everybody has flushed: what one has recorded about another is complete then. */
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
        session_triggers_stopped(session, now);
}

static bool session_is_ready(const Session *session, uint64_t now) {
        return now >= session->service->settled_at && !session_awaits_producer(session) &&
               session->n_in_state[INSTANCE_STARTING] == session->n_asleep;
}

/* Said once, even if late sources start later. */
static void session_tell_all_started(Session *session, uint64_t now) {
        if (session->said_all_started || session->n_in_state[INSTANCE_STARTING] > 0)
                return;
        event_list_add(&session->events, EVENT_ALL_SOURCES_STARTED, now, NULL);
        session->said_all_started = true;
}

/* Looked for again after each: a reply may ask again, and the new flush end others. */
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

        session->is_dirty = false;
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

int session_flush(Session *session,
                  uint64_t timeout_ns,
                  uint64_t flags,
                  SessionFlushDone done,
                  void *userdata,
                  uint64_t now) {
        Flush *flush;
        int r;

        now = service_note_now(session->service, now);
        if (!session_is_running(session))
                return SESSION_E_STATE;
        if (session->n_flushes >= SESSION_FLUSHES_MAX)
                return SESSION_E_LIMIT;

        timeout_ns = MIN(timeout_ns ?: session_flush_timeout_ns(session),
                         SESSION_TIMEOUT_MAX_MS * NS_PER_MS);
        r = flush_new(&flush, session, timeout_ns, flags, done, userdata);
        if (r < 0)
                return r;
        session_progress(session, now);
        return 0;
}

void session_flush_cancel(Session *session, void *userdata) {
        Flush *flush;

        list_for_each (flush, &session->flushes, link)
                if (flush->userdata == userdata)
                        flush->done = NULL;
}

/* A producer that does not answer within the period is not asked again before it does. */
static void periodic_flush_done(void *userdata, int outcome) {
        Session *session = userdata;

        session->has_periodic_flush = false;
        if (!session->output_awaits_flush)
                return;
        session->output_awaits_flush = false;
        session_output_due(session);
}

static void session_flush_periodically(Session *session, uint64_t now) {
        if (session->has_periodic_flush)
                return;
        session->has_periodic_flush = true;
        if (session_flush(session,
                          0,
                          FLUSH_REASON_PERIODIC | FLUSH_INITIATOR_SERVICE,
                          periodic_flush_done,
                          session,
                          now) != 0)
                session->has_periodic_flush = false;
}

/*
 * Timers
 */

static void on_settle(Session *session, uint64_t now) {
        session_progress(session, now);
}

static void on_start_overdue(Session *session, uint64_t now) {
        session_give_up_on(session, -1, "its producer did not appear in time");
        session_tell_slow_starters(session, now);
        session_record(session, now);
        session_progress(session, now);
}

/* Names again the producers that have not started: that the recording went on without some was said then. */
static void on_slow_start(Session *session, uint64_t now) {
        if (session->said_all_started)
                return;
        event_list_forget(&session->events, EVENT_SLOW_STARTING_SOURCES);
        session_tell_slow_starters(session, now);
}

static void on_duration(Session *session, uint64_t now) {
        uint64_t monotonic = session->ends_at_monotonic ? session_read_monotonic(session) : 0;

        if (monotonic < session->ends_at_monotonic)
                session_arm(session,
                            SESSION_TIMER_DURATION,
                            now,
                            session->ends_at_monotonic - monotonic);
        else
                session_stop(session, "duration", now);
}

static void on_flush_period(Session *session, uint64_t now) {
        session_arm(session, SESSION_TIMER_FLUSH, now, session_flush_period_ns(session));
        session_flush_periodically(session, now);
}

static void on_clear_period(Session *session, uint64_t now) {
        session_arm(session, SESSION_TIMER_CLEAR, now, session_clear_period_ns(session));
        session_clear_incremental_state(session, NULL);
}

static bool session_buffer_has_turned(const SessionBuffer *buffer) {
        return trace_buffer_stats(buffer->buffer)->bytes_written >= buffer->clear_at_bytes;
}

/* Periods know nothing of rates: a small ring forgets within one what all that is in it refers to. */
void session_buffer_written(const SessionBuffer *buffer) {
        Session *session = buffer->session;

        if (session->state == SESSION_STARTED && session_buffer_has_turned(buffer))
                session->timers[SESSION_TIMER_TURN] = session->turned_at + SESSION_CLEAR_GAP_NS;
        session_note_pressure(buffer);
}

static void on_turn(Session *session, uint64_t now) {
        session->turned_at = now;
        for (size_t i = 0; i < session->n_buffers; i++) {
                if (!session_buffer_has_turned(&session->buffers[i]))
                        continue;
                session_buffer_cleared(&session->buffers[i]);
                session_clear_incremental_state(session, &session->buffers[i]);
        }
}

static void on_snapshot_period(Session *session, uint64_t now) {
        session_arm(session, SESSION_TIMER_SNAPSHOT, now, session_snapshot_period_ns(session));
        session_snapshot_clocks(session);
        session->reader.stats_due = true;
        session_mark_stream(session);
}

static void on_output_period(Session *session, uint64_t now) {
        session_arm(session, SESSION_TIMER_OUTPUT, now, session_write_period_ns(session));
        session->output_awaits_flush = session_flushes_before_output(session);
        if (session->output_awaits_flush)
                session_flush_periodically(session, now);
        if (session->output_awaits_flush && session->has_periodic_flush)
                return;
        session->output_awaits_flush = false;
        session_output_due(session);
}

/* A producer that does not report its stop is drained as it is, and may write no more. */
static void on_stop_overdue(Session *session, uint64_t now) {
        SourceInstance *instance;

        session_drain(session);
        list_for_each (instance, &session->instances, session_link) {
                instance->missed_end |= instance->state == INSTANCE_STOPPING;
                instance_stopped(instance, "did not stop in time");
        }
        session_progress(session, now);
}

static void (*const timer_handlers[_SESSION_TIMER_N])(Session *, uint64_t) = {
        [SESSION_TIMER_SETTLE] = on_settle,
        [SESSION_TIMER_START] = on_start_overdue,
        [SESSION_TIMER_SLOW] = on_slow_start,
        [SESSION_TIMER_DURATION] = on_duration,
        [SESSION_TIMER_FLUSH] = on_flush_period,
        [SESSION_TIMER_CLEAR] = on_clear_period,
        [SESSION_TIMER_TURN] = on_turn,
        [SESSION_TIMER_SNAPSHOT] = on_snapshot_period,
        [SESSION_TIMER_OUTPUT] = on_output_period,
        [SESSION_TIMER_LOOK] = session_look_for_suspended,
        [SESSION_TIMER_STOP] = on_stop_overdue,
        [SESSION_TIMER_TRIGGER_TIMEOUT] = session_on_trigger_timeout,
        [SESSION_TIMER_TRIGGER_STOP] = session_on_trigger_stop,
        [SESSION_TIMER_TRIGGER_SNAPSHOT] = session_on_trigger_snapshot,
};

/* Something that happened at an unknown time is due at once. */
uint64_t session_next_deadline(const Session *session) {
        uint64_t next = session->is_dirty ? 0 : UINT64_MAX;
        const Flush *flush;

        for (size_t i = 0; i < _SESSION_TIMER_N; i++)
                next = MIN(next, session->timers[i]);
        list_for_each (flush, &session->flushes, link)
                next = MIN(next, flush->deadline);
        return next;
}

void session_tick(Session *session, uint64_t now) {
        if (session_next_deadline(session) > now)
                return;
        session_progress(session, now);
        /* A handler may disarm the timers behind it, which are looked at only then. */
        for (size_t i = 0; i < _SESSION_TIMER_N; i++) {
                if (session->timers[i] > now)
                        continue;
                session->timers[i] = UINT64_MAX;
                timer_handlers[i](session, now);
        }
}
