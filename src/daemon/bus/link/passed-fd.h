/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Descriptors that clients pass in messages
 *
 * What sd-bus has is a stand-in, which says nothing of the file and is closed with the message. The real descriptor is
 * the service's once it is taken, and closed by the closer, as its file system may never answer.
 */

#include <systemd/sd-bus.h>

#include "bus/link/connection.h"

/* 0, or a negative errno with *error set: it cannot be had a second time. */
int passed_fd_take(int *ret, int stand_in, sd_bus_error *error);

/* Accepts -1, and gives it. */
int passed_fd_close(const Client *client, int fd);
