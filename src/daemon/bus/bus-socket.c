/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Clients on sockets, point to point
 *
 * Most of these clients are producers. There may be hundreds, and registering all our objects on a connection costs
 * about ten kilobytes. So a connection begins without objects: the calls of producers are answered without them, and
 * they are registered before any other call is dispatched.
 */

#include <errno.h>
#include <systemd/sd-id128.h>

#include "bus/bus.h"
#include "bus/client-end.h"
#include "bus/link/bus-gates.h"
#include "bus/link/bus-hello.h"
#include "bus/link/connection.h"
#include "bus/producer/bus-register.h"
#include "closer/closer.h"
#include "shared/fd.h"
#include "shared/names.h"

/* Methods of the Manager, as in its vtable. */
static const struct {
        const char *member;
        const char *signature;
        sd_bus_message_handler_t handle;
} producer_calls[] = {
        { "RegisterProducer", "sa(sa{sv})a{sv}", bus_method_register_producer },
        { "RegisterDataSource", "sa{sv}", bus_method_register_source },
        { "UnregisterDataSource", "s", bus_method_unregister_source },
};

static sd_bus_message_handler_t find_producer_call(sd_bus_message *message) {
        if (!streq(sd_bus_message_get_path(message), TRACING_PATH))
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(producer_calls); i++)
                if (sd_bus_message_is_method_call(
                            message, TRACING_MANAGER_INTERFACE, producer_calls[i].member) > 0 &&
                    sd_bus_message_has_signature(message, producer_calls[i].signature) > 0)
                        return producer_calls[i].handle;
        return NULL;
}

/* Once. */
static int client_serve(Client *client) {
        int r;

        if (client->is_served)
                return 0;
        client->is_served = true;
        r = sd_bus_add_object_vtable(client->connection,
                                     NULL,
                                     BUS_HELLO_PATH,
                                     BUS_HELLO_INTERFACE,
                                     bus_hello_vtable,
                                     NULL);
        return r < 0 ? r : bus_serve(client->bus, client->connection);
}

static int client_call(Client *client, sd_bus_message *message, sd_bus_error *error) {
        sd_bus_message_handler_t handle = find_producer_call(message);
        int r;

        if (!handle) {
                r = client_serve(client);
                if (r < 0)
                        return r;
        }
        if (!bus_message_is_ours(message))
                return 0;
        r = bus_check(client->bus, client, message, error);
        if (r || !handle)
                return r;
        r = sd_bus_message_rewind(message, true);
        return r < 0 ? r : handle(message, client->bus, error);
}

static int on_private_message(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Client *client = userdata;

        client->bus->caller = NULL;
        if (sd_bus_message_is_signal(message, "org.freedesktop.DBus.Local", "Disconnected") > 0)
                client_is_gone(client);
        if (sd_bus_message_is_method_call(message, NULL, NULL) <= 0)
                return 0;
        return client_call(client, message, error);
}

static void on_broken(HubLink *link) {
        client_is_gone(container_of(link, Client, hub_link));
}

static void on_sent(HubLink *link) {
        gate_pump(container_of(link, Client, hub_link)->gate);
}

/* Puts a gate between the client's socket and *fd, which becomes sd-bus's. */
static int connection_new_server(sd_bus **ret, int *fd, sd_id128_t id) {
        _cleanup_(sd_bus_unrefp) sd_bus *connection = NULL;
        int r;

        r = sd_bus_new(&connection);
        if (r >= 0)
                r = sd_bus_set_fd(connection, *fd, *fd);
        if (r < 0)
                return r;
        *fd = -1;
        r = sd_bus_set_server(connection, true, id);
        if (r >= 0)
                r = sd_bus_negotiate_fds(connection, true);
        if (r >= 0)
                r = sd_bus_start(connection);
        if (r >= 0)
                *ret = TAKE(connection);
        return r;
}

static int client_join_hub(Client *client) {
        Bus *bus = client->bus;
        int r = 0;

        if (!bus->hub.event)
                r = hub_init(&bus->hub, bus->event);
        client->hub_link.broke = on_broken;
        client->hub_link.pump = on_sent;
        return r < 0 ? r : hub_add(&bus->hub, &client->hub_link, client->connection, client->user);
}

static int client_join(Client *client, Gate *gate) {
        int r;

        client->gate = gate;
        r = sd_bus_add_filter(client->connection, NULL, on_private_message, client);
        return r < 0 ? r : client_join_hub(client);
}

int bus_accept(Bus *bus, int fd) {
        _cleanup_(sd_bus_close_unrefp) sd_bus *connection = NULL;
        _cleanup_(fd_closep) int inner_fd = -1;
        _cleanup_(gate_freep) Gate *gate = NULL;
        Client *client = NULL;
        Identity identity;
        sd_id128_t id;
        uid_t user;
        int r;

        r = fd_peer_credentials(fd, &identity.uid, &identity.pid);
        if (r < 0) {
                closer_close_socket((uid_t)-1, fd);
                return r;
        }
        user = service_user_of(bus->service, &identity);
        r = sd_id128_randomize(&id);
        if (r < 0) {
                closer_close_socket(user, fd);
                return r;
        }
        if (!service_has_connection_room(bus->service, user, 1)) {
                closer_close_socket(user, fd);
                return -EUSERS;
        }
        r = bus_gate_new(&gate, &inner_fd, bus, fd, identity.uid, user, id);
        if (r >= 0)
                r = connection_new_server(&connection, &inner_fd, id);
        if (r < 0)
                return r;
        r = client_new_private(&client, bus, connection, &identity);
        if (r)
                return r == CLIENT_E_LIMIT ? -EUSERS : r;
        r = client_join(client, TAKE(gate));
        if (r < 0) {
                client_free(client);
                return r;
        }
        bus_gate_belongs_to(client);
        connection = sd_bus_unref(connection); /* ends with its client */
        return 0;
}
