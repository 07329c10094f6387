/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Ftrace setup: what one FtraceConfig asks for, checked against the running kernel and prepared
 *
 * It is made before anything in the kernel is changed, and belongs to one recording: the settings with their limits
 * applied, the events with their formats and encoders, the symbols, and the texts to be written to an instance. A Ring
 * (ring.h) applies it.
 */

#include <stdbool.h>

#include "host/probe.h"
#include "probes/ftrace/dynamic-events.h"
#include "probes/ftrace/event-select.h"
#include "probes/ftrace/event-set.h"
#include "probes/ftrace/ftrace-settings.h"
#include "probes/ftrace/instance-state.h"
#include "probes/ftrace/kernel-symbols.h"
#include "probes/ftrace/page.h"
#include "probes/ftrace/trace-dir.h"

/* An event of the selection. */
typedef struct FtraceEvent {
        const char *name; /* "group/name" */
        uint16_t id;
        bool failed; /* the kernel refused it, and the others are recorded */
} FtraceEvent;

typedef struct FtraceSetup {
        TraceDir *dir;
        FtraceSettings settings;
        PageLayout layout;
        EventSelection selection;
        FtraceEvent *events; /* one for each event of the selection */
        size_t n_events;
        EventSet encoders;
        KernelStrings *strings;    /* NULL: not needed, or not available */
        KernelSymbols *symbols;    /* NULL: not wanted, or not available */
        PrintFilter *print_filter; /* NULL: all texts are recorded */
        InstanceState state;
        DynamicEvents *dynamic; /* NULL: the config defines none */

        /* The kernel's settings on which recordings must agree, as text. Recordings with the same text share a ring. */
        char *ring_key;
        /* What makes packets of the same events look different, as text. */
        char *encoding_key;
} FtraceSetup;

/* `notes` may be NULL. Returns 0, PROBE_E_REFUSED or a negative errno. */
int ftrace_setup_new(FtraceSetup **ret,
                     const FtraceConfig *config,
                     ProbeNotes *notes,
                     char **ret_error);
FtraceSetup *ftrace_setup_free(FtraceSetup *setup);
DEFINE_CLEANUP(FtraceSetup *, ftrace_setup_free)

/* The text of trace_marker: an event that is always enabled. */
static inline bool ftrace_event_is_print(const FtraceEvent *event) {
        return streq(event->name, "ftrace/print");
}

/* Texts, and the events that a tracer makes, have no switch. */
static inline bool ftrace_event_has_switch(const FtraceEvent *event) {
        return strncmp(event->name, "ftrace/", 7) != 0;
}
