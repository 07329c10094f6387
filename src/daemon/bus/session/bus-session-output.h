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

/* Sends everything that can be read now to `fd`, which is taken over on success only. */
int bus_session_read_into(BusSession *session,
                          Client *client,
                          sd_bus_message *message,
                          int *fd,
                          sd_bus_error *error);
