/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The D-Bus interface of trace buffers. */

#include "bus/object/bus-buffer.h"

/* The session must have its path and its session of the core. Returns 0 or -ENOMEM. */
int bus_buffers_new(BusSession *session);
void bus_buffers_free(BusSession *session);

/* Signals everything that has changed since the last call. */
void bus_buffers_signal(BusSession *session);
extern const sd_bus_vtable bus_buffer_vtable[];

/* For sd_bus_add_fallback_vtable(); userdata is the Bus. */
int bus_buffer_find(sd_bus *connection,
                    const char *path,
                    const char *interface,
                    void *userdata,
                    void **ret_found,
                    sd_bus_error *error);
