/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Identities of peers on the message bus, as the bus daemon attests them
 *
 * The daemon is asked once for each peer. Only that peer's messages wait for the answer: they are kept here, and
 * dispatched again in their order once the peer is a Client.
 */

#include "bus/link/bus.h"

/* Messages of all peers that may wait. The bus daemon answers as soon as it reads, so more than this is a flood. Then
 * peers with fewer messages take the places of those with most. This is many times the connections that dbus-daemon
 * allows a user of the system bus, so that one user's peers leave room for a call of another's. */
#define BUS_UNKNOWN_MESSAGES_MAX 4096
#define BUS_UNKNOWN_MESSAGES_OF_ONE_MAX \
        128 /* of a connection: the system bus lets it wait for no more replies */

/* Makes the Client: 0, or a negative errno with *error set. */
typedef int (*BusIdentityKnown)(Bus *bus,
                                const char *name,
                                const Identity *identity,
                                sd_bus_error *error);

/* Sets a call aside whose sender is no Client yet, until the sender is known. Returns 1, or a negative errno with
 * *error set. */
int bus_identity_ask(Bus *bus,
                     sd_bus_message *message,
                     BusIdentityKnown known,
                     sd_bus_error *error);

/* Asks about a peer that has not called yet. Returns 0 or a negative errno. */
int bus_identity_ask_for(Bus *bus, const char *name, BusIdentityKnown known);

/* Drops all questions, and the messages that wait for them. */
void bus_identities_deinit(Bus *bus);
