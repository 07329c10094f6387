/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event view: the kernel's events, as far as the service knows them
 */

#include <glib.h>
#include <stdbool.h>

#include "client/bus-client.h"

typedef struct ViewEvents {
        GPtrArray *names; /* of char *, "group/name", sorted */
        bool is_current;  /* the probes have just said so; else what they said last, or nothing */
        char *why;        /* not current, for people; or NULL */
} ViewEvents;

void view_events_deinit(ViewEvents *events);

/* Nobody is asked for a password. With `start` the probes are started for it if the caller may record the system. A
 * service that is older than the method knows no events. Says what is wrong. */
ExitStatus view_list_events(ViewEvents *ret, const BusClient *client, bool start);
