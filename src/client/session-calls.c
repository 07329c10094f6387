/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Session calls: calls to a session that several verbs need */

#include "client/session-calls.h"
#include "client/silent-sources.h"
#include "shared/names.h"

/* Sends `call`, unless making it failed with `r`. */
static ExitStatus session_call(const SessionCalls *calls,
                               sd_bus_message *call,
                               int r,
                               uint64_t timeout_usec,
                               sd_bus_message **ret_reply) {
        if (r < 0)
                return bus_client_say_errno(r);
        return waiting_call(calls->waiting, calls->client, call, timeout_usec, ret_reply);
}

static int session_new_call(const SessionCalls *calls,
                            sd_bus_message **ret,
                            const char *path,
                            const char *member) {
        return bus_client_new_call(calls->client, ret, path, TRACING_SESSION_INTERFACE, member);
}

ExitStatus session_call_stop(const SessionCalls *calls, const char *path, GPtrArray **ret_silent) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;
        ExitStatus status;
        int r;

        r = session_new_call(calls, &call, path, "Stop");
        status = session_call(calls, call, r, SESSION_STOP_TIMEOUT_USEC, &reply);
        if (status)
                return status;
        r = silent_sources_read(ret_silent, reply);
        return r < 0 ? bus_client_say_errno(r) : STATUS_OK;
}

ExitStatus
session_call_read_into(const SessionCalls *calls, const char *path, int fd, uint64_t *ret_n_bytes) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;
        ExitStatus status;
        int r;

        r = session_new_call(calls, &call, path, "ReadInto");
        if (r >= 0)
                r = sd_bus_message_append(call, "h", fd);
        status = session_call(calls, call, r, SESSION_READ_TIMEOUT_USEC, &reply);
        if (status)
                return status;
        r = sd_bus_message_read(reply, "t", ret_n_bytes);
        return r < 0 ? bus_client_say_errno(r) : STATUS_OK;
}

ExitStatus session_call_free(const SessionCalls *calls, const char *path) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r = session_new_call(calls, &call, path, "Free");

        return session_call(calls, call, r, SESSION_STOP_TIMEOUT_USEC, NULL);
}

ExitStatus session_call_clone(const SessionCalls *calls,
                              const char *path,
                              uint32_t before_ms,
                              char **ret_clone) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;
        const char *clone;
        ExitStatus status;
        int r;

        r = session_new_call(calls, &call, path, "Clone");
        if (r >= 0)
                r = before_ms ? sd_bus_message_append(call, "a{sv}", 1, "before-ms", "u", before_ms)
                              : sd_bus_message_append(call, "a{sv}", 0);
        status = session_call(calls, call, r, SESSION_STOP_TIMEOUT_USEC, &reply);
        if (status)
                return status;
        r = sd_bus_message_read(reply, "o", &clone);
        if (r < 0)
                return bus_client_say_errno(r);
        *ret_clone = g_strdup(clone);
        return STATUS_OK;
}
