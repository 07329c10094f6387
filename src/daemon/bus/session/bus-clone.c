/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Session.Clone(): the clone's output is opened first, so that the original is left alone if that fails. The clone
 * becomes an object when the core has made it.
 */

#include <errno.h>

#include "bus/link/option-reader.h"
#include "bus/link/passed-fd.h"
#include "bus/session/bus-clone.h"
#include "bus/session/bus-session-ops.h"
#include "bus/session/bus-session-output.h"
#include "bus/session/bus-session.h"
#include "core/model/policy.h"
#include "shared/fd.h"

typedef struct CloneArguments {
        char *name;
        uint32_t before_ms;
        bool skip_filter;
        bool detach;
        int output_fd; /* the message's; -1: none */
        uint64_t given;
} CloneArguments;

#define FIELD(_name, _type, _member, ...) \
        { _name, _type, offsetof(CloneArguments, _member), ##__VA_ARGS__ }

/* clang-format off */
static const OptionField clone_fields[] = {
        FIELD("output",      "h", output_fd),
        FIELD("before-ms",   "u", before_ms, .is_not_zero = true),
        FIELD("name",        "s", name),
        FIELD("skip-filter", "b", skip_filter),
        FIELD("detach",      "b", detach),
};
/* clang-format on */

static const OptionTable clone_table = { "Clone", clone_fields, ARRAY_SIZE(clone_fields) };

static void clone_arguments_deinit(CloneArguments *arguments) {
        free(arguments->name);
}

static int clone_check(const CloneArguments *arguments, const Client *client, sd_bus_error *error) {
        if (arguments->skip_filter && !policy_may_skip_filter(client->bus->info, &client->identity))
                return bus_error_set(error,
                                     BUS_ERROR_NOT_AUTHORIZED,
                                     "only root may leave out the session's trace filter; clone "
                                     "without \"skip-filter\"");
        if (arguments->name && strlen(arguments->name) > SESSION_NAME_MAX)
                return bus_error_set(error,
                                     BUS_ERROR_BAD_CONFIG,
                                     "the clone's name is longer than %d bytes; shorten it",
                                     SESSION_NAME_MAX);
        return 0;
}

static void on_cloned(OwnedClone *owned) {
        SessionWaiter *waiter = container_of(owned, SessionWaiter, clone);

        bus_session_mark(waiter->session);
}

static int clone_ask(SessionWaiter *waiter,
                     BusSession *clone,
                     const CloneArguments *arguments,
                     sd_bus_error *error) {
        BusSession *session = waiter->session;
        const Client *client = waiter->request.client;
        const CloneOptions options = {
                .owner = client->identity,
                .has_output = clone->owned.stream.output,
                .detached = arguments->detach,
                .skips_filter = arguments->skip_filter,
                .name = arguments->name,
                .before_ns = (uint64_t)arguments->before_ms * 1000000,
        };
        SessionError why = {};
        int r;

        r = owned_clone_ask(
                &waiter->clone, session->owned.session, &clone->owned, &options, on_cloned, &why);
        return r ? bus_error_set_session(error, "cannot clone the session", r, &why) : 1;
}

static int clone_open_output(BusSession *clone,
                             const BusSession *session,
                             const Client *client,
                             int stand_in,
                             sd_bus_error *error) {
        int fd = -1, r;

        r = passed_fd_take(&fd, stand_in, error);
        if (r < 0)
                return r;
        r = bus_session_open_output(
                clone, client->user, session_config(session->owned.session), &fd, error);
        passed_fd_close(client, fd);
        return r;
}

static int clone_prepare(BusSession **ret,
                         const BusSession *session,
                         const Client *client,
                         CloneArguments *arguments,
                         sd_bus_error *error) {
        _cleanup_(bus_session_freep) BusSession *clone = NULL;
        int r;

        r = bus_session_allocate(&clone, session->bus);
        if (r < 0)
                return r;
        if (arguments->output_fd >= 0) {
                r = clone_open_output(clone, session, client, arguments->output_fd, error);
                if (r < 0)
                        return r;
        }
        *ret = TAKE(clone);
        return 0;
}

int bus_method_clone(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(clone_arguments_deinit) CloneArguments arguments = { .output_fd = -1 };
        _cleanup_(bus_session_freep) BusSession *clone = NULL;
        BusSession *session = userdata;
        Client *client = session->bus->caller;
        SessionWaiter *waiter;
        int r;

        r = options_read(&clone_table, &arguments, &arguments.given, message, error);
        if (r < 0)
                return r;
        r = clone_check(&arguments, client, error);
        if (r < 0)
                return r;
        r = clone_prepare(&clone, session, client, &arguments, error);
        if (r < 0)
                return r;
        r = session_wait(&waiter, session, client, message, WAIT_CLONED, error);
        if (r < 0)
                return r;
        r = clone_ask(waiter, TAKE(clone), &arguments, error);
        if (r < 0)
                session_waiter_free(waiter);
        return r;
}

static int clone_reply(SessionWaiter *waiter) {
        BusSession *clone = container_of(owned_clone_adopt(&waiter->clone), BusSession, owned);
        int r;

        r = bus_clone_publish(clone, waiter->session, waiter->request.client);
        if (r == 0)
                request_reply(&waiter->request, "o", clone->path);
        else
                bus_session_free(clone);
        return r;
}

void bus_clone_answer(SessionWaiter *waiter) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r = waiter->clone.outcome ?: clone_reply(waiter);

        if (r == 0)
                return;
        bus_error_set_session(&error, "cannot clone the session", r, NULL);
        request_reply_error(&waiter->request, &error);
}
