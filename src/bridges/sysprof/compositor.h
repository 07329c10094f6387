/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Compositor: the profiler of mutter and gnome-shell, over the session bus
 *
 * org.gnome.Sysprof3.Profiler writes a capture into a descriptor, until it is stopped. A pipe whose reader goes away
 * has been seen to wedge the compositor for good, so it gets a file in memory, which is read as it grows and whose
 * pages are given back. It is stopped before the file is closed. Bridges that crash leave it on: then the next ones
 * stop it first.
 */

#include "bridges/sysprof/capture-recorder.h"
#include "managers/manager-bus.h"

#define COMPOSITOR_READ_BYTES (256u << 10) /* at a time */
#define COMPOSITOR_STREAM     0            /* for the recorder; others have higher numbers */

typedef enum CompositorState {
        COMPOSITOR_NONE,     /* no compositor, or one that does not record; see `why` */
        COMPOSITOR_STARTING, /* was asked to */
        COMPOSITOR_RECORDS,
        COMPOSITOR_STOPPING, /* was asked to stop, or will be when it has started */
} CompositorState;

typedef struct Compositor {
        ManagerBus bus;
        CompositorState state;
        bool has_looked; /* whether it records for one that has crashed */
        size_t name;     /* which of those that a compositor may have */
        int fd;          /* what it writes */
        uint64_t n_read;
        uint8_t *buffer;
        char why[256]; /* it does not record, in words */
} Compositor;

#define COMPOSITOR_INIT \
        { .fd = -1 }

/* Asks it to start. 0, PROBE_E_REFUSED with *ret_error, or a negative errno. */
int compositor_begin(Compositor *compositor, char **ret_error);
/* Asks it to stop; compositor_poll() has the answer. */
void compositor_stop(Compositor *compositor);
/* Accepts what was never begun. */
void compositor_deinit(Compositor *compositor);

/* Gives what was written to the recorder. Whether there may be more. */
bool compositor_poll(Compositor *compositor, CaptureRecorder *recorder, int64_t now_ns);
bool compositor_is_stopping(const Compositor *compositor);
