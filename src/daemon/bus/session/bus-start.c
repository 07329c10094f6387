/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Polkit is asked only about what could be done: everything else is checked before. While it is asked the call is
 * a StartRequest; if the caller goes, so do it and the prompt.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "bus/link/bus-error.h"
#include "bus/link/passed-fd.h"
#include "bus/object/bus-session.h"
#include "bus/permission/bus-need.h"
#include "bus/session/bus-options.h"
#include "bus/session/bus-start.h"
#include "core/model/policy.h"
#include "core/trigger.h"
#include "shared/bytes.h"
#include "shared/error.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "shared/process-time.h"

typedef struct StartRequest {
        Request request;
        Client *client;
        Config *config;
        SessionOptions options;
        int output_fd;
        bool is_interactive;
        bool is_public;  /* the session's signals are for everybody */
        bool is_partial; /* a source that fails does not fail the session */
        unsigned needs;  /* POLICY_NEEDS_…, not granted yet */
        unsigned asked;  /* the one that polkit is asked about now */
        PolkitQuery *query;
} StartRequest;

static StartRequest *start_request_free(StartRequest *start) {
        if (!start)
                return NULL;
        polkit_query_free(start->query);
        request_deinit(&start->request);
        config_free(start->config);
        passed_fd_close(start->client, start->output_fd);
        free(start);
        return NULL;
}
DEFINE_CLEANUP(StartRequest *, start_request_free)

static void start_cancel(Request *request) {
        start_request_free(container_of(request, StartRequest, request));
}

/* The call keeps its place among the unanswered ones: a session that has begun is not given up for want of one more. */
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

/* All is checked and granted. */
static int start_session(StartRequest *start, sd_bus_message *message, sd_bus_error *error) {
        BusSession *session;
        int r;

        r = bus_session_new(
                &session, start->client, &start->config, &start->output_fd, &start->options, error);
        if (r < 0)
                return r;
        session->is_public = start->is_public;
        session->is_partial = start->is_partial;
        if (!session_is_deferred(session->owned.session)) {
                r = session_start(session->owned.session, bus_now(session->bus));
                if (r)
                        r = bus_error_set_session(error, "cannot start the session", r, NULL);
        }
        if (r >= 0)
                r = start_wait(start, session, message, error);
        if (r < 0)
                bus_session_free(session);
        return r;
}

static void on_answer(void *userdata, PolkitAnswer answer);

/* On a socket, who needs no polkit's word may still need that of the probes, which know it by its process. */
static PolkitSubject start_subject(const StartRequest *start) {
        PolkitSubject subject = polkit_subject_of(start->client);

        if (client_is_private(start->client) && start->asked & POLICY_NEEDS_GUARDED) {
                subject.pid = start->client->identity.pid;
                (void)process_start_time(subject.pid, &subject.start_time);
        }
        return subject;
}

static int start_ask(StartRequest *start, sd_bus_error *error) {
        start->asked = need_first(start->needs);
        return need_ask(&start->query,
                        start->client->bus,
                        &(NeedQuestion){
                                .subject = start_subject(start),
                                .need = start->asked,
                                .config = start->config,
                                .is_interactive = start->is_interactive,
                                .done = on_answer,
                                .userdata = start,
                        },
                        error);
}

/* The next question, or the session. 1: answered later. */
static int start_proceed(StartRequest *start, sd_bus_error *error) {
        int r;

        if (start->needs) {
                r = start_ask(start, error);
                return r < 0 ? r : 1;
        }
        r = start_session(start, start->request.message, error);
        if (r >= 0)
                start_request_free(start);
        return r;
}

static void on_answer(void *userdata, PolkitAnswer answer) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        StartRequest *start = userdata;
        int r;

        start->query = NULL;
        start->needs &= ~start->asked;
        hub_touch(&start->client->hub_link);
        if (answer == POLKIT_GRANTED)
                r = start_proceed(start, &error);
        else
                r = need_refuse(start->asked, answer, &error);
        if (r >= 0)
                return;
        if (!sd_bus_error_is_set(&error))
                sd_bus_error_set_errno(&error, r);
        request_reply_error(&start->request, &error);
        start_request_free(start);
}

static int start_read(StartRequest *start, sd_bus_message *message, sd_bus_error *error) {
        _cleanup_(start_options_deinit) StartOptions options = START_OPTIONS_INIT;
        Bus *bus = start->client->bus;
        PolicyScope scope;
        int r;

        r = start_options_read(&options, message, error);
        if (r < 0)
                return r;
        r = start_options_to_config(&start->config, &scope, &options, error);
        if (r < 0)
                return r;
        if (options.output_fd >= 0) {
                r = passed_fd_take(&start->output_fd, options.output_fd, error);
                if (r < 0)
                        return r;
        }
        start->is_public = options.broadcast;
        start->is_partial = options.partial;
        start->is_interactive = sd_bus_message_get_allow_interactive_authorization(message) > 0;
        start->options = (SessionOptions){
                .owner = start->client->identity,
                .has_output = start->output_fd >= 0,
                .detached = options.detach,
                .snapshot_before_ns = (uint64_t)options.snapshot_before_ms * 1000000,
        };
        start->needs = policy_session_needs(bus->info,
                                            &start->options.owner,
                                            start->config,
                                            scope,
                                            options.detach,
                                            &start->options.scope);
        return 0;
}

/* What the same uid has recorded and left behind gives way, and nothing else does. */
static int start_check(const StartRequest *start, sd_bus_error *error) {
        Bus *bus = start->client->bus;
        SessionError why;
        int r;

        do {
                why = (SessionError){};
                r = session_check(bus->service, start->config, &start->options, &why, bus_now(bus));
        } while (r == SESSION_E_LIMIT && why.is_quota &&
                 bus_drop_left_session(bus, start->options.owner.uid));
        return r ? bus_error_set_session(error, "cannot start the session", r, &why) : 0;
}

int bus_method_start_session(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(start_request_freep) StartRequest *start = NULL;
        Bus *bus = userdata;
        int r;

        start = calloc(1, sizeof(*start));
        if (!start)
                return -ENOMEM;
        start->output_fd = -1;
        start->client = bus->caller;
        r = start_read(start, message, error);
        if (r < 0)
                return r;
        r = start_check(start, error);
        if (r < 0)
                return r;
        if (request_init(&start->request, start->client, message, start_cancel))
                return request_refuse(error);
        r = start_proceed(start, error);
        if (r >= 0)
                start = NULL; /* freed, or waiting for polkit */
        return r;
}
