/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The gates of clients on sockets (gate/gate.h), in the main loop
 *
 * What a gate passes on is dispatched in the same turn of the loop, and what is sent for it leaves in the same turn.
 */

#include <systemd/sd-id128.h>

#include "bus/link/connection.h"

int bus_gates_init(Bus *bus);
void bus_gates_deinit(Bus *bus); /* when no gate is left; a zeroed bus is allowed */

/* Makes a gate for a connected socket, which is always taken over. *ret_fd is for sd-bus. */
int bus_gate_new(Gate **ret, int *ret_fd, Bus *bus, int fd, uid_t uid, uid_t user, sd_id128_t id);

/* From now on the gate tells the client's link when messages have arrived. */
void bus_gate_belongs_to(Client *client);
