/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Client: one peer
 *
 * Either a unique name of the message bus or a socket. Its identity comes from the bus daemon or the kernel. Everything
 * that a peer has (a producer, sessions, calls that wait for a reply) belongs to its Client and ends with it: when the
 * name leaves the bus, or the socket closes.
 */

#include "bus/link/bus.h"
#include "shared/confinement.h"

typedef struct BusProducer BusProducer;
typedef struct BusSession BusSession;

struct Client {
        Bus *bus;
        sd_bus *connection; /* referenced */
        char *name;         /* NULL on a socket */
        Identity identity;
        Confinement confinement; /* as of its first call as a consumer */
        bool has_confinement;
        bool may_consume; /* may make a consumer's calls: it is in no sandbox, or was granted permission */
        uid_t user;       /* who is charged */
        TurnsRound round; /* of its calls among the user's */
        Charge charge;
        List listener_link; /* bus->listeners: has made a consumer's call, so it gets the signals that it may see */
        size_t n_sessions_told,
                n_producers_told; /* NumSessions and NumProducers, as last signalled to it */

        uint64_t manage_until;   /* how long manage-sessions is granted */
        List manage_questions;   /* ManageQuestion */
        bool manage_is_answered; /* for the message in dispatch */

        List link;        /* bus->clients or bus->gone */
        bool is_gone;     /* it is in the latter */
        HubLink hub_link; /* on a socket */
        Gate *gate;       /* likewise */
        bool is_served;   /* on a socket: our objects are registered */
        List requests;    /* Request */
        List sessions;    /* BusSession */
        size_t n_requests;
        BusProducer *producer;
};

enum {
        _CLIENT_E_SUCCESS,
        CLIENT_E_LIMIT, /* too many clients, or too many of this user */
};

/* A peer on the message bus, by its unique name; NULL: not known yet (bus-identity.h). */
Client *client_find(Bus *bus, const char *name);
int client_new_public(Client **ret,
                      Bus *bus,
                      sd_bus *connection,
                      const char *name,
                      const Identity *identity);

/* A socket's peer. */
int client_new_private(Client **ret, Bus *bus, sd_bus *connection, const Identity *identity);

/* The last two steps of its end: the connection is closed, and a client that has nothing left is freed. */
void client_close(Client *client);
Client *client_discard(Client *client);
DEFINE_CLEANUP(Client *, client_discard)

/* The peer is gone (or must go): freed by the next bus_settle(). */
void client_is_gone(Client *client);

/* A unique name left the message bus. */
void clients_name_gone(Bus *bus, const char *name);

static inline bool client_is_private(const Client *client) {
        return !client->name;
}

/* Whether the client sees the sessions of all users: by its own rights, or because polkit has granted that recently. */
bool client_sees_all(const Client *client);

/* For log lines and errors. */
const char *client_describe(const Client *client);
