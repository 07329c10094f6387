/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Polkit is asked only about what could be done: everything else is checked before. While it is asked the call is
 * a StartRequest; if the caller goes, so do it and the prompt.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "bus/bus-error.h"
#include "bus/bus-options.h"
#include "bus/bus-polkit.h"
#include "bus/bus-session.h"
#include "bus/bus-start.h"
#include "core/policy.h"
#include "shared/bytes.h"
#include "shared/error.h"
#include "shared/fd.h"
#include "shared/names.h"

#define DURATION_TEXT_BYTES sizeof("4294967295")

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

/* What each need is called in polkit, and what to do without it. */
static const struct {
        unsigned need;
        const char *action;
        const char *what;
        const char *instead;
} start_needs[] = {
        { POLICY_NEEDS_TRACE_SYSTEM,
          TRACING_ACTION_TRACE_SYSTEM,
          "recording the kernel, the system or other users' programs",
          "record your own programs only (scope \"own\", no linux.* or desktrace.* source)" },
        { POLICY_NEEDS_DETACH,
          TRACING_ACTION_DETACH,
          "a detached session without a deadline",
          "set a duration of at most 7 days" },
        { POLICY_NEEDS_MANAGE,
          TRACING_ACTION_MANAGE,
          "exclusive_prio, which ends the sessions of others,",
          "leave it out" },
};

static StartRequest *start_request_free(StartRequest *start) {
        if (!start)
                return NULL;
        polkit_query_free(start->query);
        request_deinit(&start->request);
        config_free(start->config);
        fd_close(start->output_fd);
        free(start);
        return NULL;
}
DEFINE_CLEANUP(StartRequest *, start_request_free)

static void start_cancel(Request *request) {
        start_request_free(container_of(request, StartRequest, request));
}

static size_t need_find(unsigned needs) {
        size_t i = 0;

        while (i + 1 < ARRAY_SIZE(start_needs) && !(needs & start_needs[i].need))
                i++;
        return i;
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
        if (!session_config(session->session)->pb->deferred_start) {
                r = session_start(session->session, bus_now(session->bus));
                if (r)
                        r = bus_error_set_session(error, "cannot start the session", r, NULL);
        }
        if (r >= 0)
                r = session_wait(NULL, session, start->client, message, WAIT_SESSION, error);
        if (r < 0)
                bus_session_free(session);
        return r;
}

static int start_refuse(const StartRequest *start, PolkitAnswer answer, sd_bus_error *error) {
        const size_t i = need_find(start->asked);

        switch (answer) {
        case POLKIT_NEEDS_INTERACTION:
                return bus_error_set(error,
                                     BUS_ERROR_AUTHORIZATION_NEEDED,
                                     "%s needs %s, and polkit would have to ask the user; call "
                                     "again with interactive "
                                     "authorization allowed, or %s",
                                     start_needs[i].what,
                                     start_needs[i].action,
                                     start_needs[i].instead);
        case POLKIT_UNAVAILABLE:
                return bus_error_set(error,
                                     BUS_ERROR_NOT_AUTHORIZED,
                                     "%s needs %s, and there is no polkit to grant it here; use "
                                     "the system instance on "
                                     "the system bus, be root, or %s",
                                     start_needs[i].what,
                                     start_needs[i].action,
                                     start_needs[i].instead);
        case POLKIT_DENIED:
        case POLKIT_GRANTED:
        default:
                return bus_error_set(
                        error,
                        BUS_ERROR_NOT_AUTHORIZED,
                        "%s needs %s, which polkit denied; ask an administrator for a rule, or %s",
                        start_needs[i].what,
                        start_needs[i].action,
                        start_needs[i].instead);
        }
}

/* All of them: a rule that allows what it sees must see everything. */
static int sources_text(char **ret, const Config *config) {
        _cleanup_(bytes_deinit) Bytes text = {};
        int r;

        for (size_t i = 0; i < config->pb->n_data_sources; i++) {
                const Perfetto__Protos__DataSourceConfig *source =
                        config->pb->data_sources[i]->config;
                const char *name = source && source->name ? source->name : "";

                r = bytes_append(&text, ",", i > 0);
                if (r >= 0)
                        r = bytes_append(&text, name, strlen(name));
                if (r < 0)
                        return r;
        }
        r = bytes_append(&text, "", 1);
        if (r < 0)
                return r;
        *ret = (char *)TAKE(text.data);
        return 0;
}

static void on_answer(void *userdata, PolkitAnswer answer);

static int start_ask(StartRequest *start, sd_bus_error *error) {
        const size_t i = need_find(start->needs);
        _cleanup_(freep) char *sources = NULL;
        char duration_ms[DURATION_TEXT_BYTES];
        const char *name = start->config->pb->unique_session_name;
        int r;

        r = sources_text(&sources, start->config);
        if (r < 0)
                return r;
        snprintf(duration_ms, sizeof(duration_ms), "%" PRIu32, start->config->pb->duration_ms);
        start->asked = start_needs[i].need;
        r = polkit_ask(&start->query,
                       start->client,
                       start_needs[i].action,
                       (const PolkitDetail[]){ { "sources", sources },
                                               { "duration-ms", duration_ms },
                                               { "session", name ? name : "" } },
                       3,
                       start->is_interactive,
                       on_answer,
                       start);
        if (r == POLKIT_E_UNAVAILABLE)
                return start_refuse(start, POLKIT_UNAVAILABLE, error);
        if (r == POLKIT_E_LIMIT)
                return bus_error_set(error,
                                     BUS_ERROR_LIMIT_EXCEEDED,
                                     "%d polkit checks of this user are pending; answer them first",
                                     POLKIT_PENDING_PER_UID_MAX);
        return error_fold(r);
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
        if (answer == POLKIT_GRANTED)
                r = start_proceed(start, &error);
        else
                r = start_refuse(start, answer, &error);
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
        start->output_fd = TAKE_FD(options.output_fd);
        start->is_public = options.broadcast;
        start->is_partial = options.partial;
        start->is_interactive = sd_bus_message_get_allow_interactive_authorization(message) > 0;
        start->options = (SessionOptions){
                .owner = start->client->identity,
                .has_output = start->output_fd >= 0,
                .detached = options.detach,
        };
        start->needs = policy_session_needs(bus->info,
                                            &start->options.owner,
                                            start->config,
                                            scope,
                                            options.detach,
                                            &start->options.scope);
        return 0;
}

static int start_check(const StartRequest *start, sd_bus_error *error) {
        SessionError why = {};
        int r;

        if (start->config->pb->write_into_file && !start->options.has_output)
                return bus_error_set(
                        error,
                        BUS_ERROR_BAD_CONFIG,
                        "the config says write_into_file, but there is no file; give the option "
                        "\"output\"");
        r = session_check(start->client->bus->service,
                          start->config,
                          &start->options,
                          &why,
                          bus_now(start->client->bus));
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
                return bus_error_set(
                        error,
                        BUS_ERROR_LIMIT_EXCEEDED,
                        "this connection has %d unanswered calls; wait for their replies",
                        BUS_REQUESTS_PER_CLIENT_MAX);
        r = start_proceed(start, error);
        if (r >= 0)
                start = NULL; /* freed, or waiting for polkit */
        return r;
}
