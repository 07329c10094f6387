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

static bool read_is_awaited(const BusSession *session) {
        const SessionWaiter *waiter;

        list_for_each (waiter, &session->waiters, link)
                if (waiter->what == WAIT_READ_INTO)
                        return true;
        return false;
}

void bus_session_end_read(BusSession *session) {
        const SessionStream *stream = &session->owned.stream;

        if (session_stream_is_read(stream) && session_stream_is_done(stream) &&
            !read_is_awaited(session)) {
                session_stream_close(&session->owned.stream);
                session->owned.is_read_kept = false;
        }
}

bool bus_session_read_goes_on(const BusSession *session, int fd) {
        const SessionStream *stream = &session->owned.stream;

        return session_stream_is_read(stream) && !read_is_awaited(session) &&
               session_stream_is_same(stream, fd);
}

static int bus_session_open_read(BusSession *session, uid_t user, int *fd, const char **ret_why) {
        const Config *config = session_config(session->owned.session);
        SessionStream *stream = &session->owned.stream;
        int none = -1;

        if (!session->owned.is_kept)
                return session_stream_open_read(stream, user, config, fd, ret_why);
        return session_stream_open_kept_read(stream, user, config, fd, &none, ret_why);
}

int bus_session_await_read(BusSession *session,
                           Client *client,
                           sd_bus_message *message,
                           sd_bus_error *error) {
        return session_wait(NULL, session, client, message, WAIT_READ_INTO, error);
}

int bus_session_read_into(BusSession *session,
                          Client *client,
                          sd_bus_message *message,
                          int *fd,
                          sd_bus_error *error) {
        const char *why;
        int r;

        r = bus_session_open_read(session, client->user, fd, &why);
        if (r)
                return bus_session_refuse_output(error, r, client->user, why);
        r = bus_session_await_read(session, client, message, error);
        if (r < 0)
                session_stream_close(&session->owned.stream);
        return r;
}
