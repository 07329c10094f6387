/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A session begins again with what another process has left of it. */

#include <errno.h>
#include <stdio.h>

#include "core/events/concurrent.h"
#include "core/events/self-trace.h"
#include "core/life/self-producer.h"
#include "core/life/session-make.h"
#include "core/life/session-past.h"
#include "core/life/session-progress.h"
#include "core/life/settle.h"
#include "core/model/policy.h"
#include "core/model/session-notes.h"
#include "core/model/session.h"
#include "core/requests/session-match.h"
#include "core/session-restore.h"

static int session_make_again(Session *session,
                              const Config *config,
                              SessionFormer *former,
                              SessionError *error) {
        int r;

        if (former->n_buffers != config->pb->n_buffers)
                return -EINVAL;
        r = session_charge(session, error);
        if (r == 0)
                r = session_add_buffers(session, config->pb, former->buffers, error);
        if (r == 0 && session->cloned_from == 0)
                r = session_add_sources(session, config->pb);
        if (r == 0 && session->cloned_from == 0)
                r = session_triggers_init(session, config->pb);
        return r ? r : session_add_filter(session, config->pb);
}

/* What those of the system may write no other may. What each of them had declared is not known. */
static int session_trust_system(Session *session, const TraceBuffer *buffer) {
        WriterCursor cursor = {};
        WriterStats writer;
        int r = 0;

        while (r == 0 && trace_buffer_next_writer(buffer, &cursor, &writer))
                if (policy_is_system_producer(&session->service->info, &writer.origin.identity))
                        r = session_rules_add(&session->reader.rules,
                                              writer.origin.producer_id,
                                              packet_rules_default(true));
        return r;
}

/* Those who wrote are strangers now, but for those whose memory is there. */
static int session_retire_producers(Session *session, const SessionFormer *former) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < session->n_buffers; i++) {
                TraceBuffer *buffer = session->buffers[i].buffer;

                r = trace_buffer_retire_producers(buffer, former->producers, former->n_producers);
                if (r == 0)
                        r = session_trust_system(session, buffer);
        }
        return r;
}

/* Deadlines that a trigger has set are where they were. */
static void session_keep_deadlines(Session *session, const SessionPast *past) {
        session->timers[SESSION_TIMER_TRIGGER_TIMEOUT] = past->trigger_timeout_at;
        session->timers[SESSION_TIMER_TRIGGER_STOP] = past->trigger_stop_at;
        session_arm_snapshots(session);
}

static void session_wait_again(Session *session, const SessionPast *past, uint64_t now) {
        session_match_all(session);
        self_trace_offer(session);
        session_triggers_set_up(session, now);
        session_keep_deadlines(session, past);
        if (past->state == SESSION_STARTING || !session_is_deferred(session))
                session_begin(session, now);
}

/* Packets that the process before had read, and not yet handed on, when it was killed. */
static void session_count_lost(Session *session, SessionFormer *former) {
        const uint64_t n_read = session_n_packets_read(session);

        former->n_lost = 0;
        if (!session->options.has_output || n_read <= former->n_packets_out)
                return;
        former->n_lost = n_read - former->n_packets_out;
        session->producers_dropped = add_saturated(session->producers_dropped, former->n_lost);
}

static void session_say_away(Session *session, const SessionFormer *former, uint64_t now) {
        session_note_away(session,
                          &(ServiceAway){
                                  .from = former->left_at,
                                  .until = now,
                                  .n_lost = former->n_lost,
                          });
}

/* One that was about to end does so: nobody has more for it than what it has. */
static void session_record_again(Session *session,
                                 const SessionPast *past,
                                 SessionFormer *former,
                                 uint64_t now) {
        session->final_flush = FINAL_FLUSH_NONE;
        session_match_all(session);
        self_trace_offer(session);
        session_go_on(session, former->started_at, now);
        session_keep_deadlines(session, past);
        session_count_lost(session, former);
        session_say_away(session, former, now);
        if (past->state > SESSION_STARTED)
                session_end(session, past->stop_reason);
}

static void session_stand_again(Session *session,
                                const SessionPast *past,
                                SessionFormer *former,
                                uint64_t now) {
        snprintf(session->stop_reason, sizeof(session->stop_reason), "%s", past->stop_reason);
        session_stay_stopped(session, former->started_at, past->stopped_at);
        session_arm_snapshots(session);
        session_count_lost(session, former);
        if (former->n_lost > 0)
                session_say_away(session, former, now);
}

static void
session_live_again(Session *session, const SessionPast *past, SessionFormer *former, uint64_t now) {
        if (past->state == SESSION_STOPPED)
                session_stand_again(session, past, former, now);
        concurrent_added(session);
        self_session_added(session);
        if (past->state < SESSION_STARTED)
                session_wait_again(session, past, now);
        else if (past->state < SESSION_STOPPED)
                session_record_again(session, past, former, now);
}

/* Producers that come from now on get the changed config. */
static int session_change_again(Session *session, const SessionPast *past, uint64_t now) {
        _cleanup_(config_freep) Config *change = NULL;
        SessionError error;
        ConfigError why;
        int r;

        if (!past->change || past->state >= SESSION_FLUSHING)
                return 0;
        r = config_new_from_bytes(&change, past->change, past->n_change, &why);
        if (r == 0)
                r = session_change_config(session, change, &error, now);
        if (r == 0)
                TAKE(change);
        return r > 0 ? -EBADMSG : r;
}

int session_restore(Session **ret,
                    Service *service,
                    Config *config,
                    const SessionOptions *options,
                    const SessionOps *ops,
                    void *peer,
                    SessionFormer *former,
                    SessionError *error,
                    uint64_t now) {
        _cleanup_(session_discardp) Session *session = NULL;
        SessionPast past;
        int r;

        now = service_note_now(service, now);
        if (service_find_session(service, former->id))
                return -EEXIST;
        r = session_allocate(&session, service, options);
        if (r < 0)
                return r;
        session->ops = ops;
        session->peer = peer;
        session->cloned_from = former->cloned_from;
        r = session_make_again(session, config, former, error);
        if (r == 0)
                r = session_take_past(session, &past, former->past, former->n_past);
        if (r == 0 && session->cloned_from && past.state != SESSION_STOPPED)
                r = -EBADMSG;
        if (r) {
                session_leave(session);
                return r;
        }

        if (session->skips_filter)
                session->filter = trace_filter_free(session->filter);
        memcpy(session->uuid, former->uuid, sizeof(session->uuid));
        session_register_as(session, former->id);
        session->config = config;
        session_take_said(session, former->said);
        r = session_retire_producers(session, former);
        if (r == 0)
                r = session_take_sequences(session, &past);
        if (r == 0)
                r = session_change_again(session, &past, now);
        if (r < 0) {
                session->config = NULL; /* the caller's */
                session_leave(session);
                return r;
        }
        session_live_again(session, &past, former, now);
        session->is_quiet = false;
        /* What follows is for a tick, as snapshots may be due, for which the peer is not ready. */
        session_mark(session);
        *ret = TAKE(session);
        return 0;
}

bool session_awaits_keeping(const Session *session) {
        const SessionOptions *options = &session->options;

        return options->detached && !options->has_output && !options->is_kept &&
               !session->cannot_be_kept && !(session->cloned_from && session->reader.in_pass);
}

uint64_t session_keep_from(const Session *session) {
        return session->cloned_from ? session->stopped_at + CLONE_KEEP_AFTER_NS : 0;
}

void session_keep(Session *session, size_t max_bytes) {
        for (size_t i = 0; i < session->n_buffers; i++) {
                int r = trace_buffer_keep(session->buffers[i].buffer, max_bytes);

                session->cannot_be_kept = r < 0;
                if (r)
                        return;
        }
        session->options.is_kept = true;
}

void session_leave(Session *session) {
        session->is_left = true;
}
