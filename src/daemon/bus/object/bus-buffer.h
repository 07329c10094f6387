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
