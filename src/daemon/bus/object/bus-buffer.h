/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * BusBuffer: a session's trace buffer behind an object path
 *
 * The objects /org/desktrace/Tracing1/session/N/buffer/I, I counting from 0 as the config does. They belong to their
 * session, come and go with it, and are visible to those who see it.
 */

#include <systemd/sd-bus.h>

#include "buffer/trace-buffer.h"

typedef struct BusSession BusSession;

typedef struct BusBuffer {
        BusSession *session;
        size_t index;
        char *path;
        TraceBufferStats signalled;
} BusBuffer;

/* The session must have its path and its session of the core. 0 or -ENOMEM. */
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
