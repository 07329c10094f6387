/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event view: the kernel's events that the service knows
 */

#include <glib.h>
#include <stdbool.h>

#include "client/bus-client.h"

typedef struct ViewEvents {
        GPtrArray *names; /* of char *, "group/name", sorted */
        bool is_current;  /* the probes have just listed them; otherwise the last list, or none */
        char *why;        /* why they are not current, for people; or NULL */
} ViewEvents;

void view_events_deinit(ViewEvents *events);

/* Never asks for a password. With `start`, the service starts the probes if the caller may record the system. A
 * service that is older than the method knows no events. Reports errors. */
ExitStatus view_list_events(ViewEvents *ret, const BusClient *client, bool start);
