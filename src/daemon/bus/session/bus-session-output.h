/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The outputs of sessions: descriptors that callers passed. */

#include "bus/object/bus-session.h"

/* What to reply after an outcome of session_stream_open…(): fills *error and returns a negative errno. */
int bus_session_refuse_output(sd_bus_error *error, int r, uid_t user, const char *why);

/* Opens the output for what a session of this config records. `fd` is taken over on success only. */
int bus_session_open_output(BusSession *session,
                            uid_t user,
                            const Config *config,
                            int *fd,
                            sd_bus_error *error);

/* A read that the earlier process had begun goes on without its caller. Closes it if it is done, and nobody has
 * asked for its outcome. */
void bus_session_end_read(BusSession *session);
/* Whether such a read writes to the file or pipe of this descriptor: the caller has come back to it. */
bool bus_session_read_goes_on(const BusSession *session, int fd);
/* Replies when it is done. */
int bus_session_await_read(BusSession *session,
                           Client *client,
                           sd_bus_message *message,
                           sd_bus_error *error);

/* Sends everything that can be read now to `fd`, which is taken over on success only. */
int bus_session_read_into(BusSession *session,
                          Client *client,
                          sd_bus_message *message,
                          int *fd,
                          sd_bus_error *error);
