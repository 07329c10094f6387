/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bus watch: notices when the service disappears, and when it is back
 *
 * On a private socket the connection ends with the service. On a message bus it does not, and a client that only waits
 * for signals would wait for ever; there the bus signals when the name has lost its owner.
 */

#include <systemd/sd-bus.h>

#include "client/bus-client.h"

typedef struct BusWatch {
        int (*on_gone)(void *userdata);
        int (*on_back)(void *userdata); /* NULL: nobody waits for the service to return */
        void *userdata;
        sd_bus_slot *disconnected_match, *owner_match;
        bool is_told, is_closed;
} BusWatch;

/* Calls on_gone() once, from the loop that the bus is attached to, and returns its result from the handler. The
 * watch must not be moved. Returns 0 or an errno. */
int bus_watch_start(BusWatch *watch,
                    const BusClient *client,
                    int (*on_gone)(void *userdata),
                    void *userdata);
/* From now on, on_gone() is called each time the service disappears, and on_back() when it is on the message bus
 * again. */
void bus_watch_go_on(BusWatch *watch, int (*on_back)(void *userdata));
/* Whether the connection itself is closed, so that no service comes back on it. */
bool bus_watch_is_closed(const BusWatch *watch);
/* Whether a call has no reply because the service that would have sent it has gone. */
bool bus_watch_has_lost(sd_bus_message *reply);
void bus_watch_deinit(BusWatch *watch);
