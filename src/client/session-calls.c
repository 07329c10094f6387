/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Session calls: calls to a session that several verbs need */

#include <glib/gi18n.h>

#include "client/bus-watch.h"
#include "client/outage.h"
#include "client/say.h"
#include "client/session-calls.h"
#include "client/silent-sources.h"
#include "shared/names.h"

#define RETRY_USEC (UINT64_C(100) * 1000)

/* A call that is made again by each process of the service, until one replies. */
typedef struct Ask {
        const char *path, *member;
        int fd;             /* its argument, or -1 */
        uint32_t before_ms; /* likewise, if it has options */
        bool has_options;
        uint64_t timeout_usec;
} Ask;

static int ask_new_call(const SessionCalls *calls, const Ask *ask, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = bus_client_new_call(
                calls->client, &call, ask->path, TRACING_SESSION_INTERFACE, ask->member);
        if (r >= 0 && ask->fd >= 0)
                r = sd_bus_message_append(call, "h", ask->fd);
        if (r >= 0 && ask->has_options)
                r = ask->before_ms ? sd_bus_message_append(
                                             call, "a{sv}", 1, "before-ms", "u", ask->before_ms)
                                   : sd_bus_message_append(call, "a{sv}", 0);
        if (r >= 0)
                *ret = TAKE(call);
        return r;
}

static ExitStatus ask_once(const SessionCalls *calls, const Ask *ask, sd_bus_message **ret_reply) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r = ask_new_call(calls, ask, &call);

        if (r < 0)
                return bus_client_say_errno(r);
        return waiting_send(calls->waiting, calls->client, call, ask->timeout_usec, ret_reply);
}

static uint64_t now_usec(void) {
        return (uint64_t)g_get_monotonic_time();
}

/* Only on a message bus, where the next process has the name of the one before. */
static bool is_lost(const SessionCalls *calls, sd_bus_message *reply) {
        return calls->client->destination && bus_watch_has_lost(reply);
}

/* Makes the call again while nobody is there. *ret_reply stays what it was if nobody comes. */
static ExitStatus
ask_next_process(const SessionCalls *calls, const Ask *ask, sd_bus_message **reply) {
        const uint64_t since = now_usec();
        sd_bus_message *other = NULL;
        ExitStatus status;

        do {
                other = sd_bus_message_unref(other);
                status = waiting_sleep(calls->waiting, RETRY_USEC);
                if (!status)
                        status = ask_once(calls, ask, &other);
                if (status)
                        return status;
        } while (is_lost(calls, other) && now_usec() - since < OUTAGE_MAX_USEC);
        if (is_lost(calls, other)) {
                sd_bus_message_unref(other);
                return STATUS_OK;
        }
        sd_bus_message_unref(*reply);
        *reply = other;
        if (!calls->is_quiet && !bus_watch_knows_no_session(other))
                fprintf(stderr,
                        _("The service was away for %.2f s; the recording goes on.\n"),
                        (double)(now_usec() - since) / 1e6);
        return STATUS_OK;
}

/* *ret_is_gone: another process has replied than the one that was asked first, and knows no such session. */
static ExitStatus
ask(const SessionCalls *calls, const Ask *ask, sd_bus_message **ret_reply, bool *ret_is_gone) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        ExitStatus status;

        *ret_is_gone = false;
        status = ask_once(calls, ask, &reply);
        if (!status && is_lost(calls, reply)) {
                status = ask_next_process(calls, ask, &reply);
                *ret_is_gone = !status && bus_watch_knows_no_session(reply);
        }
        if (status || *ret_is_gone)
                return status;
        if (sd_bus_message_is_method_error(reply, NULL))
                return bus_client_say_error(sd_bus_message_get_error(reply));
        *ret_reply = TAKE(reply);
        return STATUS_OK;
}

/* Reports a session that is gone. */
static ExitStatus
ask_session(const SessionCalls *calls, const Ask *call, sd_bus_message **ret_reply) {
        bool is_gone;
        ExitStatus status = ask(calls, call, ret_reply, &is_gone);

        return is_gone ? session_call_say_gone() : status;
}

ExitStatus session_call_say_gone(void) {
        say_error(_("the service failed, and its next process could not continue the recording"));
        return STATUS_NO_SERVICE;
}

ExitStatus session_call_stop(const SessionCalls *calls, const char *path, GPtrArray **ret_silent) {
        const Ask stop = {
                .path = path, .member = "Stop", .fd = -1, .timeout_usec = SESSION_STOP_TIMEOUT_USEC
        };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        ExitStatus status = ask_session(calls, &stop, &reply);
        int r;

        if (status)
                return status;
        r = silent_sources_read(ret_silent, reply);
        return r < 0 ? bus_client_say_errno(r) : STATUS_OK;
}

ExitStatus session_call_read_into(const SessionCalls *calls,
                                  const char *path,
                                  int fd,
                                  uint64_t *ret_n_bytes,
                                  bool *ret_is_gone) {
        const Ask read = { .path = path,
                           .member = "ReadInto",
                           .fd = fd,
                           .timeout_usec = SESSION_READ_TIMEOUT_USEC };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        ExitStatus status;
        int r;

        status = ret_is_gone ? ask(calls, &read, &reply, ret_is_gone)
                             : ask_session(calls, &read, &reply);
        if (status || !reply)
                return status;
        r = sd_bus_message_read(reply, "t", ret_n_bytes);
        return r < 0 ? bus_client_say_errno(r) : STATUS_OK;
}

/* One that is gone is as good as free. */
ExitStatus session_call_free(const SessionCalls *calls, const char *path) {
        const Ask ask_free = {
                .path = path, .member = "Free", .fd = -1, .timeout_usec = SESSION_STOP_TIMEOUT_USEC
        };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        bool is_gone;

        return ask(calls, &ask_free, &reply, &is_gone);
}

ExitStatus session_call_clone(const SessionCalls *calls,
                              const char *path,
                              uint32_t before_ms,
                              char **ret_clone) {
        const Ask clone_session = { .path = path,
                                    .member = "Clone",
                                    .fd = -1,
                                    .has_options = true,
                                    .before_ms = before_ms,
                                    .timeout_usec = SESSION_STOP_TIMEOUT_USEC };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *clone;
        ExitStatus status = ask_session(calls, &clone_session, &reply);
        int r;

        if (status)
                return status;
        r = sd_bus_message_read(reply, "o", &clone);
        if (r < 0)
                return bus_client_say_errno(r);
        *ret_clone = g_strdup(clone);
        return STATUS_OK;
}
