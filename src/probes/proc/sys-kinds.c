/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kinds of counters that linux.sys_stats reads, and the file of each. */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "probes/proc/gpu-frequency.h"
#include "probes/proc/line.h"
#include "probes/proc/machine.h"
#include "probes/proc/net-dev.h"
#include "probes/proc/sys-kinds.h"

#define LABEL_BYTES 64

/*
 * Files of /proc
 */

static void encode_meminfo(SysSample *sample, SysFiles *files, size_t i, const char *text) {
        counters_encode(&sample->meminfo, text, sample->wire, &sample->tracks, sample->now_ns);
}

static void encode_vmstat(SysSample *sample, SysFiles *files, size_t i, const char *text) {
        counters_encode(&sample->vmstat, text, sample->wire, &sample->tracks, sample->now_ns);
}

static void encode_stat(SysSample *sample, SysFiles *files, size_t i, const char *text) {
        stat_encode(text, &sample->stat, sample->wire);
        stat_write_tracks(text, &sample->stat, &sample->tracks, sample->now_ns);
}

static void encode_buddyinfo(SysSample *sample, SysFiles *files, size_t i, const char *text) {
        buddyinfo_encode(text, sample->wire);
}

static void encode_diskstat(SysSample *sample, SysFiles *files, size_t i, const char *text) {
        diskstats_encode(text, sample->wire);
}

static void encode_slab(SysSample *sample, SysFiles *files, size_t i, const char *text) {
        slabinfo_encode(text, sample->wire);
}

static const char *const psi_patterns[] = {
        "proc/pressure/cpu",
        "proc/pressure/io",
        "proc/pressure/memory",
        "proc/pressure/irq", /* Linux 6.1 */
        NULL,
};

/* There is no PsiResource for interrupts, and readers treat a new one as an error. */
static void encode_psi(SysSample *sample, SysFiles *files, size_t i, const char *text) {
        static const PsiResource some[] = { PSI_CPU_SOME, PSI_IO_SOME, PSI_MEMORY_SOME };
        size_t pattern = files->files[i].pattern;
        uint64_t total_ns, group;

        if (pattern < ARRAY_SIZE(some)) {
                psi_encode(text, some[pattern], some[pattern] + 1, sample->wire);
        } else if (psi_total(text, "full ", &total_ns)) {
                group = track_group(&sample->tracks, 0, "Pressure");
                track_count(
                        &sample->tracks,
                        track_counter(&sample->tracks, group, "psi.irq.full", TRACK_UNIT_TIME_NS),
                        sample->now_ns,
                        (int64_t)total_ns);
        }
}

/* Those of the first process, so that it is the machine's network even if these probes are in another one. */
static const char *const network_patterns[] = { "proc/1/net/dev", "proc/net/dev", NULL };

static bool accept_network(SysFile *file, int root) {
        return file->pattern == 0 || faccessat(root, network_patterns[0], R_OK, AT_EACCESS) < 0;
}

static void encode_network(SysSample *sample, SysFiles *files, size_t i, const char *text) {
        net_dev_write_tracks(text, &sample->tracks, sample->now_ns);
}

/*
 * Frequencies and idle states
 */

static bool accept_cpu(SysFile *file, int root) {
        return file->numbers[0] < SYS_CPUS_MAX;
}

/* Readers count values: the n-th value belongs to CPU n. So CPUs that are off, or have no frequency, get a 0. */
static void encode_cpufreq(SysSample *sample, SysFiles *files, size_t i, const char *text) {
        uint64_t khz;

        if (!line_number(&text, &khz))
                return;
        for (; sample->n_cpus < files->files[i].numbers[0]; sample->n_cpus++)
                cpufreq_encode(0, sample->wire);
        cpufreq_encode(khz, sample->wire);
        sample->n_cpus++;
}

static bool accept_cpuidle(SysFile *file, int root) {
        char state[LABEL_BYTES];

        sys_file_beside(file, root, "name", state, sizeof(state));
        file->label = strdup(state);
        return file->label && *file->label && accept_cpu(file, root);
}

static void encode_cpuidle(SysSample *sample, SysFiles *files, size_t i, const char *text) {
        const SysFile *file = &files->files[i];
        uint64_t time_us;

        if (line_number(&text, &time_us))
                cpuidle_encode(file->numbers[0], file->label, time_us, sample->wire);
}

static void encode_devfreq(SysSample *sample, SysFiles *files, size_t i, const char *text) {
        char device[SYS_FILE_PATH_BYTES];
        uint64_t frequency;

        sys_file_directory(&files->files[i], device);
        if (line_number(&text, &frequency))
                devfreq_encode(device, frequency, sample->wire);
}

/* For readers, a card has one frequency. The frequencies of its other parts, such as the one for video, are tracks. */
static void encode_gpufreq(SysSample *sample, SysFiles *files, size_t i, const char *text) {
        const SysFile *file = &files->files[i];
        bool is_first = i == 0 || file[-1].numbers[0] != file->numbers[0];
        uint64_t khz = 0, group;
        char name[LABEL_BYTES];
        WireWriter *wire;

        if (text && !gpu_frequency_parse(file, text, &khz))
                return;
        if (is_first) {
                wire = packet_begin(&sample->own_packets);
                wire_put_uint(wire, PACKET_TIMESTAMP, sample->now_ns);
                gpu_frequency_encode(file->place, khz, wire);
                (void)packet_end(&sample->own_packets); /* the sink counts what it drops */
                return;
        }
        snprintf(name, sizeof(name), "card%u %s kHz", file->numbers[0], file->label);
        group = track_group(&sample->tracks, 0, "GPU frequency");
        track_count(&sample->tracks,
                    track_counter(&sample->tracks, group, name, TRACK_UNIT_NONE),
                    sample->now_ns,
                    (int64_t)khz);
}

/*
 * Thermal zones
 */

static bool accept_thermal(SysFile *file, int root) {
        char type[LABEL_BYTES];

        sys_file_beside(file, root, "type", type, sizeof(type));
        file->label = strdup(type);
        return file->label != NULL;
}

/* Readers identify a zone by its type, which several may share: the first keeps it as its name. */
static void zone_type(const SysFiles *files, size_t i, char ret[static SYS_FILE_PATH_BYTES]) {
        const SysFile *zone = &files->files[i];
        bool is_taken = false;

        for (size_t other = 0; other < i; other++)
                is_taken = is_taken || streq(files->files[other].label, zone->label);
        if (is_taken || !*zone->label)
                snprintf(ret,
                         SYS_FILE_PATH_BYTES,
                         "%s%sthermal_zone%u",
                         zone->label,
                         *zone->label ? " " : "",
                         zone->numbers[0]);
        else
                snprintf(ret, SYS_FILE_PATH_BYTES, "%s", zone->label);
}

static void write_millidegrees(SysSample *sample, const char *type, int64_t millidegrees) {
        uint64_t group = track_group(&sample->tracks, 0, "Temperature");
        char name[SYS_FILE_PATH_BYTES + 16];

        snprintf(name, sizeof(name), "%s m°C", type);
        track_count(&sample->tracks,
                    track_counter(&sample->tracks, group, name, TRACK_UNIT_NONE),
                    sample->now_ns,
                    millidegrees);
}

/* A zone that was ever below zero, which the packet cannot express, also has a track from then on. */
static void encode_thermal(SysSample *sample, SysFiles *files, size_t i, const char *text) {
        char name[SYS_FILE_PATH_BYTES], type[SYS_FILE_PATH_BYTES];
        SysFile *zone = &files->files[i];
        int64_t millidegrees;

        if (!line_signed(&text, &millidegrees))
                return;
        zone_type(files, i, type);
        zone->has_track = zone->has_track || millidegrees < 0 || sample->has_millidegrees;
        if (zone->has_track)
                write_millidegrees(sample, type, millidegrees);
        if (sample->has_millidegrees)
                return;
        sys_file_directory(zone, name);
        thermal_encode(millidegrees, name, type, sample->wire);
}

/*
 * Block devices
 */

/* A device without a size, such as an idle loop device, has nothing to wait for. */
static bool accept_queue(SysFile *file, int root) {
        char device[SYS_FILE_PATH_BYTES], size[32], name[LABEL_BYTES],
                label[2 * SYS_FILE_PATH_BYTES];

        sys_file_beside(file, root, "size", size, sizeof(size));
        if (streq(size, "0"))
                return false;
        sys_file_beside(file, root, "dm/name", name, sizeof(name));
        if (!*name)
                sys_file_beside(file, root, "device/model", name, sizeof(name));
        sys_file_directory(file, device);
        snprintf(label, sizeof(label), *name ? "%s (%s)" : "%s", device, name);
        file->label = strdup(label);
        return file->label != NULL;
}

static void encode_queue(SysSample *sample, SysFiles *files, size_t i, const char *text) {
        static const char *const directions[] = { "reads", "writes" };
        uint64_t group = track_group(&sample->tracks, 0, "Block queues"), n_requests;

        for (size_t k = 0; k < ARRAY_SIZE(directions) && line_number(&text, &n_requests); k++) {
                char name[2 * SYS_FILE_PATH_BYTES + 32];

                snprintf(name,
                         sizeof(name),
                         "%s %s in flight",
                         files->files[i].label,
                         directions[k]);
                track_count(&sample->tracks,
                            track_counter(&sample->tracks, group, name, TRACK_UNIT_COUNT),
                            sample->now_ns,
                            (int64_t)n_requests);
        }
}

/*
 * The table, in the order of the config
 */

#define PERIOD(name) .option = #name, .period = offsetof(Perfetto__Protos__SysStatsConfig, name)
#define FILES(...)                          \
        .patterns = (const char *const[]) { \
                __VA_ARGS__, NULL           \
        }

#define MOUNT_PROC "mount /proc"

const SysKind sys_kinds[SYS_N_KINDS] = {
        {
                PERIOD(meminfo_period_ms),
                .is_usual = true,
                FILES("proc/meminfo"),
                .when_missing = MOUNT_PROC,
                .encode = encode_meminfo,
        },
        {
                PERIOD(vmstat_period_ms),
                FILES("proc/vmstat"),
                .when_missing = MOUNT_PROC,
                .encode = encode_vmstat,
        },
        {
                PERIOD(stat_period_ms),
                .is_usual = true,
                FILES("proc/stat"),
                .when_missing = MOUNT_PROC,
                .encode = encode_stat,
        },
        {
                PERIOD(devfreq_period_ms),
                FILES("sys/class/devfreq/*/cur_freq"),
                .are_values = true,
                .when_missing = "this machine has no device whose frequency the kernel scales",
                .encode = encode_devfreq,
        },
        {
                PERIOD(cpufreq_period_ms),
                FILES("sys/devices/system/cpu/cpu#/cpufreq/scaling_cur_freq"),
                .accept = accept_cpu,
                .are_values = true,
                .when_missing = "no driver scales the frequency of the processors, as in most "
                                "virtual machines",
                .encode = encode_cpufreq,
        },
        {
                PERIOD(buddyinfo_period_ms),
                FILES("proc/buddyinfo"),
                .when_missing = MOUNT_PROC,
                .encode = encode_buddyinfo,
        },
        {
                PERIOD(diskstat_period_ms),
                .is_usual = true,
                FILES("proc/diskstats"),
                .when_missing = "the kernel has no block devices",
                .encode = encode_diskstat,
        },
        {
                PERIOD(psi_period_ms),
                .is_usual = true,
                .patterns = psi_patterns,
                .when_missing = "boot with psi=1 on the kernel's command line, if it is built with "
                                "CONFIG_PSI",
                .encode = encode_psi,
        },
        {
                PERIOD(thermal_period_ms),
                FILES("sys/class/thermal/thermal_zone#/temp"),
                .accept = accept_thermal,
                .are_values = true,
                .when_missing = "this machine has no sensor that the kernel knows as a thermal "
                                "zone, as in virtual machines",
                .encode = encode_thermal,
        },
        {
                PERIOD(cpuidle_period_ms),
                FILES("sys/devices/system/cpu/cpu#/cpuidle/state#/time"),
                .accept = accept_cpuidle,
                .are_values = true,
                .when_missing = "no driver knows the processors' idle states, as in most virtual "
                                "machines",
                .encode = encode_cpuidle,
        },
        {
                PERIOD(gpufreq_period_ms),
                .patterns = gpu_frequency_patterns,
                .accept = gpu_frequency_accept,
                .are_values = true,
                .when_missing = "no graphics driver tells its frequency; i915, xe, amdgpu and "
                                "those with devfreq do",
                .is_asleep = gpu_is_asleep,
                .encode = encode_gpufreq,
        },
        {
                PERIOD(slab_period_ms),
                FILES("proc/slabinfo"),
                .when_missing = "the kernel is built without CONFIG_SLUB_DEBUG",
                .encode = encode_slab,
        },
        {
                PERIOD(netdev_period_ms),
                .is_usual = true,
                .patterns = network_patterns,
                .accept = accept_network,
                .when_missing = "the kernel has no network",
                .when_second = "only the network of the recorder itself is seen, as /proc/1 is "
                               "hidden: mount /proc without hidepid=, or record with "
                               "CAP_SYS_PTRACE",
                .encode = encode_network,
        },
        {
                PERIOD(block_queue_period_ms),
                FILES("sys/block/*/inflight"),
                .accept = accept_queue,
                .are_values = true,
                .when_missing = "this machine has no block device of any size",
                .encode = encode_queue,
        },
};
