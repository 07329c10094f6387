/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Lifetime: when a program with data sources ends
 *
 * A program that systemd or a bus has started ends when it has had nothing to do for a while, and is started again
 * when it is needed. A program that serves a private service ends with that service: with the process that listens
 * on its socket, unless another one does so soon, as a killed service may be started again.
 */

#include <stdbool.h>
#include <systemd/sd-event.h>

#define LIFETIME_IDLE_US UINT64_C(5000000)
#define LIFETIME_RETURN_US \
        UINT64_C(10000000) /* how long nobody may listen, while the socket is still there */

typedef struct Lifetime {
        sd_event *event;
        sd_event_source *idle;  /* NULL: the program does not end by itself */
        sd_event_source *owner; /* NULL: nobody listens on a socket */
        int owner_fd;
        sd_event_source *search; /* for the next owner */
        uint64_t search_until_us;
        const char *socket;
} Lifetime;

#define LIFETIME_INIT \
        { .owner_fd = -1 }

/* These return 0 or a negative errno, and end the loop with 0 when the time has come. */
int lifetime_until_idle(Lifetime *lifetime, sd_event *event);
int lifetime_until_service_ends(Lifetime *lifetime, sd_event *event, const char *socket);

/* Has no effect without lifetime_until_idle(). */
void lifetime_set_busy(Lifetime *lifetime, bool is_busy);

void lifetime_deinit(Lifetime *lifetime);
