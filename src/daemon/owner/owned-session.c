/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Owned session: the life of a session that belongs to a connection, and the list of all such sessions */

#include <assert.h>
#include <inttypes.h>

#include "owner/owned-session.h"
#include "shared/log-user.h"
#include "shared/log.h"

void owned_session_mark(OwnedSession *session) {
        if (!list_is_linked(&session->dirty_link))
                list_append(&session->sessions->dirty, &session->dirty_link);
}

static void on_stream_changed(SessionStream *stream) {
        owned_session_mark(container_of(stream, OwnedSession, stream));
}

static void on_stream_failed(SessionStream *stream) {
        OwnedSession *session = container_of(stream, OwnedSession, stream);

        if (session->sessions->ops->output_failed)
                session->sessions->ops->output_failed(session);
}

/*
 * The life of one session
 */

void owned_session_init(OwnedSession *session, OwnedSessions *sessions) {
        *session = (OwnedSession){ .sessions = sessions };
        list_init(&session->link);
        list_init(&session->dirty_link);
        session_stream_init(&session->stream, &sessions->pump, on_stream_changed, on_stream_failed);
}

void owned_session_deinit(OwnedSession *session) {
        if (session->is_leaving)
                session_leave(session->session);
        if (!session->foreign)
                session->session = session_free(session->session);
        session_stream_deinit(&session->stream);
        list_unlink(&session->link);
        list_unlink(&session->dirty_link);
}

void owned_session_publish(OwnedSession *session) {
        session->stream.session = session->session;
        list_append(&session->sessions->all, &session->link);
}

bool owned_session_attend(OwnedSession *session) {
        if (!session->session)
                return false; /* a clone that is not made yet, whose output reports something */
        session_stream_attend(&session->stream);
        /* The order matters: an output that is done has reported before whether it failed. */
        session->is_finished = owned_session_is_finished(session);
        session_stream_check(&session->stream);
        return true;
}

void owned_session_free_if_over(OwnedSession *session) {
        if (session->free_when_finished && session->is_finished)
                session->sessions->ops->free(session);
}

const SessionStream *owned_session_stream(const OwnedSession *session) {
        return session->foreign ?: &session->stream;
}

bool owned_session_is_finished(const OwnedSession *session) {
        return session_stream_is_settled(owned_session_stream(session));
}

/* A session that nobody holds keeps its data for a while, or is freed at once if the data was written out. */
uint64_t owned_session_deadline(const OwnedSession *session) {
        if (session->foreign || session->sessions->ops->has_owner(session) ||
            !owned_session_is_finished(session))
                return UINT64_MAX;
        return session_stopped_at(session->session) +
               (session_options(session->session)->has_output ? 0 : SESSION_LINGER_NS);
}

void owned_session_leave(OwnedSession *session) {
        if (session->is_leaving || !session_options(session->session)->has_output ||
            owned_session_is_finished(session)) {
                session->sessions->ops->free(session);
                return;
        }
        session->free_when_finished = true;
        session_stop(session->session, "owner-gone", owned_sessions_now(session->sessions));
        owned_session_mark(session);
}

/*
 * All of them
 */

int owned_sessions_init(OwnedSessions *sessions,
                        sd_event *event,
                        const OwnedOps *ops,
                        const OutputOps *output_ops,
                        void *output_host) {
        *sessions = (OwnedSessions){ .event = event, .ops = ops };
        list_init(&sessions->all);
        list_init(&sessions->dirty);
        return output_pump_init(&sessions->pump, event, output_ops, output_host);
}

void owned_sessions_deinit(OwnedSessions *sessions) {
        OwnedSession *session;

        if (!sessions->event)
                return;
        if (sessions->others)
                sessions->others->others = NULL;
        sessions->others = NULL;
        while ((session = list_first(&sessions->all, OwnedSession, link)))
                sessions->ops->free(session);
        assert(list_is_empty(&sessions->dirty));
        output_pump_deinit(&sessions->pump);
        sessions->event = NULL;
}

uint64_t owned_sessions_now(const OwnedSessions *sessions) {
        uint64_t usec;

        if (sd_event_now(sessions->event, CLOCK_BOOTTIME, &usec) < 0)
                return 0; /* only after a fork, which never happens */
        return usec * 1000;
}

bool owned_sessions_work(OwnedSessions *sessions) {
        OwnedSession *session = list_first(&sessions->dirty, OwnedSession, dirty_link);

        if (!session)
                return false;
        list_unlink(&session->dirty_link);
        sessions->ops->work(session);
        return true;
}

bool owned_sessions_are_settled(const OwnedSessions *sessions) {
        return list_is_empty(&sessions->dirty);
}

uint64_t owned_sessions_deadline(const OwnedSessions *sessions) {
        const OwnedSession *session;
        uint64_t deadline = UINT64_MAX;

        list_for_each (session, &sessions->all, link) {
                deadline = MIN(deadline, owned_session_deadline(session));
                deadline = MIN(deadline, session_stream_deadline(&session->stream));
        }
        return deadline;
}

void owned_sessions_tick(OwnedSessions *sessions, uint64_t now) {
        OwnedSession *session;

        list_for_each (session, &sessions->all, link) {
                session_stream_tick(&session->stream, now);
                if (owned_session_deadline(session) <= now)
                        sessions->ops->free(session);
        }
}

static void on_flushed_to_leave(void *userdata, int outcome) {
        OwnedSession *session = userdata;
        InstanceCursor cursor = {};
        InstanceInfo silent;

        session->is_ready_to_leave = true;
        while (session_next_silent(session->session, &cursor, &silent))
                log_user(session_options(session->session)->owner.uid,
                         LOG_NOTICE,
                         "session %" PRIu64
                         ": the service leaves without what \"%s\" of \"%s\" has "
                         "not handed over",
                         session_id(session->session),
                         silent.source,
                         silent.producer);
}

static void owned_session_flush_to_leave(OwnedSession *session) {
        int r;

        session->is_leaving = true;
        r = session_flush(session->session,
                          OWNED_LEAVE_FLUSH_NS,
                          0,
                          on_flushed_to_leave,
                          session,
                          owned_sessions_now(session->sessions));
        if (r != 0)
                session->is_ready_to_leave = true;
}

void owned_sessions_stop(OwnedSessions *sessions, const char *reason) {
        OwnedSession *session;

        sessions->pump.stall_ns = OUTPUT_STALL_AT_END_NS;
        list_for_each (session, &sessions->all, link) {
                if (session->foreign)
                        continue; /* its own transport handles that */
                if (session->is_kept) {
                        owned_session_flush_to_leave(session);
                        continue;
                }
                session_stop(session->session, reason, owned_sessions_now(sessions));
                owned_session_mark(session);
        }
}

/* A session that is stopping is left once it has stopped. */
static bool owned_session_is_ready(const OwnedSession *session) {
        const SessionState state = session_state(session->session);

        if (!session->is_leaving)
                return owned_session_is_finished(session);
        if (session_stream_is_read(&session->stream) && !session_stream_is_done(&session->stream))
                return false;
        return session->is_ready_to_leave && state != SESSION_FLUSHING && state != SESSION_STOPPING;
}

bool owned_sessions_are_stopped(const OwnedSessions *sessions) {
        const OwnedSession *session;

        list_for_each (session, &sessions->all, link)
                if (!session->foreign && !owned_session_is_ready(session))
                        return false;
        return true;
}

void owned_sessions_pair(OwnedSessions *one, OwnedSessions *other) {
        one->others = other;
        other->others = one;
}

static bool is_left(const OwnedSession *session, uid_t uid) {
        const OwnedOps *ops = session->sessions->ops;

        return session->session && !session->foreign && !ops->has_owner(session) &&
               !(ops->is_awaited && ops->is_awaited(session)) &&
               owned_session_is_finished(session) &&
               session_options(session->session)->owner.uid == uid;
}

/* Of these sessions and `first`, which may be NULL, the one that stopped first. */
static OwnedSession *find_left(const OwnedSessions *sessions, uid_t uid, OwnedSession *first) {
        OwnedSession *session;

        list_for_each (session, &sessions->all, link)
                if (is_left(session, uid) && (!first || session_stopped_at(session->session) <
                                                                session_stopped_at(first->session)))
                        first = session;
        return first;
}

bool owned_sessions_drop_left(OwnedSessions *sessions, uid_t uid) {
        OwnedSession *first = find_left(sessions, uid, NULL);

        if (sessions->others)
                first = find_left(sessions->others, uid, first);
        if (!first)
                return false;
        log_user(uid,
                 LOG_NOTICE,
                 "session %" PRIu64 " is dropped unread: its user starts another one",
                 session_id(first->session));
        first->sessions->ops->free(first);
        return true;
}

OwnedSession *owned_sessions_find(const OwnedSessions *sessions, const Session *wanted) {
        OwnedSession *session;

        list_for_each (session, &sessions->all, link)
                if (session->session == wanted)
                        return session;
        return NULL;
}
