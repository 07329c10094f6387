/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A session of a service that is gone, in the one that came after it
 *
 * It goes on recording where it was, under its number and its uuid. Producers come back by registering, as they do to
 * any service that has started.
 */

#include "core/life/session-make.h"
#include "core/session.h"

typedef struct SessionFormer {
        uint64_t id;
        uint64_t uuid[2];
        uint64_t started_at; /* BOOTTIME */
        uint64_t left_at;    /* the last that is known of the service that is gone */
        FormerBuffer *buffers;
        size_t n_buffers; /* as many as the config has */
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

/* Whether its buffers lie in files, and it records. */
bool session_can_be_left(const Session *session);
