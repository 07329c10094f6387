/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Owned start: a session that a peer has asked for, until it has started
 *
 * First what could not be recorded anyway is refused, then polkit is asked for what the session needs, then the session
 * is made with its output, and started. Embedded in the transport's request; how that is read and answered, and what
 * shows the session, is the transport's.
 */

#include "core/model/policy.h"
#include "owner/owned-session.h"
#include "owner/permission.h"

typedef struct OwnedStart {
        Permission permission;
        OwnedSessions *sessions;
        Service *service;
        uid_t user; /* whose limits count for the output */
        Config *config;
        SessionOptions options;
        int output_fd; /* -1: none. What is left of it, the transport closes */
} OwnedStart;

/* Why there is no session, for the transport to say. */
typedef struct OwnedStartError {
        bool is_output;       /* the outcome is session_stream_open()'s, not the core's */
        const char *why;      /* of the output; may be NULL */
        SessionError session; /* of the core */
} OwnedStartError;

/* The peer is the permission's. */
void owned_start_init(OwnedStart *start,
                      OwnedSessions *sessions,
                      Service *service,
                      const AccessHost *access,
                      const AccessPeer *peer,
                      PermissionDone done);
void owned_start_deinit(OwnedStart *start);

/* Whether the session could be had at all. Config and options are set; fills in what it needs of polkit. Where a
 * quota is used up, sessions give way that the same uid has left behind. Returns 0, SESSION_E_… or a negative errno. */
int owned_start_check(OwnedStart *start,
                      const ServiceInfo *info,
                      PolicyScope scope,
                      SessionError *error);

/* All is granted: opens the output, and makes the session of one that is allocated. Returns 0, an outcome as the
 * error says, or a negative errno. The transport publishes it next. */
int owned_start_make(OwnedStart *start, OwnedSession *session, OwnedStartError *error);

/* Starts what was made and published, unless its config has it wait. As session_start(). */
int owned_start_run(const OwnedSession *session);
