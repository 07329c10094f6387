/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bus watch: notices when the service disappears
 *
 * On a private socket the connection ends with the service. On a message bus it does not, and a client that only waits
 * for signals would wait for ever; there the bus signals when the name has lost its owner.
 */

#include <systemd/sd-bus.h>

#include "client/bus-client.h"

typedef struct BusWatch {
        int (*on_gone)(void *userdata);
        void *userdata;
        sd_bus_slot *disconnected_match, *owner_match;
        bool is_told;
} BusWatch;

/* Calls on_gone() once, from the loop that the bus is attached to, and returns its result from the handler. The
 * watch must not be moved. 0 or an errno. */
int bus_watch_start(BusWatch *watch,
                    const BusClient *client,
                    int (*on_gone)(void *userdata),
                    void *userdata);
void bus_watch_deinit(BusWatch *watch);
