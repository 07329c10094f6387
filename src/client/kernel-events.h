/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Kernel events: the names of this machine's kernel events, as far as we can find out
 *
 * tracefs knows them, but only root may read it; the service has them from the probes, if these have run. If neither
 * source can be read, the events of the presets remain, and the kernel's symbols (kernel-names.h), which have the names
 * of all events but seldom their groups: enough to refuse most misspelt names before a password is asked for.
 */

#include <glib.h>
#include <stdbool.h>

#include "client/bus-client.h"
#include "client/kernel-names.h"

typedef enum KernelEventsOrigin {
        KERNEL_EVENTS_SAMPLES, /* only some that exist: those of the presets */
        KERNEL_EVENTS_LAST,    /* the probes' last list: modules may have added more since */
        KERNEL_EVENTS_CURRENT, /* all, except for events that were defined on this machine (kprobes) */
        KERNEL_EVENTS_ALL,
} KernelEventsOrigin;

typedef struct KernelEvents {
        GPtrArray *names; /* "group/name", sorted by group; NULL: none is known */
        KernelEventsOrigin origin;
        KernelNames symbols; /* with KERNEL_EVENTS_SAMPLES: from the kernel's symbols */
} KernelEvents;

void kernel_events_deinit(KernelEvents *events);

/* From tracefs, if we may read it. */
void kernel_events_read_local(KernelEvents *events);
/* From any source that has some. `starts_probes`: the service may start the probes to ask them. */
void kernel_events_read(KernelEvents *events, const BusClient *client, bool starts_probes);

/* Whether there is an event "group/name", or any in "group" followed by a star. If not, reports that with the
 * nearest name: STATUS_USAGE. */
ExitStatus kernel_events_check(const KernelEvents *events, const char *event);

/* The event that an entry of a config, which may lack its group, was probably meant to be. Returns NULL if the event
 * exists, or nothing is near to it, as with events of other kernels. Free with g_free(). */
char *kernel_events_meant(const KernelEvents *events, const char *event);

/* Whether a word in the place of a data source is an event or a group of the kernel, which are written
 * differently. If so, reports how: STATUS_USAGE. */
ExitStatus kernel_events_check_word(const KernelEvents *events, const char *word);

/* The nearest event or group to such a word, in the form in which it has to be written: "group/name", or "group"
 * and a star. Returns NULL if nothing is near. Free with g_free(). */
char *kernel_events_nearest(const KernelEvents *events, const char *word);
