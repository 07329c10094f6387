/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Entrance: the socket by which the probes are started
 *
 * systemd listens on it for us, and lets only the service's user and root connect. Each peer speaks D-Bus, point to
 * point. To connect, and to be answered a Ping(), is to have the probes started.
 */

#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "shared/list.h"
#include "shared/macro.h"

#define ENTRANCE_PEERS_MAX 64 /* connected at once; more are refused */

typedef struct Entrance Entrance;

/* Accepts on `fd`, a listening socket, which is the entrance's from here on, always. 0 or a negative errno. */
int entrance_new(Entrance **ret, sd_event *event, int fd);
Entrance *entrance_free(Entrance *entrance);
DEFINE_CLEANUP(Entrance *, entrance_free)
