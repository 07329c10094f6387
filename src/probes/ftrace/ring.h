/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Ring: a tracefs instance as a recording wants it
 *
 * Applies a FtraceSetup to an instance of its own: clock, sizes, filters, events. All of it is done with recording off,
 * so what the kernel refuses is known before anything is recorded.
 */

#include "probes/ftrace/ftrace-setup.h"
#include "probes/ftrace/instance.h"

typedef struct Ring {
        Instance *instance;
        size_t n_page; /* bytes of a sub-buffer */
} Ring;

/* Marks events of groups that the kernel refuses as failed. 0, PROBE_E_REFUSED, negative errno. */
int ring_new(Ring **ret, FtraceSetup *setup, ProbeNotes *notes, char **ret_error);
/* Removes the instance from the kernel. Its descriptors must be closed by then. */
Ring *ring_free(Ring *ring);
DEFINE_CLEANUP(Ring *, ring_free)
