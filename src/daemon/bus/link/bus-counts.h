/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * NumSessions and NumProducers: to each client those that it may see
 *
 * A client is told of a change only when one of its own numbers has changed.
 */

#include "bus/link/connection.h"

/* NULL stands for all on a bus of one user. */
size_t bus_n_sessions(const Bus *bus, const Client *viewer);
size_t bus_n_producers(const Bus *bus, const Client *viewer);

/* The client has been told, or begins to listen: what comes later is news. */
void client_note_counts(Client *client);
bool client_has_new_counts(const Client *client);
