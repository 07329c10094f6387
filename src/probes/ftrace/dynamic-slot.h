/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Dynamic slot: a recording's own group in the kernel's list of kprobes and uprobes
 *
 * The kernel has one list of them for the whole machine (dynamic_events at the top of tracefs), and they outlive their
 * creators. So each recording has a group of its own, desktrace_SLOT, which it claims with a lock on the SLOT-th byte
 * of that file. The kernel releases the locks of a process that dies, and definitions in a group without a lock are
 * stale.
 */

#include "probes/ftrace/trace-dir.h"
#include "shared/macro.h"

#define DYNAMIC_SLOTS_MAX    64           /* recordings with such events at once */
#define DYNAMIC_EVENT_PREFIX "desktrace_" /* of the groups */
#define DYNAMIC_NAME_BYTES   128          /* of an event with its group */

typedef struct DynamicSlot {
        int fd; /* holds the lock; -1: none */
        unsigned number;
        unsigned n_waits; /* that are left for all of its definitions */
} DynamicSlot;

/* 0, PROBE_E_REFUSED, -ENOMEM. */
int dynamic_slot_take(DynamicSlot *slot, const TraceDir *dir, char **ret_error);
/* Everything that was defined in it must have been removed. */
void dynamic_slot_release(DynamicSlot *slot);

/* A line that defines, and a name (with its group) whose definitions go; where others have them open, that is waited
 * for, half a second in all. 0 or a negative errno. */
int dynamic_slot_write(const DynamicSlot *slot, const char *line);
int dynamic_slot_remove(DynamicSlot *slot, const char *name);

/* Removes the definitions of dead processes, once their instances are gone. Returns how many. */
int dynamic_events_remove_stale(const TraceDir *dir);
