/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Kernel events: what the kernel's events are called on this machine, as far as we can find out
 *
 * tracefs knows, but only root may read it; the service has it from the probes, if they have run. What the presets
 * record is known in any case: enough to tell what was perhaps meant, and not enough to tell that a name is wrong.
 */

#include <glib.h>
#include <stdbool.h>

#include "client/bus-client.h"

typedef enum KernelEventsOrigin {
        KERNEL_EVENTS_SAMPLES, /* some there are */
        KERNEL_EVENTS_LAST, /* what the probes said when they ran last: modules may have brought more since */
        KERNEL_EVENTS_CURRENT, /* all, but for those that were defined on this machine (kprobes) */
        KERNEL_EVENTS_ALL,
} KernelEventsOrigin;

typedef struct KernelEvents {
        GPtrArray *names; /* "group/name", sorted by group; NULL: none is known */
        KernelEventsOrigin origin;
} KernelEvents;

void kernel_events_deinit(KernelEvents *events);

/* From tracefs, if we may read it. */
void kernel_events_read_local(KernelEvents *events);
/* From where there are any. `starts_probes`: the service may start the probes to ask them. */
void kernel_events_read(KernelEvents *events, const BusClient *client, bool starts_probes);

/* Whether there is "group/name", or anything of "group" and a star. If not, says so, with the nearest name:
 * STATUS_USAGE. */
ExitStatus kernel_events_check(const KernelEvents *events, const char *event);

/* Whether a word that stands for a data source is an event or a group of the kernel, which are written otherwise. Says
 * how: STATUS_USAGE. */
ExitStatus kernel_events_check_word(const KernelEvents *events, const char *word);

/* What is nearest to such a word, as it is to be written: "group/name", or "group" and a star. NULL: nothing is near.
 * Free with g_free(). */
char *kernel_events_nearest(const KernelEvents *events, const char *word);
