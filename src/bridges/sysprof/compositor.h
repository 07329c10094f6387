/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Compositor: the profiler of mutter and gnome-shell, over the session bus
 *
 * org.gnome.Sysprof3.Profiler writes a capture into a descriptor, until it is stopped. A pipe whose reader went away
 * has been seen to block the compositor for ever, so it gets a file in memory, which is read as it grows and whose
 * pages are given back. It is stopped before the file is closed. Bridges that crash leave the profiler running; the
 * next bridges stop it first.
 */

#include "bridges/sysprof/capture-recorder.h"
#include "managers/manager-bus.h"

#define COMPOSITOR_READ_BYTES (256u << 10) /* at a time */
#define COMPOSITOR_STREAM     0            /* the stream's number; other streams have higher ones */

typedef enum CompositorState {
        COMPOSITOR_NONE,     /* there is no compositor, or it does not record; see `why` */
        COMPOSITOR_STARTING, /* was asked to */
        COMPOSITOR_RECORDS,
        COMPOSITOR_STOPPING, /* was asked to stop, or will be when it has started */
} CompositorState;

typedef struct Compositor {
        ManagerBus bus;
        CompositorState state;
        bool has_looked; /* whether the compositor records for bridges that have crashed */
        size_t name;     /* which of the interfaces that a compositor may have */
        int fd;          /* what it writes */
        uint64_t n_read;
        uint8_t *buffer;
        char why[256]; /* why it does not record, in words */
} Compositor;

#define COMPOSITOR_INIT \
        { .fd = -1 }

/* Asks it to start. Returns 0, PROBE_E_REFUSED with *ret_error, or a negative errno. */
int compositor_begin(Compositor *compositor, char **ret_error);
/* Asks it to stop; compositor_poll() has the answer. */
void compositor_stop(Compositor *compositor);
/* Also accepts one that was never begun. */
void compositor_deinit(Compositor *compositor);

/* Passes what was written to the recorder. Returns whether there may be more. */
bool compositor_poll(Compositor *compositor, CaptureRecorder *recorder, int64_t now_ns);
bool compositor_is_stopping(const Compositor *compositor);
