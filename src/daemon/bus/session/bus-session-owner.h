/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Attach() and Detach(): whose a session is; and that owners of the process before come back. */

#include "bus/object/bus-session.h"

/* bus-session-owner.c */
int bus_method_attach(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_detach(sd_bus_message *message, void *userdata, sd_bus_error *error);

/* It waits for the owner that it had in the process before: for the connection of that name or, if that is "", for a
 * call of Attach(). After BUS_OWNER_AWAIT_NS it ends as if the owner had gone. */
void bus_session_await(BusSession *session, const char *name);
/* The name for the next process. */
const char *bus_session_owner_name(const BusSession *session);
/* A client is there: what waits for it is its own again. */
void bus_owners_came(Bus *bus, Client *client);

uint64_t bus_owners_deadline(const Bus *bus);
void bus_owners_tick(Bus *bus, uint64_t now);
