/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Descriptors that clients pass in messages
 *
 * sd-bus has a stand-in, which tells nothing about the file and is closed with the message. The real descriptor belongs
 * to the service once it is taken. The closer closes it, as its file system may never answer.
 */

#include <systemd/sd-bus.h>

#include "bus/link/connection.h"

/* Takes the real descriptor, which is possible once. Returns 0, or a negative errno with *error set. */
int passed_fd_take(int *ret, int stand_in, sd_bus_error *error);

/* Accepts -1, and gives it. */
int passed_fd_close(const Client *client, int fd);
