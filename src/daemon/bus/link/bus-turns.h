/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Calls of the message bus have turns (turns.h): this is the part that concerns sd-bus.
 */

#include "bus/link/connection.h"

/* For a call of this client. 0: it is dispatched now; 1: later; a negative errno with *error set: it is refused. */
int bus_turns_take(Client *client, sd_bus_message *call, sd_bus_error *error);

/* The call that was let through before is done: the time it took counts, until the bus has read the reply. */
void bus_turns_end(Bus *bus);

/* How much the client may read from a session at once; SIZE_MAX: any amount. */
size_t bus_turns_read_bytes_max(const Client *client);

/* Dispatches calls that were set aside, for a while, and as long as the bus reads the replies. The second returns when
 * that is due; UINT64_MAX: no call was set aside. */
uint64_t bus_turns_deadline(const Bus *bus, uint64_t now);
void bus_turns_run(Bus *bus);
