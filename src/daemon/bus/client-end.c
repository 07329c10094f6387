/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What happens when a peer goes: everything that it has ends with it. */

#include "bus/client-end.h"
#include "bus/link/connection.h"
#include "bus/link/request.h"
#include "bus/producer/bus-producer.h"
#include "bus/session/bus-session.h"
#include "shared/log.h"

static void client_cancel_requests(Client *client) {
        /* A cancelled request may take others with it, so always look at the first one. */
        while (!list_is_empty(&client->requests)) {
                Request *request = list_entry(client->requests.next, Request, link);

                request->cancel(request);
        }
}

static void client_end_sessions(Client *client) {
        while (!list_is_empty(&client->sessions))
                bus_session_owner_gone(list_entry(client->sessions.next, BusSession, owner_link));
}

Client *client_free(Client *client) {
        if (!client)
                return NULL;

        log_debug("%s is gone", client_describe(client));
        list_unlink(&client->listener_link);
        client_cancel_requests(client);
        client->producer = bus_producer_free(client->producer);
        client_end_sessions(client);
        if (client->bus->caller == client)
                client->bus->caller = NULL;
        client_close(client);
        return client_discard(client);
}
