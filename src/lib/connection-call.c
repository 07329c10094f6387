/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Connection calls: whether a connection can be used now, and calls to the service on it */

#include <errno.h>

#include "lib/connection.h"
#include "shared/fd.h"
#include "shared/names.h"

bool connection_has_its_bus(const Connection *connection) {
        return connection->fork_fd < 0 || fd_is_marked(connection->fork_fd);
}

int connection_new_call(Connection *connection, sd_bus_message **ret, const char *member) {
        int r;

        if (!connection_has_its_bus(connection)) /* connection_run() will notice */
                return -ENOTCONN;
        if (!connection->owner && connection->kind != CONNECTION_SOCKET)
                return -ENOTCONN;
        r = sd_bus_message_new_method_call(connection->bus,
                                           ret,
                                           connection->owner,
                                           TRACING_PATH,
                                           TRACING_MANAGER_INTERFACE,
                                           member);
        if (r < 0)
                return r;
        /* A call to a unique name activates nothing anyway; the flag makes that explicit. */
        return sd_bus_message_set_auto_start(*ret, false);
}

bool connection_is_usable(const Connection *connection) {
        if (connection->state == CONNECTION_REGISTERED)
                return true;
        return connection->state == CONNECTION_WATCHING && list_is_empty(&library.sources) &&
               (connection->owner || connection->kind == CONNECTION_SOCKET);
}

bool connection_trusts(const Connection *connection, sd_bus_message *message) {
        const char *sender = sd_bus_message_get_sender(message);

        if (connection->kind == CONNECTION_SOCKET) /* a private socket has no other peer */
                return true;
        return sender && connection->owner && streq(sender, connection->owner);
}
