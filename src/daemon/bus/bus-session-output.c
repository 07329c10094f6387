/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A session's output, as D-Bus has it: what is wrong with one in words, ReadInto(), and what is signalled
 */

#include "bus/bus-emit.h"
#include "bus/bus-session.h"

static int set_output_error(sd_bus_error *error, int r, uid_t user, const char *why) {
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

        r = session_stream_open(&session->output, user, config, fd, &why);
        return r ? set_output_error(error, r, user, why) : 0;
}

int bus_session_read_into(BusSession *session,
                          Client *client,
                          sd_bus_message *message,
                          int *fd,
                          sd_bus_error *error) {
        const char *why;
        int r;

        r = session_stream_open_read(&session->output, client->user, fd, &why);
        if (r)
                return set_output_error(error, r, client->user, why);
        r = session_wait(NULL, session, client, message, WAIT_READ_INTO, error);
        if (r < 0)
                session_stream_close(&session->output);
        return r;
}

/* The last bytes fail after the stop, whose reason was signalled by then. */
void bus_session_output_failed(SessionStream *output) {
        bus_emit_session_changed(container_of(output, BusSession, output),
                                 (const char *const[]){ "StopReason", NULL });
}

void bus_session_totals(const BusSession *session, SessionTotals *ret) {
        const SessionStream *output = &session->output;

        session_totals(session->session, ret);
        if (output->output && !session_stream_is_read(output))
                ret->bytes_output = session_stream_n_written(output);
}
