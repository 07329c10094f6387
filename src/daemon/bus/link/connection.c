/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One match for all unique names tells of disconnects, rather than an sd_bus_track for each peer: the system bus allows
 * a connection 512 match rules, and there may be more peers than that.
 */

#include <assert.h>
#include <errno.h>
#include <search.h>
#include <stdio.h>

#include "bus/link/connection.h"
#include "core/model/policy.h"

static int client_compare(const void *a, const void *b) {
        return strcmp(((const Client *)a)->name, ((const Client *)b)->name);
}

Client *client_discard(Client *client) {
        if (!client)
                return NULL;
        assert(list_is_empty(&client->requests) && client->n_requests == 0);
        assert(list_is_empty(&client->sessions) && list_is_empty(&client->manage_questions));
        sd_bus_unref(client->connection);
        list_unlink(&client->link);
        list_unlink(&client->listener_link);
        charge_deinit(&client->charge);
        free(client->name);
        free(client);
        return NULL;
}

static int
client_new(Client **ret, Bus *bus, sd_bus *connection, const char *name, const Identity *identity) {
        const uid_t user = service_user_of(bus->service, identity);
        _cleanup_(client_discardp) Client *client = NULL;
        Charge charge = {};
        int r;

        r = service_charge_connection(bus->service, &charge, user);
        if (r)
                return r > 0 ? CLIENT_E_LIMIT : r;
        client = calloc(1, sizeof(*client));
        if (!client) {
                charge_deinit(&charge);
                return -ENOMEM;
        }
        client->bus = bus;
        client->user = user;
        client->charge = charge;
        client->identity = *identity;
        client->connection = sd_bus_ref(connection);
        list_init(&client->listener_link);
        list_init(&client->requests);
        list_init(&client->sessions);
        list_init(&client->manage_questions);
        list_append(&bus->clients, &client->link);
        if (!name) {
                bus->n_private_clients++;
                *ret = TAKE(client);
                return 0;
        }

        client->name = strdup(name);
        if (!client->name)
                return -ENOMEM;
        if (!tsearch(client, &bus->clients_by_name, client_compare))
                return -ENOMEM;
        *ret = TAKE(client);
        return 0;
}

int client_new_public(Client **ret,
                      Bus *bus,
                      sd_bus *connection,
                      const char *name,
                      const Identity *identity) {
        return client_new(ret, bus, connection, name, identity);
}

int client_new_private(Client **ret, Bus *bus, sd_bus *connection, const Identity *identity) {
        return client_new(ret, bus, connection, NULL, identity);
}

Client *client_find(Bus *bus, const char *name) {
        const Client key = { .name = (char *)name };
        Client *const *found = tfind(&key, &bus->clients_by_name, client_compare);

        return found ? *found : NULL;
}

void client_close(Client *client) {
        if (client->name) {
                tdelete(client, &client->bus->clients_by_name, client_compare);
                client->connection = sd_bus_unref(client->connection);
                return;
        }
        hub_remove(&client->hub_link);
        client->connection = sd_bus_close_unref(client->connection);
        client->gate = gate_free(client->gate);
        client->bus->n_private_clients--;
}

void client_is_gone(Client *client) {
        client->is_gone = true;
        list_unlink(&client->listener_link);
        list_unlink(&client->link);
        list_append(&client->bus->gone, &client->link);
}

void clients_name_gone(Bus *bus, const char *name) {
        Client *client = client_find(bus, name);

        if (client)
                client_is_gone(client);
}

bool client_sees_all(const Client *client) {
        return policy_sees_all(client->bus->info, &client->identity) ||
               client->manage_until > bus_now(client->bus);
}

const char *client_describe(const Client *client) {
        static char text
                [96]; /* static is enough: there is one thread, and a log line is written at once */

        snprintf(text,
                 sizeof(text),
                 "client %s (pid %d, uid %u)",
                 client->name ? client->name : "on a socket",
                 (int)client->identity.pid,
                 (unsigned)client->identity.uid);
        return text;
}
