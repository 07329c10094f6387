/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What tools expect of a bus, on a socket
 *
 * gdbus and busctl take every address for a message bus and begin with Hello(). There is no bus on a socket, but saying
 * hello costs nothing, and lets people use these tools there.
 */

#include <systemd/sd-bus.h>

#define BUS_HELLO_PATH      "/org/freedesktop/DBus"
#define BUS_HELLO_INTERFACE "org.freedesktop.DBus"

extern const sd_bus_vtable bus_hello_vtable[];
