/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which clients may see an object. */

#include "bus/object/bus-producer.h"
#include "bus/object/bus-session.h"
#include "core/model/policy.h"

bool bus_uid_is_visible(const Bus *bus, uid_t uid, const Client *client) {
        return policy_may_see(bus->info, &client->identity, uid);
}

bool bus_producer_is_visible(const BusProducer *producer, const Client *client) {
        return bus_uid_is_visible(client->bus, producer_identity(producer->producer)->uid, client);
}

bool bus_session_is_visible(const BusSession *session, const Client *client) {
        return policy_owns_session(client->bus->info, &client->identity, session->owned.session) ||
               client_sees_all(client);
}
