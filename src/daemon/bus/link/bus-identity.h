/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Identities of peers on the message bus, which the bus daemon attests
 *
 * It is asked once in the life of a peer, and nothing waits for its answer but that peer's messages: they are kept
 * here, and dispatched again in their order once the peer is a Client.
 */

#include "bus/link/bus.h"

/* Messages of all peers that wait. The bus daemon answers as soon as it reads, so more are a flood. */
#define BUS_UNKNOWN_MESSAGES_MAX 512

/* Makes the Client: 0, or a negative errno with *error set. */
typedef int (*BusIdentityKnown)(Bus *bus,
                                const char *name,
                                const Identity *identity,
                                sd_bus_error *error);

/* A call of somebody who is no Client yet. 1, or a negative errno with *error set. */
int bus_identity_ask(Bus *bus,
                     sd_bus_message *message,
                     BusIdentityKnown known,
                     sd_bus_error *error);

/* Forgets whom it has asked about. */
void bus_identities_deinit(Bus *bus);
