/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Wait events: the system calls in which main loops wait, as tracepoints of an instance
 */

#include "probes/ftrace/instance.h"
#include "probes/ftrace/trace-dir.h"

#define WAIT_EVENTS_MAX 16

typedef struct WaitEvents {
        uint16_t enter[WAIT_EVENTS_MAX], exit[WAIT_EVENTS_MAX]; /* as records have them */
        size_t n;
} WaitEvents;

/* Switches them on. Returns 0, or PROBE_E_REFUSED if this kernel has none of them. */
int wait_events_enable(WaitEvents *ret, const TraceDir *dir, Instance *instance, char **ret_error);
