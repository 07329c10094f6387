/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * NumSessions and NumProducers: how many of them each client may see
 *
 * A client is told of a change only if one of its own numbers has changed.
 */

#include "bus/link/connection.h"

/* `client` NULL: counts everything, for a broadcast on a bus of one user. */
size_t bus_n_sessions(const Bus *bus, const Client *viewer);
size_t bus_n_producers(const Bus *bus, const Client *viewer);

/* Notes that the client knows the numbers, because it was told or has just begun to listen. */
void client_note_counts(Client *client);
bool client_has_new_counts(const Client *client);
