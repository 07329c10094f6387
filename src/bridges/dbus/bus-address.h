/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bus address: the socket that a D-Bus address names
 *
 * The D-Bus specification, "Server Addresses": of several, the first that is a socket on this machine.
 */

#include <sys/socket.h>
#include <sys/un.h>

/* Returns 0, or -EADDRNOTAVAIL if none is a socket (unix:path= or unix:abstract=). */
int bus_address_parse(struct sockaddr_un *ret, socklen_t *ret_n, const char *addresses);
