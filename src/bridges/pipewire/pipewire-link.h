/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * PipeWire link: a connection to the PipeWire of the session, with libpipewire
 *
 * Listens to the profiler, and enters objects into a node table. Nothing here waits: the connection lives in a loop of
 * its own, which turns when it is told to. A build without the library has all of this, and no connection.
 */

#include <stdbool.h>
#include <stddef.h>

#include "bridges/pipewire/node-table.h"

typedef enum PipewireState {
        PIPEWIRE_CLOSED,      /* never opened, refused or ended */
        PIPEWIRE_ASKED,       /* it has not said what there is */
        PIPEWIRE_NO_PROFILER, /* it was started without that module */
        PIPEWIRE_LISTENING,
} PipewireState;

/* An event of the profiler: a pod, in one piece. */
typedef void PipewireProfile(void *userdata, const void *data, size_t n);

typedef struct PipewireLink PipewireLink;

bool pipewire_link_is_built(void);

/* Not connected yet. 0 or a negative errno. */
int pipewire_link_new(PipewireLink **ret,
                      NodeTable *nodes,
                      PipewireProfile *profile,
                      void *userdata);
PipewireLink *pipewire_link_free(PipewireLink *link);

/* Also once more, after it was closed. 0 or a negative errno. */
int pipewire_link_open(PipewireLink *link);
PipewireState pipewire_link_state(const PipewireLink *link);

/* Readable when it should turn. */
int pipewire_link_fd(const PipewireLink *link);
/* Deals with what has come. */
void pipewire_link_turn(PipewireLink *link);
