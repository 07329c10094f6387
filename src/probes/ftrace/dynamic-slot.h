/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Dynamic slot: a group for each recording in the kernel's list of kprobes and uprobes
 *
 * The kernel has one such list for the whole machine (dynamic_events at the top of tracefs), and definitions outlive
 * the processes that made them. So each recording has a group of its own, desktrace_SLOT, which it claims with a lock
 * on the SLOT-th byte of that file. The kernel releases the locks of a process that dies, so definitions in a group
 * without a lock are stale.
 */

#include "probes/ftrace/trace-dir.h"
#include "shared/macro.h"

#define DYNAMIC_SLOTS_MAX    64           /* recordings that have such events at the same time */
#define DYNAMIC_EVENT_PREFIX "desktrace_" /* of the groups */
#define DYNAMIC_NAME_BYTES   128          /* of an event's name, with its group */

typedef struct DynamicSlot {
        int fd; /* holds the lock; -1: none */
        unsigned number;
        unsigned n_waits; /* waits that are left, for all of its definitions together */
} DynamicSlot;

/* Returns 0, PROBE_E_REFUSED or -ENOMEM. */
int dynamic_slot_take(DynamicSlot *slot, const TraceDir *dir, char **ret_error);
/* Call it when everything that was defined in the slot has been removed. */
void dynamic_slot_release(DynamicSlot *slot);

/* The first writes a line that defines something. The second removes the definitions with a name (with its group);
 * where others have these open, it waits for half a second in all. Both return 0 or a negative errno. */
int dynamic_slot_write(const DynamicSlot *slot, const char *line);
int dynamic_slot_remove(DynamicSlot *slot, const char *name);

/* Removes the definitions of dead processes, once their instances are gone. Returns how many. */
int dynamic_events_remove_stale(const TraceDir *dir);
