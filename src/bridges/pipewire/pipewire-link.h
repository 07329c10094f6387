/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * PipeWire link: a connection to the PipeWire of the session, with libpipewire
 *
 * Listens to the profiler, and enters objects into a node table. Nothing here waits: the connection has a loop of its
 * own, which runs when it is told to. A build without the library has the same functions, and no connection.
 */

#include <stdbool.h>
#include <stddef.h>

#include "bridges/pipewire/node-table.h"

typedef enum PipewireState {
        PIPEWIRE_CLOSED,      /* never opened, refused or ended */
        PIPEWIRE_ASKED,       /* it has not listed its objects yet */
        PIPEWIRE_NO_PROFILER, /* it was started without that module */
        PIPEWIRE_LISTENING,
} PipewireState;

/* An event of the profiler: a pod, in one piece. */
typedef void PipewireProfile(void *userdata, const void *data, size_t n);

typedef struct PipewireLink PipewireLink;

bool pipewire_link_is_built(void);

/* Not connected yet. Returns 0 or a negative errno. */
int pipewire_link_new(PipewireLink **ret,
                      NodeTable *nodes,
                      PipewireProfile *profile,
                      void *userdata);
PipewireLink *pipewire_link_free(PipewireLink *link);

/* May be called again after the link was closed. Returns 0 or a negative errno. */
int pipewire_link_open(PipewireLink *link);
PipewireState pipewire_link_state(const PipewireLink *link);

/* The descriptor is readable when the loop should run. */
int pipewire_link_fd(const PipewireLink *link);
/* Handles what has arrived. */
void pipewire_link_turn(PipewireLink *link);
