/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The object /org/desktrace/Tracing1: Manager
 */

#include <systemd/sd-bus.h>

/* userdata is the Bus. */
extern const sd_bus_vtable bus_manager_vtable[];
