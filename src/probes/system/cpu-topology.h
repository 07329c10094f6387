/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * CPU topology: where each processor is and what drives it, which perfetto.protos.CpuInfo has no fields for
 *
 * An instant for each CPU on a track "Processors", with what sysfs says of it as arguments: package, die, cluster,
 * core, its siblings (SMT), kind of core, caches, bounds of its frequency, governor, driver, microcode. What is not
 * there is left out. `root` as in cpu-info.h.
 */

#include "host/track-writer.h"

#define CPU_TOPOLOGY_CPUS_MAX  1024 /* of a machine; the first ones */
#define CPU_TOPOLOGY_ARGUMENTS 20
#define CPU_TOPOLOGY_TEXT      192 /* bytes of one, with its end; the rest is cut off */

typedef struct CpuTopology {
        TrackArgument arguments[CPU_TOPOLOGY_ARGUMENTS];
        char texts[CPU_TOPOLOGY_ARGUMENTS][CPU_TOPOLOGY_TEXT];
        size_t n;
} CpuTopology;

/* What there is to say of one CPU. */
void cpu_topology_read(CpuTopology *ret, int root, unsigned cpu);

/* Writes an instant for each. Returns how many, or a negative errno. */
int cpu_topology_write(int root, TrackWriter *tracks, uint64_t now_ns);

/* Whether a list of CPUs as sysfs writes them ("0-3,8") has this one. */
bool cpu_list_has(const char *list, unsigned cpu);
