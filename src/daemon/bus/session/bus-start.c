/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Polkit is asked only about sessions that could be recorded: everything else is checked before. While polkit is asked
 * the call is a StartRequest; if the caller goes, the request and the prompt go with it.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "bus/link/bus-error.h"
#include "bus/link/passed-fd.h"
#include "bus/permission/bus-ask.h"
#include "bus/session/bus-options.h"
#include "bus/session/bus-session-output.h"
#include "bus/session/bus-session.h"
#include "bus/session/bus-start.h"
#include "owner/owned-start.h"
#include "shared/bytes.h"
#include "shared/error.h"
#include "shared/fd.h"

typedef struct StartRequest {
        OwnedStart owned;
        Request request;
        Client *client;
        bool is_public;  /* the session's signals are for everybody */
        bool is_partial; /* a source that fails does not fail the session */
} StartRequest;

static StartRequest *start_request_free(StartRequest *start) {
        if (!start)
                return NULL;
        request_deinit(&start->request);
        passed_fd_close(start->client, start->owned.output_fd);
        owned_start_deinit(&start->owned);
        free(start);
        return NULL;
}
DEFINE_CLEANUP(StartRequest *, start_request_free)

static void start_cancel(Request *request) {
        start_request_free(container_of(request, StartRequest, request));
}

/* The call keeps its place among the client's unanswered ones: a session that has begun must not fail because
 * another call has taken that place. */
static int
start_wait(StartRequest *start, BusSession *session, sd_bus_message *message, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *kept = sd_bus_message_ref(message);
        int r;

        request_deinit(&start->request);
        r = session_wait(NULL, session, start->client, kept, WAIT_SESSION, error);
        if (r < 0)
                request_init(&start->request, start->client, kept, start_cancel);
        return r;
}

static int
start_refuse(const StartRequest *start, int r, const OwnedStartError *why, sd_bus_error *error) {
        if (why->is_output)
                return bus_session_refuse_output(error, r, start->client->user, why->why);
        return bus_error_set_session(error, "cannot start the session", r, &why->session);
}

static int start_make(BusSession **ret, StartRequest *start, sd_bus_error *error) {
        _cleanup_(bus_session_freep) BusSession *session = NULL;
        OwnedStartError why;
        int r;

        r = bus_session_allocate(&session, start->client->bus);
        if (r < 0)
                return r;
        r = owned_start_make(&start->owned, &session->owned, &why);
        if (r)
                return start_refuse(start, r, &why, error);
        r = bus_session_publish(session, start->client);
        if (r < 0)
                return r;
        session->is_public = start->is_public;
        session->is_partial = start->is_partial;
        *ret = TAKE(session);
        return 0;
}

/* All is checked and granted. */
static int start_session(StartRequest *start, sd_bus_message *message, sd_bus_error *error) {
        BusSession *session;
        int r;

        r = start_make(&session, start, error);
        if (r < 0)
                return r;
        r = owned_start_run(&session->owned);
        if (r)
                r = bus_error_set_session(error, "cannot start the session", r, NULL);
        if (r >= 0)
                r = start_wait(start, session, message, error);
        if (r < 0)
                bus_session_free(session);
        return r;
}

/* Asks polkit, or begins at once if nothing needs asking. 1: answered later. */
static int start_proceed(StartRequest *start, sd_bus_error *error) {
        AccessRefusal refusal;
        int r;

        r = permission_ask(&start->owned.permission, &refusal);
        if (r < 0)
                return r;
        if (r == PERMISSION_E_REFUSED)
                return permission_refusal_set(error, &refusal);
        if (r == PERMISSION_E_WAITS)
                return 1;
        r = start_session(start, start->request.message, error);
        if (r >= 0)
                start_request_free(start);
        return r;
}

static void on_answer(Permission *permission, int outcome, const AccessRefusal *refusal) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(start_request_freep) StartRequest *start =
                container_of(permission, StartRequest, owned.permission);
        int r = outcome;

        hub_touch(&start->client->hub_link);
        if (refusal)
                r = permission_refusal_set(&error, refusal);
        else if (r == 0)
                r = start_session(start, start->request.message, &error);
        if (r >= 0)
                return;
        if (!sd_bus_error_is_set(&error))
                sd_bus_error_set_errno(&error, r);
        request_reply_error(&start->request, &error);
}

static int start_check(StartRequest *start, PolicyScope scope, sd_bus_error *error) {
        Bus *bus = start->client->bus;
        SessionError why;
        int r;

        r = owned_start_check(&start->owned, bus->info, scope, &why);
        return r ? bus_error_set_session(error, "cannot start the session", r, &why) : 0;
}

static int start_read(StartRequest *start,
                      PolicyScope *ret_scope,
                      sd_bus_message *message,
                      sd_bus_error *error) {
        _cleanup_(start_options_deinit) StartOptions options = START_OPTIONS_INIT;
        OwnedStart *owned = &start->owned;
        int r;

        r = start_options_read(&options, message, error);
        if (r < 0)
                return r;
        r = start_options_to_config(&owned->config, ret_scope, &options, error);
        if (r < 0)
                return r;
        if (options.output_fd >= 0) {
                r = passed_fd_take(&owned->output_fd, options.output_fd, error);
                if (r < 0)
                        return r;
        }
        start->is_public = options.broadcast;
        start->is_partial = options.partial;
        owned->permission.is_interactive =
                sd_bus_message_get_allow_interactive_authorization(message) > 0;
        owned->options = (SessionOptions){
                .has_output = owned->output_fd >= 0,
                .detached = options.detach,
                .is_kept = start->client->bus->keeps,
                .snapshot_before_ns = (uint64_t)options.snapshot_before_ms * 1000000,
        };
        return 0;
}

static int start_request_new(StartRequest **ret, Client *client) {
        const AccessPeer peer = access_peer_of(client);
        const AccessHost access = bus_access(client->bus);
        StartRequest *start;

        start = calloc(1, sizeof(*start));
        if (!start)
                return -ENOMEM;
        start->client = client;
        owned_start_init(&start->owned,
                         &client->bus->sessions,
                         client->bus->service,
                         &access,
                         &peer,
                         on_answer);
        *ret = start;
        return 0;
}

int bus_method_start_session(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(start_request_freep) StartRequest *start = NULL;
        Bus *bus = userdata;
        PolicyScope scope;
        int r;

        r = start_request_new(&start, bus->caller);
        if (r < 0)
                return r;
        r = start_read(start, &scope, message, error);
        if (r < 0)
                return r;
        r = start_check(start, scope, error);
        if (r < 0)
                return r;
        if (request_init(&start->request, start->client, message, start_cancel))
                return request_refuse(error);
        r = start_proceed(start, error);
        if (r >= 0)
                start = NULL; /* freed, or waiting for polkit */
        return r;
}
