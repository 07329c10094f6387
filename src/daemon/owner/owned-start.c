/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Owned start: the steps of a start that both transports share. The config belongs to the start until a session
 * of the core has it. */

#include "owner/owned-start.h"
#include "core/trigger.h"

void owned_start_init(OwnedStart *start,
                      OwnedSessions *sessions,
                      Service *service,
                      const AccessHost *access,
                      const AccessPeer *peer,
                      PermissionDone done) {
        *start = (OwnedStart){
                .permission = { .access = *access, .peer = *peer, .done = done },
                .sessions = sessions,
                .service = service,
                .user = peer->user,
                .output_fd = -1,
        };
}

void owned_start_deinit(OwnedStart *start) {
        permission_deinit(&start->permission);
        start->config = config_free(start->config);
}

int owned_start_check(OwnedStart *start,
                      const ServiceInfo *info,
                      PolicyScope scope,
                      SessionError *error) {
        SessionOptions *options = &start->options;
        int r;

        options->owner = start->permission.peer.identity;
        start->permission.config = start->config;
        start->permission.needs = policy_session_needs(
                info, &options->owner, start->config, scope, options->detached, &options->scope);
        do {
                *error = (SessionError){};
                r = session_check(start->service,
                                  start->config,
                                  options,
                                  error,
                                  owned_sessions_now(start->sessions));
        } while (r == SESSION_E_LIMIT && error->is_quota &&
                 owned_sessions_drop_left(start->sessions, options->owner.uid));
        return r;
}

static int owned_start_open(OwnedStart *start, OwnedSession *session, const char **ret_why) {
        int none = -1;

        if (!start->options.is_kept)
                return session_stream_open(
                        &session->stream, start->user, start->config, &start->output_fd, ret_why);
        return session_stream_open_kept(
                &session->stream, start->user, start->config, &start->output_fd, &none, ret_why);
}

int owned_start_make(OwnedStart *start, OwnedSession *session, OwnedStartError *error) {
        int r;

        *error = (OwnedStartError){};
        if (start->options.has_output) {
                r = owned_start_open(start, session, &error->why);
                error->is_output = r != 0;
                if (r)
                        return r;
        }
        r = owned_session_new(
                session, start->service, start->config, &start->options, &error->session);
        if (r == 0)
                start->config = NULL;
        return r;
}

int owned_start_run(const OwnedSession *session) {
        if (session_is_deferred(session->session))
                return 0;
        return session_start(session->session, owned_sessions_now(session->sessions));
}
