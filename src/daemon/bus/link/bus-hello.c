/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The few methods of org.freedesktop.DBus that tools call before anything else, answered on sockets. */

#include "bus/link/bus-hello.h"

/* Names mean nothing on a socket, so every client gets the same one. */
static int method_hello(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return sd_bus_reply_method_return(message, "s", ":1.1");
}

/* Signals are sent to everybody they concern, whether or not a match was added. */
static int method_match(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return sd_bus_reply_method_return(message, "");
}

const sd_bus_vtable bus_hello_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("Hello", "", "s", method_hello, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("AddMatch", "s", "", method_match, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("RemoveMatch", "s", "", method_match, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};
