/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Calls of the message bus have turns (turns.h): here is what sd-bus has to do with that.
 */

#include "bus/link/connection.h"

/* Of a call of this client. 0: it is dispatched now; 1: later; a negative errno with *error set: it is refused. */
int bus_turns_take(Client *client, sd_bus_message *call, sd_bus_error *error);

/* The call that was let through before is done: the time it took counts. */
void bus_turns_end(Bus *bus);

/* Dispatches calls that were set aside, for a while, and as long as the bus takes the replies. Whether there are any
 * that need not wait for it. */
bool bus_turns_are_due(const Bus *bus);
void bus_turns_run(Bus *bus);
