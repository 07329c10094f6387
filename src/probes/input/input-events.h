/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Input events: kernel probes where devices report and programs read
 *
 * The kernel has no tracepoints there, so we define kprobes (dynamic-events.h): on evdev_events(), which gets each
 * report, and on the return of evdev_read(). They record the names of devices, the numbers of values, and the numbers
 * of bytes. None of their arguments contains what was typed or pointed at, so that never reaches the ring, let alone a
 * trace.
 */

#include "probes/ftrace/dynamic-events.h"
#include "probes/ftrace/event-select.h"
#include "probes/ftrace/trace-dir.h"

enum {
        INPUT_EVENT_REPORT,
        INPUT_EVENT_READ,
        INPUT_EVENTS_N,
};

typedef struct InputEvents {
        DynamicEvents *dynamic;
        EventSelection selection; /* their full names, by INPUT_EVENT_… */
} InputEvents;

/* What we ask the kernel for. The result is static. */
const FtraceConfig *input_events_config(void);

/* Whether this kernel could define them. Returns 0 or PROBE_E_REFUSED. */
int input_events_check(const TraceDir *dir, char **ret_error);

/* Defines the events. Returns 0, PROBE_E_REFUSED or -ENOMEM. */
int input_events_init(InputEvents *ret, const TraceDir *dir, char **ret_error);
/* Removes the definitions. The instance that uses them must be gone. */
void input_events_deinit(InputEvents *events);
