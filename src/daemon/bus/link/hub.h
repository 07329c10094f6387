/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Hub: the sockets of all private clients, behind one source of the event loop
 *
 * With sd_bus_attach_event() each turn of the loop looks at every connection, and epoll at each one that is ready, to
 * dispatch a single message: when hundreds of producers answer, the cost is the square of their number. Here one turn
 * dispatches messages of many clients and looks at no others.
 * Users have their turns one after the other, and so have the links of each: nobody waits longer because somebody else
 * has many connections.
 *
 * Code that sends to a client outside of the dispatch of that client's own messages must call hub_touch(): only touched
 * links are checked for messages that did not fit into their sockets.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "shared/list.h"

#define HUB_LINKS_PER_TURN    64
#define HUB_MESSAGES_PER_TURN 16 /* of one link, before others have their turn */

/* How long all links together may take in a round of the main loop, before the message bus and everything else have
 * their turn, as many clients can ask for something slow at once. The call that exceeds it is finished. */
#define HUB_TURN_NS UINT64_C(5000000)

typedef struct HubLink HubLink;

/* One with at least one link. */
typedef struct HubUser {
        uid_t user;
        size_t n_links;
        List touched;      /* HubLink */
        List link;         /* hub->users */
        List waiting_link; /* hub->waiting, while some are touched */
} HubUser;

typedef struct Hub {
        sd_event *event;
        int fd; /* epoll */
        sd_event_source *source;
        List links;   /* HubLink */
        List users;   /* HubUser */
        List waiting; /* HubUser, whose turn comes first */
        size_t n_touched;
        uint64_t spent_ns; /* in this round */
        uint64_t
                due_usec; /* CLOCK_MONOTONIC: some link's call may have waited too long; UINT64_MAX: none */
} Hub;

struct HubLink {
        Hub *hub; /* NULL: in none */
        HubUser *user;
        sd_bus *connection;
        uint32_t events; /* that epoll watches */
        bool is_ready;   /* there is something to read, or was */
        List link;
        List touched_link; /* user->touched */

        /* The connection has written: the other end takes the bytes now, which makes room for more, and touches the
         * link when it has something for it. NULL: the other end needs no call, and the socket is polled. */
        void (*pump)(HubLink *link);

        /* The connection is broken. */
        void (*broke)(HubLink *link);
};

int hub_init(Hub *hub, sd_event *event);
void hub_deinit(Hub *hub); /* when no link is left; a zeroed hub is allowed */

/* The link's `broke` must be set. The connection stays the caller's and must outlive the link. The link's turn comes
 * with the turns of `user`. */
int hub_add(Hub *hub, HubLink *link, sd_bus *connection, uid_t user);
void hub_remove(HubLink *link); /* a link of zeros is allowed */

/* Something was sent to the link's connection, or queued there. A link in no hub is allowed. */
void hub_touch(HubLink *link);

/* Everything else has had its turn. */
void hub_begin_round(Hub *hub);

/* Dispatches messages and takes care of touched links, for what is left of the time of this round. If some have more to
 * do, hub_deadline() is 0. */
void hub_settle(Hub *hub);

/* In nanoseconds of CLOCK_BOOTTIME, like `now`. */
uint64_t hub_deadline(const Hub *hub, uint64_t now);
void hub_tick(Hub *hub);
