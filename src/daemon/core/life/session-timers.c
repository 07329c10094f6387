/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is due in a session, and when. */

#include "core/life/session-timers.h"
#include "core/ingest/producer-take.h"
#include "core/life/session-progress.h"
#include "core/life/settle.h"
#include "core/life/trigger-snapshot.h"
#include "core/model/session-buffer.h"
#include "core/model/session-output.h"
#include "core/model/session.h"
#include "core/requests/flush.h"
#include "core/requests/session-clear.h"
#include "core/requests/session-match.h"
#include "core/requests/session-wait.h"
#include "core/requests/source-instance.h"

/* A producer that does not answer within the period is not asked again before it does. */
static void periodic_flush_done(void *userdata, int outcome) {
        Session *session = userdata;

        session->has_periodic_flush = false;
        if (!session->output_awaits_flush)
                return;
        session->output_awaits_flush = false;
        session_output_due(session);
}

static void session_flush_periodically(Session *session) {
        if (session->has_periodic_flush)
                return;
        session->has_periodic_flush = true;
        if (session_begin_flush(session,
                                0,
                                FLUSH_REASON_PERIODIC | FLUSH_INITIATOR_SERVICE,
                                periodic_flush_done,
                                session) != 0)
                session->has_periodic_flush = false;
}

/* The service has run long enough for the session to proceed. */
static void on_settle(Session *session, uint64_t now) {
        session_mark(session);
}

static void on_start_overdue(Session *session, uint64_t now) {
        session_give_up_on(session, -1, "its producer did not appear in time");
        session_tell_slow_starters(session, now);
        session_record(session, now);
        session_mark(session);
}

/* Names the producers that have not started yet. Until then the trace only says that recording continued without
 * some. */
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
                session_end(session, "duration");
}

static void on_flush_period(Session *session, uint64_t now) {
        session_arm(session, SESSION_TIMER_FLUSH, now, session_flush_period_ns(session));
        session_flush_periodically(session);
}

static void on_clear_period(Session *session, uint64_t now) {
        session_arm(session, SESSION_TIMER_CLEAR, now, session_clear_period_ns(session));
        session_clear_incremental_state(session, NULL);
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
                session_flush_periodically(session);
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
        session_mark(session);
}

static void on_look(Session *session, uint64_t now) {
        session_look_for_suspended(session, now);
        session_mark(session);
}

static void on_trigger_timeout(Session *session, uint64_t now) {
        session_end(session, "trigger-timeout");
}

static void on_trigger_stop(Session *session, uint64_t now) {
        session_end(session, "trigger");
}

static void on_trigger_snapshot(Session *session, uint64_t now) {
        while (session_take_snapshot(session, now, now))
                session_settle(session, now);
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
        [SESSION_TIMER_LOOK] = on_look,
        [SESSION_TIMER_STOP] = on_stop_overdue,
        [SESSION_TIMER_TRIGGER_TIMEOUT] = on_trigger_timeout,
        [SESSION_TIMER_TRIGGER_STOP] = on_trigger_stop,
        [SESSION_TIMER_TRIGGER_SNAPSHOT] = on_trigger_snapshot,
};

/* Something that happened at an unknown time is due at once. */
uint64_t session_next_deadline(const Session *session) {
        uint64_t next = list_is_linked(&session->marked_link) ? 0 : UINT64_MAX;
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
        session_settle(session, now);
        /* A handler may disarm the timers behind it, which are looked at only then. */
        for (size_t i = 0; i < _SESSION_TIMER_N; i++) {
                if (session->timers[i] > now)
                        continue;
                session->timers[i] = UINT64_MAX;
                timer_handlers[i](session, now);
                if (list_is_linked(&session->marked_link))
                        session_settle(session, now);
        }
}
