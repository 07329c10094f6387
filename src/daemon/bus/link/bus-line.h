/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The line to the message bus, with a gate in it (gate/gate-thread.h)
 *
 * Opens the connection as sd_bus_open_system() and sd_bus_open_user() do, but with a gate in between. There is no gate
 * for addresses other than sockets in the file system and abstract ones, and then descriptors cannot be received.
 */

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "gate/gate.h"
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

/* Attaches the line to the main loop. Until it is detached nothing may wait for an answer of the message bus, as
 * only the loop moves messages. NULL is allowed, and so is a second call. */
int bus_line_attach(BusLine *line, sd_event *event);
void bus_line_detach(BusLine *line);

/* While attached: the first sends as much as the message bus takes. The second says whether the bus is behind with
 * reading; then all messages wait, no matter for whom. */
void bus_line_pump(BusLine *line);
bool bus_line_is_behind(const BusLine *line);
/* Whether there is more to read than the last turn had time for. */
bool bus_line_has_more(const BusLine *line);
/* gate_refuse_replies(), gate_has_taken() */
void bus_line_refuse_replies(BusLine *line, const GateRefusal *refusal);
bool bus_line_has_taken(BusLine *line);

/* After the connection was closed: waits until everything it has queued is sent. */
BusLine *bus_line_free(BusLine *line);
