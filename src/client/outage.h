/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Outage: the service has gone, and may come back
 *
 * On a message bus it comes back under its name. A private service that we keep ourselves (service-keeper.h) comes back
 * on its socket, where a new connection waits for it; the old one is replaced. If neither happens within
 * OUTAGE_MAX_USEC of the last time that it went, or a connection of another kind is closed, it is over.
 */

#include <stdint.h>
#include <systemd/sd-event.h>

#include "client/bus-client.h"
#include "client/bus-watch.h"

#define OUTAGE_MAX_USEC (UINT64_C(10) * 1000000)

typedef struct OutageOptions {
        BusClient *client;
        sd_event *event;
        const char *socket; /* the keeper of our private service, or NULL */
        /* Whether the work that is going on can continue afterwards. */
        bool (*can_go_on)(void *userdata);
        /* There is a new connection, and the old one is gone: everything that was watched has to be watched again. */
        int (*on_connected)(void *userdata);
        /* The service answers, or soon will. Called again if the service disappears once more before outage_end(). */
        int (*on_back)(void *userdata);
        int (*on_lost)(void *userdata);
        void *userdata;
} OutageOptions;

typedef struct Outage {
        OutageOptions options;
        BusWatch watch;
        sd_event_source *timer; /* while there is one */
        sd_event_source *reconnect;
        uint64_t since_usec;
} Outage;

/* Must not be moved. Returns 0 or an errno. */
int outage_watch(Outage *outage, const OutageOptions *options);
/* Ends the watch as well, so call it before the connection is closed. */
void outage_deinit(Outage *outage);

static inline bool outage_is_on(const Outage *outage) {
        return outage->timer;
}

/* The outage is over; returns how long it lasted. */
uint64_t outage_end(Outage *outage);

/* Whether a call has no reply because the service has gone, and another process of it may answer. */
bool outage_has_lost(const Outage *outage, sd_bus_message *reply);
