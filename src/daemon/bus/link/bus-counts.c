/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How many sessions and producers each client may see, and whether that is what it was last told. */

#include "bus/link/bus-counts.h"

size_t bus_n_sessions(const Bus *bus, const Client *viewer) {
        return !viewer || client_sees_all(viewer)
                       ? service_n_sessions(bus->service)
                       : service_n_visible_sessions(bus->service, &viewer->identity);
}

size_t bus_n_producers(const Bus *bus, const Client *viewer) {
        return viewer ? service_n_visible_producers(bus->service, &viewer->identity)
                      : service_n_producers(bus->service);
}

void client_note_counts(Client *client) {
        client->n_sessions_told = bus_n_sessions(client->bus, client);
        client->n_producers_told = bus_n_producers(client->bus, client);
}

bool client_has_new_counts(const Client *client) {
        return client->n_sessions_told != bus_n_sessions(client->bus, client) ||
               client->n_producers_told != bus_n_producers(client->bus, client);
}
