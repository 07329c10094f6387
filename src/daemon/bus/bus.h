/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The D-Bus transport, for the program that hosts it
 */

#include "bus/link/bus.h"

typedef struct BusOptions {
        sd_event *event;
        Service *service;
        const ServiceInfo *info;
        const OutputOps *output_ops;
        void *output_host;
        const Guard *guards; /* stay valid */
        size_t n_guards;
} BusOptions;

int bus_new(Bus **ret, const BusOptions *options);
Bus *bus_free(Bus *bus);
DEFINE_CLEANUP(Bus *, bus_free)

/* Takes a reference and serves the objects. `is_shared`: it is the system bus. The name is requested separately. */
int bus_set_message_bus(Bus *bus, sd_bus *message_bus, bool is_shared);
int bus_request_name(Bus *bus);
int bus_release_name(Bus *bus);

/* Serves the objects on a connected socket, point to point. Always takes the descriptor over. */
int bus_accept(Bus *bus, int fd);

/* Looks for the connections that the sessions of the process before belonged to. */
void bus_find_owners(Bus *bus);

/* Whether the process has to stay: something would end with it. */
bool bus_is_busy(const Bus *bus);

/* Stops all sessions in order. bus_is_stopped() tells when all of them are, and their outputs are written. */
void bus_stop_sessions(Bus *bus, const char *reason);
bool bus_is_stopped(const Bus *bus);

uint64_t bus_next_deadline(const Bus *bus, uint64_t now);
void bus_tick(Bus *bus, uint64_t now);

/* For code that receives messages: whether the access gate is to judge a message, the access gate itself, which also
 * notes whose message is in dispatch, and a function that registers all our objects on a connection. */
bool bus_message_is_ours(sd_bus_message *message);
int bus_check(Bus *bus, Client *client, sd_bus_message *message, sd_bus_error *error);
int bus_serve(Bus *bus, sd_bus *connection);

/* Does all queued work, and the work that results from it. */
void bus_settle(Bus *bus);
