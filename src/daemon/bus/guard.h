/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Guard: a producer that the service reaches by a socket of the producer's own
 *
 * Socket= in producers.d. To connect is to have it started, so the socket is open to the service and root only. It
 * speaks D-Bus, point to point.
 */

#include <systemd/sd-bus.h>

/* Connects, without waiting for whoever is to answer. The caller closes the connection. 0 or a negative errno. */
int guard_connect(sd_bus **ret, sd_event *event, const char *path);
