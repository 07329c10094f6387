/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Counts the connections of each login user, and the memory that they hold together. */

#include <assert.h>
#include <errno.h>

#include "closer/closer.h"
#include "link.h"

static PortUser *port_user_free(PortUser *user) {
        if (!user)
                return NULL;
        assert(user->n_connections == 0 && user->bytes.n == 0);
        list_unlink(&user->link);
        charge_deinit(&user->bytes);
        free(user);
        return NULL;
}

static PortUser *ports_find_user(Ports *ports, uid_t uid) {
        PortUser *user;

        list_for_each (user, &ports->users, link)
                if (user->uid == uid)
                        return user;
        user = calloc(1, sizeof(*user));
        if (!user)
                return NULL;
        user->uid = uid;
        list_append(&ports->users, &user->link);
        return service_charge_messages(ports->service, &user->bytes, uid) ? port_user_free(user)
                                                                          : user;
}

int port_user_join(PortConnection *connection) {
        Ports *ports = connection->ports;
        const uid_t uid = service_user_of(ports->service, &connection->identity);
        PortUser *user;
        int r;

        if (closer_is_full(uid))
                return -EUSERS;
        r = service_charge_connection(ports->service, &connection->charge, uid);
        if (r)
                return r > 0 ? -EUSERS : r;
        user = ports_find_user(ports, uid);
        if (!user)
                return -ENOMEM;
        user->n_connections++;
        connection->user = user;
        return 0;
}

void port_user_leave(PortConnection *connection) {
        PortUser *user = TAKE(connection->user);

        charge_deinit(&connection->charge);
        if (!user)
                return;
        connection->ports->n_connections--;
        if (--user->n_connections == 0)
                port_user_free(user);
}

bool port_user_hold(PortConnection *connection, size_t n) {
        return charge_grow(&connection->user->bytes, n) == 0;
}

void port_user_release(PortConnection *connection, size_t n) {
        if (connection->user)
                charge_shrink(&connection->user->bytes, n);
}

uid_t port_connection_user(const PortConnection *connection) {
        return connection->user ? connection->user->uid : connection->identity.uid;
}
