/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A session's output on D-Bus: errors in words, and ReadInto().
 */

#include "bus/session/bus-session-output.h"
#include "bus/session/bus-session.h"

int bus_session_refuse_output(sd_bus_error *error, int r, uid_t user, const char *why) {
        if (r == OUTPUT_E_LIMIT)
                return bus_error_set(error,
                                     BUS_ERROR_LIMIT_EXCEEDED,
                                     "too many outputs of uid %u are still being written or are "
                                     "blocked; read or close them",
                                     (unsigned)user);
        if (r == OUTPUT_E_UNUSABLE)
                return bus_error_set(
                        error, BUS_ERROR_OUTPUT_FAILED, "cannot write to the output: %s", why);
        return sd_bus_error_set_errnof(error, r, "cannot write to the output: %s", strerror(-r));
}

int bus_session_open_output(BusSession *session,
                            uid_t user,
                            const Config *config,
                            int *fd,
                            sd_bus_error *error) {
        const char *why;
        int r;

        r = session_stream_open(&session->owned.stream, user, config, fd, &why);
        return r ? bus_session_refuse_output(error, r, user, why) : 0;
}

int bus_session_read_into(BusSession *session,
                          Client *client,
                          sd_bus_message *message,
                          int *fd,
                          sd_bus_error *error) {
        const char *why;
        int r;

        r = session_stream_open_read(&session->owned.stream, client->user, fd, &why);
        if (r)
                return bus_session_refuse_output(error, r, client->user, why);
        r = session_wait(NULL, session, client, message, WAIT_READ_INTO, error);
        if (r < 0)
                session_stream_close(&session->owned.stream);
        return r;
}
