/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Attach() and Detach(): the owner of a session; and owners in the earlier process that come back. */

#include "bus/object/bus-session.h"

/* bus-session-owner.c */
int bus_method_attach(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_detach(sd_bus_message *message, void *userdata, sd_bus_error *error);

/* The session waits for its owner in the earlier process: for the connection of that name or, if the name is "", for a
 * call of Attach(). After BUS_OWNER_AWAIT_NS it ends as if the owner had gone. */
void bus_session_await(BusSession *session, const char *name);
/* The name for the next process. */
const char *bus_session_owner_name(const BusSession *session);
/* A client has come: sessions that wait for it are its own again. */
void bus_owners_came(Bus *bus, Client *client);

uint64_t bus_owners_deadline(const Bus *bus);
void bus_owners_tick(Bus *bus, uint64_t now);
