/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The head of a property's getter, which is the same for every property: PROPERTY(get_x) { … }. A getter uses `reply`
 * and `userdata`, and `property` if it serves several.
 */

#include <systemd/sd-bus.h>

#define PROPERTY(name)                         \
        static int name(sd_bus *connection,    \
                        const char *path,      \
                        const char *interface, \
                        const char *property,  \
                        sd_bus_message *reply, \
                        void *userdata,        \
                        sd_bus_error *error)
