/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Asking polkit what a session needs: the AccessOps of both transports
 *
 * Polkit is asked about the peer's name on the message bus, or about its process, which is known by its number and its
 * start time together. The host of the table is the Bus.
 */

#include "bus/link/connection.h"
#include "owner/access-ops.h"

/* Whether polkit can be asked: only on the system bus. */
bool bus_can_ask(const Bus *bus);

/* The table with its host, and a client as a peer of it. A client on a socket has no name, so only guarded producers
 * can be asked about it. */
AccessHost bus_access(Bus *bus);
AccessPeer access_peer_of(const Client *client);

/* What to reply to a client that was refused: fills *error and returns a negative errno, for a handler to return. */
int permission_refusal_set(sd_bus_error *error, const AccessRefusal *refusal);
/* Makes the error to reply after POLKIT_E_LIMIT, likewise. */
int polkit_refuse(sd_bus_error *error);
