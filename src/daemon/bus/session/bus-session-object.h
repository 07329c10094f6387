/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The D-Bus interface of sessions. */

#include <systemd/sd-bus.h>

extern const sd_bus_vtable bus_session_vtable[];

/* For sd_bus_add_fallback_vtable() and sd_bus_add_node_enumerator(); userdata is the Bus. */
int bus_session_find(sd_bus *connection,
                     const char *path,
                     const char *interface,
                     void *userdata,
                     void **ret_found,
                     sd_bus_error *error);
int bus_session_enumerate(sd_bus *connection,
                          const char *prefix,
                          void *userdata,
                          char ***ret_nodes,
                          sd_bus_error *error);
