/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * CPU topology: where each processor is and what drives it, for which perfetto.protos.CpuInfo has no fields
 *
 * Each CPU has an instant on a track "Processors", whose arguments are what sysfs says about it: package, die, cluster,
 * core, its siblings (SMT), kind of core, caches, bounds of its frequency, governor, driver, microcode. What does not
 * exist is left out. `root` is the same as in cpu-info.h.
 */

#include "host/track-writer.h"

#define CPU_TOPOLOGY_CPUS_MAX  1024 /* of a machine; only the first ones */
#define CPU_TOPOLOGY_ARGUMENTS 20
#define CPU_TOPOLOGY_TEXT      192 /* bytes of one text, with its end; the rest is cut off */

typedef struct CpuTopology {
        TrackArgument arguments[CPU_TOPOLOGY_ARGUMENTS];
        char texts[CPU_TOPOLOGY_ARGUMENTS][CPU_TOPOLOGY_TEXT];
        size_t n;
} CpuTopology;

/* What there is to say about one CPU. */
void cpu_topology_read(CpuTopology *ret, int root, unsigned cpu);

/* Writes an instant for each CPU. Returns how many there are, or a negative errno. */
int cpu_topology_write(int root, TrackWriter *tracks, uint64_t now_ns);

/* Whether a list of CPUs, as sysfs writes them ("0-3,8"), contains this one. */
bool cpu_list_has(const char *list, unsigned cpu);
