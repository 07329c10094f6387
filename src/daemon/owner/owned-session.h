/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Owned session: a session of the core that belongs to somebody's connection
 *
 * What both transports do for the sessions of their peers: an owned session is embedded in what the transport keeps of
 * it. It moves data to the session's output, ends with its owner unless it was detached, keeps the data of what nobody
 * has for a while, and takes the snapshots that triggers ask for. The core only marks it; the rest is done by
 * owned_sessions_work(), when the core has returned. How a peer asks and is answered is the transport's.
 */

#include "core/service.h"
#include "core/session-restore.h"
#include "output/session-stream.h"
#include "shared/list.h"

/* How long a service that is told to end waits for programs to hand over what they have for a session that it leaves to
 * the next one. Native ones keep the rest, and so does the next service for them. */
#define OWNED_LEAVE_FLUSH_NS UINT64_C(1000000000)

typedef struct OwnedSession OwnedSession;
typedef struct OwnedSessions OwnedSessions;

typedef struct OwnedOps {
        /* Whether some connection has it, so that it does not end by itself. */
        bool (*has_owner)(const OwnedSession *session);
        /* Whether somebody waits for a reply about it. NULL: never. */
        bool (*is_awaited)(const OwnedSession *session);
        /* It was marked: its state, its sources or its output changed. May free it. */
        void (*work)(OwnedSession *session);
        void (*free)(OwnedSession *session);
        /* Its output has failed; stream.error says why. Called from within the core. NULL: that is told later. */
        void (*output_failed)(OwnedSession *session);
        /* A trigger was hit. Called from within the core. */
        void (*triggered)(OwnedSession *session,
                          const char *trigger,
                          const char *producer,
                          uid_t uid);
        /* Room for a snapshot of it that a trigger asked for. Returns 0 or a negative errno. */
        int (*snapshot_new)(OwnedSession **ret, const OwnedSession *source);
        /* The snapshot has its session, for owned_session_publish(), and is to be told of. 0, or a negative errno,
         * after which it is freed. */
        int (*snapshot_taken)(OwnedSession *source, OwnedSession *snapshot, const char *trigger);
} OwnedOps;

/* All those of a transport. */
struct OwnedSessions {
        sd_event *event;
        const OwnedOps *ops;
        OutputPump pump;
        List all;              /* OwnedSession */
        List dirty;            /* OwnedSession; work for owned_sessions_work() */
        OwnedSessions *others; /* of the other transport, once they are paired */
};

struct OwnedSession {
        OwnedSessions *sessions;
        Session *session; /* NULL: a clone to be, which has its output already */
        SessionStream stream;
        const SessionStream
                *foreign; /* it is another transport's, and this its output; NULL: ours */
        bool is_snapshot; /* a trigger asked for it, and nobody has fetched it yet */
        bool is_finished; /* owned_session_is_finished(), as of the last look at the output's error */
        bool free_when_finished;
        bool is_kept;           /* for the process that comes after this one */
        bool cannot_be_kept;    /* as long as it lives */
        bool is_leaving;        /* this process ends, and another goes on with it: */
        bool is_ready_to_leave; /* all that was recorded is in its buffers */
        List link;              /* sessions->all */
        List dirty_link;        /* sessions->dirty */
};

int owned_sessions_init(OwnedSessions *sessions,
                        sd_event *event,
                        const OwnedOps *ops,
                        const OutputOps *output_ops,
                        void *output_host);
/* Frees them. Zeros are allowed. */
void owned_sessions_deinit(OwnedSessions *sessions);

/* BOOTTIME, as of this turn of the main loop. */
uint64_t owned_sessions_now(const OwnedSessions *sessions);

/* The work of one that is marked. false: none is. */
bool owned_sessions_work(OwnedSessions *sessions);
bool owned_sessions_are_settled(const OwnedSessions *sessions);

uint64_t owned_sessions_deadline(const OwnedSessions *sessions);
void owned_sessions_tick(OwnedSessions *sessions, uint64_t now);

/* Stops all in order, as the service is to end; they have stopped when their outputs are written, too, or have taken
 * nothing for OUTPUT_STALL_AT_END_NS. */
void owned_sessions_stop(OwnedSessions *sessions, const char *reason);
bool owned_sessions_are_stopped(const OwnedSessions *sessions);

/* Pairs the two transports: what a user has is counted over both. Holds until one of them is deinitialised. */
void owned_sessions_pair(OwnedSessions *one, OwnedSessions *other);

/* Frees, on either transport, the oldest session that this uid has left behind: one that has stopped and that nobody
 * holds. Returns false when the uid has left none behind; no other session ever gives way. */
bool owned_sessions_drop_left(OwnedSessions *sessions, uid_t uid);

/* Returns NULL if it is not one of these. */
OwnedSession *owned_sessions_find(const OwnedSessions *sessions, const Session *session);

void owned_session_init(OwnedSession *session, OwnedSessions *sessions);
/* Ends its session. */
void owned_session_deinit(OwnedSession *session);

/* A new session of the core. Takes the config over on success only. Otherwise as session_new(). */
int owned_session_new(OwnedSession *session,
                      Service *service,
                      Config *config,
                      const SessionOptions *options,
                      SessionError *error);
/* One that another process has left. As session_restore(). */
int owned_session_restore(OwnedSession *session,
                          Service *service,
                          Config *config,
                          const SessionOptions *options,
                          SessionFormer *former,
                          SessionError *error);
/* A clone has become the session of this one. */
void owned_session_adopt(OwnedSession *session, Session *clone);
/* From now on it is one of them all. */
void owned_session_publish(OwnedSession *session);

/* It has work. Any number of times. */
void owned_session_mark(OwnedSession *session);
/* The first half of its work: moves data, and sees whether it is finished. false: it has no session yet. */
bool owned_session_attend(OwnedSession *session);
/* The end of its work: frees it if that was all that it was kept for. */
void owned_session_free_if_over(OwnedSession *session);

/* Where its data goes, if anywhere. */
const SessionStream *owned_session_stream(const OwnedSession *session);
/* It has stopped, and its output is written or has failed. */
bool owned_session_is_finished(const OwnedSession *session);
/* When it is freed because nobody has it; UINT64_MAX: not by itself. */
uint64_t owned_session_deadline(const OwnedSession *session);

/* The owner wants it no more, or is gone, and it is not detached: it ends. Without an output nobody could get at the
 * data any longer; with one, what was recorded is still written. May free it. */
void owned_session_leave(OwnedSession *session);
