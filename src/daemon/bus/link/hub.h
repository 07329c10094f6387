/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Hub: the sockets of all private clients, behind one source of the event loop
 *
 * sd_bus_attach_event() makes each turn of the loop look at each connection, and epoll at each one that is
 * ready, to dispatch one message of one of them: when hundreds of producers answer, that is their number squared.
 * Here a turn takes what many of them have to say, and looks at nobody else.
 *
 * Code that sends to a client outside of the dispatch of that client's own messages says so with hub_touch(): what
 * did not fit into its socket is sent when there is room, and only touched links are looked at.
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "shared/list.h"

#define HUB_LINKS_PER_TURN    64
#define HUB_MESSAGES_PER_TURN 16 /* of one link, before others have their turn */

/* What all links together may take before the message bus and everything else have their turn: many clients can each
 * ask for what takes long. The call that goes beyond it is carried out. */
#define HUB_TURN_NS UINT64_C(5000000)

typedef struct HubLink HubLink;

typedef struct Hub {
        sd_event *event;
        int fd; /* epoll */
        sd_event_source *source;
        List links;   /* HubLink */
        List touched; /* HubLink */
        uint64_t
                due_usec; /* CLOCK_MONOTONIC: some link's call may have waited too long; UINT64_MAX: none */
} Hub;

struct HubLink {
        Hub *hub; /* NULL: in none */
        sd_bus *connection;
        uint32_t events; /* that epoll watches */
        bool is_ready;   /* there is something to read, or was */
        List link;
        List touched_link;

        /* The connection has written: what is at its other end takes that now, so that there is room for more, and
         * touches the link when it has something for it. NULL: it does so by itself, and the socket is watched. */
        void (*pump)(HubLink *link);

        /* The connection cannot be used any more. */
        void (*broke)(HubLink *link);
};

int hub_init(Hub *hub, sd_event *event);
void hub_deinit(Hub *hub); /* without links; a hub of zeros is allowed */

/* The link's `broke` is set; the connection is the caller's, and outlives the link. */
int hub_add(Hub *hub, HubLink *link, sd_bus *connection);
void hub_remove(HubLink *link); /* a link of zeros is allowed */

/* Something was sent to it, or put into its queue. A link in no hub is allowed. */
void hub_touch(HubLink *link);

/* Dispatches what has come and looks after what was touched. Then some may have more to say: hub_deadline() is 0. */
void hub_settle(Hub *hub);

/* In nanoseconds of CLOCK_BOOTTIME, of which `now` is the present. */
uint64_t hub_deadline(const Hub *hub, uint64_t now);
void hub_tick(Hub *hub);
