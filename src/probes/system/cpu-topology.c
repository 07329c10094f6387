/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What /sys says about the CPUs, their caches and frequencies. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "probes/system/cpu-topology.h"
#include "probes/system/sysfs.h"
#include "shared/fd.h"
#include "shared/macro.h"
#include "shared/utf8.h"

#define CPUS       "sys/devices/system/cpu"
#define CACHES_MAX 8 /* of one CPU */

/* Files below the CPU's directory. */
static const struct {
        const char *name, *path;
        bool is_number;
} facts[] = {
        { "package", "topology/physical_package_id", true },
        { "die", "topology/die_id", true },
        { "cluster", "topology/cluster_id", true },
        { "core", "topology/core_id", true },
        { "siblings (SMT)", "topology/thread_siblings_list", false },
        { "same die", "topology/die_cpus_list", false },
        { "online", "online", true },
        { "capacity", "cpu_capacity", true },
        { "lowest kHz", "cpufreq/cpuinfo_min_freq", true },
        { "base kHz", "cpufreq/base_frequency", true },
        { "highest kHz", "cpufreq/cpuinfo_max_freq", true },
        { "driver", "cpufreq/scaling_driver", false },
        { "governor", "cpufreq/scaling_governor", false },
        { "preference", "cpufreq/energy_performance_preference", false },
        { "microcode", "microcode/version", false },
};

/* If a machine has several kinds of processors, each kind is a performance monitoring unit. */
static const struct {
        const char *kind, *path;
} kinds[] = {
        { "performance", "sys/devices/cpu_core/cpus" },
        { "efficiency", "sys/devices/cpu_atom/cpus" },
        { "low power", "sys/devices/cpu_lowpower/cpus" },
};

bool cpu_list_has(const char *list, unsigned cpu) {
        while (*list >= '0' && *list <= '9') {
                char *end;
                unsigned long first = strtoul(list, &end, 10), last = first;

                if (*end == '-')
                        last = strtoul(end + 1, &end, 10);
                if (cpu >= first && cpu <= last)
                        return true;
                list = end + (*end == ',');
        }
        return false;
}

static void add_text(CpuTopology *topology, const char *name, const char *text) {
        char *copy = topology->texts[topology->n];

        if (!text[0] || topology->n == CPU_TOPOLOGY_ARGUMENTS)
                return;
        snprintf(copy, CPU_TOPOLOGY_TEXT, "%s", text);
        utf8_clean(copy);
        topology->arguments[topology->n++] = (TrackArgument){ .name = name, .text = copy };
}

/* No identifier is negative: that is how the kernel says that one is unknown. */
static void add_number(CpuTopology *topology, const char *name, int64_t number) {
        if (number >= 0 && topology->n < CPU_TOPOLOGY_ARGUMENTS)
                topology->arguments[topology->n++] =
                        (TrackArgument){ .name = name, .number = number };
}

static void read_facts(CpuTopology *topology, int dir) {
        for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
                char text[CPU_TOPOLOGY_TEXT];
                int64_t number;

                if (facts[i].is_number && sysfs_read_int(&number, dir, facts[i].path))
                        add_number(topology, facts[i].name, number);
                else if (!facts[i].is_number &&
                         sysfs_read(text, sizeof(text), dir, facts[i].path) == 0)
                        add_text(topology, facts[i].name, text);
        }
}

static void read_kind(CpuTopology *topology, int root, unsigned cpu) {
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                char list[SYSFS_TEXT_BYTES];

                if (sysfs_read(list, sizeof(list), root, kinds[i].path) == 0 &&
                    cpu_list_has(list, cpu))
                        add_text(topology, "kind", kinds[i].kind);
        }
}

static void read_cache_file(char ret[static 64], int dir, unsigned cache, const char *file) {
        char path[64];

        snprintf(path, sizeof(path), "cache/index%u/%s", cache, file);
        (void)sysfs_read(ret, 64, dir, path);
}

/* "L1 Data 48K of 0,8; L1 Instruction 32K of 0,8; L2 Unified 1280K of 0,8" */
static void read_caches(CpuTopology *topology, int dir) {
        char caches[CPU_TOPOLOGY_TEXT] = "";
        size_t n = 0;

        for (unsigned i = 0; i < CACHES_MAX && n < sizeof(caches); i++) {
                char level[64], type[64], size[64], shared[64];

                read_cache_file(level, dir, i, "level");
                read_cache_file(type, dir, i, "type");
                read_cache_file(size, dir, i, "size");
                read_cache_file(shared, dir, i, "shared_cpu_list");
                if (!level[0])
                        break;
                n += (size_t)snprintf(caches + n,
                                      sizeof(caches) - n,
                                      "%sL%.4s %.16s %.16s of %.32s",
                                      n > 0 ? "; " : "",
                                      level,
                                      type,
                                      size,
                                      shared);
        }
        add_text(topology, "caches", caches);
}

void cpu_topology_read(CpuTopology *ret, int root, unsigned cpu) {
        _cleanup_(fd_closep) int dir = -1;
        char path[64];

        ret->n = 0;
        snprintf(path, sizeof(path), CPUS "/cpu%u", cpu);
        dir = openat(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return;
        read_facts(ret, dir);
        read_kind(ret, root, cpu);
        read_caches(ret, dir);
}

int cpu_topology_write(int root, TrackWriter *tracks, uint64_t now_ns) {
        const uint64_t track = track_group(tracks, 0, "Processors");
        char possible[SYSFS_TEXT_BYTES], name[32];
        CpuTopology topology;
        int n = 0;
        int r;

        r = sysfs_read(possible, sizeof(possible), root, CPUS "/present");
        if (r < 0)
                return r;
        for (unsigned cpu = 0; cpu < CPU_TOPOLOGY_CPUS_MAX; cpu++) {
                if (!cpu_list_has(possible, cpu))
                        continue;
                cpu_topology_read(&topology, root, cpu);
                if (topology.n == 0)
                        continue;
                snprintf(name, sizeof(name), "CPU %u", cpu);
                track_instant(tracks, track, now_ns, name, topology.arguments, topology.n);
                n++;
        }
        return n;
}
