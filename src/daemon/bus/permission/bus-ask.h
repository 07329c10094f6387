/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Asking polkit for others: the AccessOps of transports whose peers are on no bus
 *
 * Polkit is asked about the peer's process, which is known by its number and its start time together. The host of the
 * table is the Bus.
 */

#include "bus/link/bus.h"
#include "owner/access-ops.h"

extern const AccessOps bus_access_ops;

/* Whether there is a polkit: on the system bus. */
bool bus_can_ask(const Bus *bus);
