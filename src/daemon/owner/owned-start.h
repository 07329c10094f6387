/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Owned start: a session that a peer has asked for, until it has started
 *
 * First, a session that could not record anyway is refused; then polkit is asked for what the session needs; then
 * the session is made with its output, and started. It is embedded in the transport's request. How the request is
 * read and answered, and how the session is shown, is up to the transport.
 */

#include "core/model/policy.h"
#include "owner/owned-session.h"
#include "owner/permission.h"

typedef struct OwnedStart {
        Permission permission;
        OwnedSessions *sessions;
        Service *service;
        uid_t user; /* whose limits apply to the output */
        Config *config;
        SessionOptions options;
        int output_fd; /* -1: none. Unless it was taken over, the transport closes it */
} OwnedStart;

/* Why there is no session, for the transport to say. */
typedef struct OwnedStartError {
        bool is_output;       /* the outcome came from session_stream_open(), not from the core */
        const char *why;      /* the output's reason; may be NULL */
        SessionError session; /* of the core */
} OwnedStartError;

/* The peer is kept in the permission. */
void owned_start_init(OwnedStart *start,
                      OwnedSessions *sessions,
                      Service *service,
                      const AccessHost *access,
                      const AccessPeer *peer,
                      PermissionDone done);
void owned_start_deinit(OwnedStart *start);

/* Checks whether the session could record at all. Config and options are set; fills in what the session needs
 * from polkit. If a quota is used up, sessions that the same uid has left behind are freed. Returns 0,
 * SESSION_E_… or a negative errno. */
int owned_start_check(OwnedStart *start,
                      const ServiceInfo *info,
                      PolicyScope scope,
                      SessionError *error);

/* To be called when everything is granted: opens the output, and makes the session in the allocated object.
 * Returns 0, an outcome as the error says, or a negative errno. The transport publishes it next. */
int owned_start_make(OwnedStart *start, OwnedSession *session, OwnedStartError *error);

/* Starts the session after it was published, unless its config makes it wait. The same as session_start(). */
int owned_start_run(const OwnedSession *session);
