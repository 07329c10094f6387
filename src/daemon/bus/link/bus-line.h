/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The line to the message bus, with a gate in it (gate/gate-thread.h)
 *
 * Opens the connection as sd_bus_open_system() and sd_bus_open_user() do, but for the gate. Addresses other than those
 * of sockets in the file system, or abstract ones, go without: descriptors that come that way cannot be taken.
 */

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "shared/identity.h"

typedef struct BusLine BusLine;

/* The login user whose limits count for a peer, as ServiceOps.user_of. Called on the gate's thread. */
typedef uid_t (*BusLineUserOf)(void *userdata, const Identity *identity);

/* *ret_bus is the caller's reference. */
int bus_line_open(BusLine **ret,
                  sd_bus **ret_bus,
                  bool is_system,
                  BusLineUserOf user_of,
                  void *userdata);

/* Once attached, the line needs the main loop, so nothing may wait for an answer of the message bus any more, until it
 * is detached. NULL, and a second time, are allowed. */
int bus_line_attach(BusLine *line, sd_event *event);
void bus_line_detach(BusLine *line);

/* Once the connection is closed; waits until all that it said is sent. */
BusLine *bus_line_free(BusLine *line);
