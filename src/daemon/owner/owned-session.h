/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Owned session: a session of the core that belongs to somebody's connection
 *
 * This is the same for both transports: an owned session is embedded in the transport's own object. It moves data to
 * the session's output, ends with its owner unless it was detached, keeps the data for a while if nobody holds it,
 * and takes the snapshots that triggers ask for. The core only marks it; owned_sessions_work() does the rest when
 * the core has returned. How peers ask and are answered is up to the transport.
 */

#include "core/service.h"
#include "core/session-restore.h"
#include "output/session-stream.h"
#include "shared/list.h"

/* How long a service that is told to end waits for programs to hand over their data for a session that it leaves
 * to the next service. Native programs keep the rest, and continue with the next service. */
#define OWNED_LEAVE_FLUSH_NS UINT64_C(1000000000)

typedef struct OwnedSession OwnedSession;
typedef struct OwnedSessions OwnedSessions;

typedef struct OwnedOps {
        /* Whether some connection holds the session, so that it does not end on its own. */
        bool (*has_owner)(const OwnedSession *session);
        /* Whether somebody waits for a reply about the session. NULL: never. */
        bool (*is_awaited)(const OwnedSession *session);
        /* Called after the session was marked: its state, its sources or its output has changed. May free it. */
        void (*work)(OwnedSession *session);
        void (*free)(OwnedSession *session);
        /* Its output has failed; stream.error says why. Called from within the core. NULL: it is reported later. */
        void (*output_failed)(OwnedSession *session);
        /* A trigger was hit. Called from within the core. */
        void (*triggered)(OwnedSession *session,
                          const char *trigger,
                          const char *producer,
                          uid_t uid);
        /* Makes room for a snapshot of the session that a trigger asked for. Returns 0 or a negative errno. */
        int (*snapshot_new)(OwnedSession **ret, const OwnedSession *source);
        /* Called when the snapshot has its session: publishes it by owned_session_publish(), and announces it.
         * Returns 0, or a negative errno, after which it is freed. */
        int (*snapshot_taken)(OwnedSession *source, OwnedSession *snapshot, const char *trigger);
} OwnedOps;

/* All owned sessions of a transport. */
struct OwnedSessions {
        sd_event *event;
        const OwnedOps *ops;
        OutputPump pump;
        List all;              /* OwnedSession */
        List dirty;            /* OwnedSession; work for owned_sessions_work() */
        OwnedSessions *others; /* those of the other transport, once they are paired */
};

struct OwnedSession {
        OwnedSessions *sessions;
        Session *session; /* NULL: a clone that is not made yet, but has its output */
        SessionStream stream;
        const SessionStream *
                foreign; /* the session belongs to another transport, and this is its output; NULL: ours */
        bool is_snapshot; /* a trigger has asked for it, and nobody has fetched it yet */
        bool is_finished; /* owned_session_is_finished(), as of the last look at the output's error */
        bool free_when_finished;
        bool is_kept;           /* for the next process */
        bool cannot_be_kept;    /* for as long as the session exists */
        bool is_leaving;        /* this process ends, and another one continues the session: */
        bool is_ready_to_leave; /* everything that was recorded is in its buffers */
        List link;              /* sessions->all */
        List dirty_link;        /* sessions->dirty */
};

int owned_sessions_init(OwnedSessions *sessions,
                        sd_event *event,
                        const OwnedOps *ops,
                        const OutputOps *output_ops,
                        void *output_host);
/* Frees all sessions. A zeroed one is allowed. */
void owned_sessions_deinit(OwnedSessions *sessions);

/* BOOTTIME, as of this turn of the main loop. */
uint64_t owned_sessions_now(const OwnedSessions *sessions);

/* Does the work of one marked session. Returns false if none is marked. */
bool owned_sessions_work(OwnedSessions *sessions);
bool owned_sessions_are_settled(const OwnedSessions *sessions);

uint64_t owned_sessions_deadline(const OwnedSessions *sessions);
void owned_sessions_tick(OwnedSessions *sessions, uint64_t now);

/* Stops all sessions in order, as the service is to end. They have stopped when their outputs are written as
 * well, or have made no progress for OUTPUT_STALL_AT_END_NS. */
void owned_sessions_stop(OwnedSessions *sessions, const char *reason);
bool owned_sessions_are_stopped(const OwnedSessions *sessions);

/* Pairs the two transports, so that a user's sessions are counted over both, until one of them is deinitialised. */
void owned_sessions_pair(OwnedSessions *one, OwnedSessions *other);

/* Frees, on either transport, the oldest session that this uid has left behind: one that has stopped and that nobody
 * holds. Returns false when the uid has left none behind; no other session ever gives way. */
bool owned_sessions_drop_left(OwnedSessions *sessions, uid_t uid);

/* Returns NULL if it is not one of these. */
OwnedSession *owned_sessions_find(const OwnedSessions *sessions, const Session *session);

void owned_session_init(OwnedSession *session, OwnedSessions *sessions);
/* Ends its session. */
void owned_session_deinit(OwnedSession *session);

/* Makes a new session of the core. Takes the config over on success only. Otherwise the same as session_new(). */
int owned_session_new(OwnedSession *session,
                      Service *service,
                      Config *config,
                      const SessionOptions *options,
                      SessionError *error);
/* The same for a session that another process has left; see session_restore(). */
int owned_session_restore(OwnedSession *session,
                          Service *service,
                          Config *config,
                          const SessionOptions *options,
                          SessionFormer *former,
                          SessionError *error);
/* Makes a clone the session of this object. */
void owned_session_adopt(OwnedSession *session, Session *clone);
/* Adds the session to the list of all. */
void owned_session_publish(OwnedSession *session);

/* Marks that the session has work. May be called any number of times. */
void owned_session_mark(OwnedSession *session);
/* The first half of its work: moves data, and checks whether it is finished. Returns false if it has no session
 * yet. */
bool owned_session_attend(OwnedSession *session);
/* The end of its work: frees it if it was kept for nothing else. */
void owned_session_free_if_over(OwnedSession *session);

/* The output that its data goes to, if any. */
const SessionStream *owned_session_stream(const OwnedSession *session);
/* Whether it has stopped, and its output is written or has failed. */
bool owned_session_is_finished(const OwnedSession *session);
/* When it is freed because nobody holds it; UINT64_MAX: never. */
uint64_t owned_session_deadline(const OwnedSession *session);

/* Ends a session that is not detached, because its owner has gone or no longer wants it. Without an output,
 * nobody could get its data any longer; with one, what was recorded is still written. May free it. */
void owned_session_leave(OwnedSession *session);
