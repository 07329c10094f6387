/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What may be asked of a session: start, stop, flush, clone, free. */

#include <errno.h>

#include "core/self-trace.h"
#include "core/session-clone.h"
#include "core/session-private.h"

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

void session_stop(Session *session, const char *reason, uint64_t now) {
        session_stop_within(session, reason, session_flush_timeout_ns(session), now);
}

void session_disable(Session *session, const char *reason, uint64_t now) {
        session_stop_within(session,
                            reason,
                            MIN(session_flush_timeout_ns(session), SESSION_DISABLE_FLUSH_NS),
                            now);
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

/* Whatever pass is under way goes no further, and the last one only says how it ended. */
void session_output_full(Session *session, uint64_t now) {
        SessionReader *reader = &session->reader;

        now = service_note_now(session->service, now);
        reader->is_full = true;
        reader->is_finished = false;
        session_stop(session, "max-file-size", now);
}

/* Nobody waits for their answers: they come for numbers that are not known any more. */
static void session_end_instances(Session *session) {
        SourceInstance *instance;

        list_for_each (instance, &session->instances, session_link) {
                if (instance_is_live(instance))
                        instance_stop(instance);
                instance_free(instance);
        }
}

Session *session_free(Session *session) {
        Flush *flush;

        if (!session)
                return NULL;

        session->is_quiet = true;
        session_abort_clones(session);
        concurrent_removed(session);
        self_session_removed(session);
        list_for_each (flush, &session->flushes, link)
                flush_finish(flush, SESSION_E_STATE);
        session_end_instances(session);
        session_free_buffers(session);
        for (size_t i = 0; i < session->n_sources; i++)
                patterns_free(session->sources[i].filters, session->sources[i].n_filters);
        free(session->sources);
        trace_filter_free(session->filter);
        if (list_is_linked(&session->link)) {
                list_unlink(&session->link);
                session->service->n_sessions--;
                session->census->n[CENSUS_SESSIONS]--;
        }
        census_leave(session->census);

        sequence_ids_deinit(&session->reader.sequences);
        session_rules_deinit(&session->reader.rules);
        session_triggers_deinit(session);
        event_list_clear(&session->events);
        session_free_notes(session);
        charge_deinit(&session->charge);
        config_free(session->change);
        config_free(session->config);
        free(session);
        return NULL;
}
