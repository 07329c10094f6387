/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bus hello: how a connection to a bus becomes a monitor
 *
 * The D-Bus specification, "Authentication Protocol" and "org.freedesktop.DBus.Monitoring.BecomeMonitor". The messages
 * are few and always the same, and what comes afterwards must be read by us: a library would keep bodies, and take more
 * time for each message than the bus does.
 *
 * It waits for the bus, so it runs on a thread; shutdown() of the connection ends the wait.
 */

#include <stddef.h>

/* Asks on a new connection; nothing behind the answer is read. Returns 0 or a negative errno; then `error` says in
 * words what the bus said. */
int bus_hello_become_monitor(int fd, char *error, size_t n_error);
