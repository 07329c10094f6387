/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A session of a service that is gone, in the one that came after it
 *
 * It goes on in the state that it was in, under its number and its uuid: it waits for its start, records, or can be
 * read. What was due meanwhile is due at once. Producers come back by registering, as they do to any service that has
 * started; those whose memory was kept go on in it (core/producer-restore.h).
 */

#include "core/life/session-make.h"
#include "core/life/session-past.h"
#include "core/session.h"

typedef struct SessionFormer {
        uint64_t id;
        uint64_t uuid[2];
        uint64_t started_at;  /* BOOTTIME */
        uint64_t cloned_from; /* 0: no clone. One has stopped, and no sources or triggers */
        uint64_t left_at;     /* the last that is known of the service that is gone */
        FormerBuffer *buffers;
        size_t n_buffers; /* as many as the config has */
        uint64_t
                n_packets_out; /* that have come out of the buffers to where they are written; of one with an output */
        uint64_t said;    /* session_said() of what has come there */
        const void *past; /* as session_put_past() has written it; empty: it was recording */
        size_t n_past;
        const uint64_t *producers; /* that are to be restored: see producer-restore.h */
        size_t n_producers;
        uint64_t
                n_lost; /* set by session_restore(): packets that have not come to where they are written */
} SessionFormer;

/* Nobody has registered yet, and no other session has the number. Takes the config over on success only. As
 * session_new(), but what was checked then is not checked again; -EBADMSG: the buffers are another version's, or
 * torn. */
int session_restore(Session **ret,
                    Service *service,
                    Config *config,
                    const SessionOptions *options,
                    const SessionOps *ops,
                    void *peer,
                    SessionFormer *former,
                    SessionError *error,
                    uint64_t now);

/* Leaves the session to the next service: what is in its buffers stays in their files when it is freed. */
void session_leave(Session *session);

/* Whether it should be left to the next service, and its buffers are still in private memory: it was detached after its
 * start, or is a clone that nobody reads now. */
bool session_awaits_keeping(const Session *session);
/* When to begin with that: most clones are fetched at once, and are not worth it before. */
uint64_t session_keep_from(const Session *session);
/* Moves them into files; each call copies about this many bytes. Where there is no memory for it the session stays what
 * it was, and waits no longer. */
void session_keep(Session *session, size_t max_bytes);
