/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A table of kinds: which period switches it on, which files it reads, how they are encoded. Files are opened once,
 * in setup, and read from their start at each sample.
 */

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "probes/proc/counters.h"
#include "probes/proc/machine.h"
#include "probes/proc/proc-check.h"
#include "probes/proc/stat.h"
#include "probes/proc/sys-stats-probe.h"
#include "shared/bytes.h"
#include "shared/fd.h"
#include "shared/log.h"

#define SYS_FILE_BYTES_MAX (4u << 20) /* /proc/stat with its interrupts is the largest */

enum {
        SYS_COLLECTION_END = 9,
};

typedef Perfetto__Protos__SysStatsConfig SysStatsConfig;
typedef struct SysStats SysStats;

typedef struct SysFile {
        int fd;
        char *name, *type; /* of a thermal zone */
} SysFile;

typedef struct SysKind {
        const char *option;
        size_t period; /* offset in SysStatsConfig */
        const char *files;
        bool optional; /* machines without it are normal */
        void (*encode)(SysStats *stats,
                       size_t i,
                       const SysFile *file,
                       const char *text,
                       WireWriter *wire);
} SysKind;

enum { SYS_N_KINDS = 7 };

typedef struct SysSource {
        SysFile *files;
        size_t n_files;
        uint64_t period_ns; /* 0: off */
        uint64_t due_ns;
} SysSource;

struct SysStats {
        PacketWriter packets;
        Bytes text;
        Counters meminfo, vmstat;
        unsigned stat_wanted;
        uint64_t ticks_per_second;
        SysSource sources[SYS_N_KINDS];
};

static void
encode_meminfo(SysStats *stats, size_t i, const SysFile *file, const char *text, WireWriter *wire) {
        counters_encode(&stats->meminfo, text, wire);
}

static void
encode_vmstat(SysStats *stats, size_t i, const SysFile *file, const char *text, WireWriter *wire) {
        counters_encode(&stats->vmstat, text, wire);
}

static void
encode_stat(SysStats *stats, size_t i, const SysFile *file, const char *text, WireWriter *wire) {
        stat_encode(text, stats->stat_wanted, stats->ticks_per_second, wire);
}

static void
encode_cpufreq(SysStats *stats, size_t i, const SysFile *file, const char *text, WireWriter *wire) {
        cpufreq_encode(text, wire);
}

static void encode_diskstat(SysStats *stats,
                            size_t i,
                            const SysFile *file,
                            const char *text,
                            WireWriter *wire) {
        diskstats_encode(text, wire);
}

/* The files in the order that glob() gives: cpu, io, memory. */
static void
encode_psi(SysStats *stats, size_t i, const SysFile *file, const char *text, WireWriter *wire) {
        static const PsiResource some[] = { PSI_CPU_SOME, PSI_IO_SOME, PSI_MEMORY_SOME };

        if (i < ARRAY_SIZE(some))
                psi_encode(text, some[i], some[i] + 1, wire);
}

static void
encode_thermal(SysStats *stats, size_t i, const SysFile *file, const char *text, WireWriter *wire) {
        thermal_encode(text, file->name, file->type, wire);
}

static const SysKind sys_kinds[SYS_N_KINDS] = {
        { "meminfo_period_ms",
          offsetof(SysStatsConfig, meminfo_period_ms),
          "/proc/meminfo",
          false,
          encode_meminfo },
        { "vmstat_period_ms",
          offsetof(SysStatsConfig, vmstat_period_ms),
          "/proc/vmstat",
          false,
          encode_vmstat },
        { "stat_period_ms",
          offsetof(SysStatsConfig, stat_period_ms),
          "/proc/stat",
          false,
          encode_stat },
        { "cpufreq_period_ms",
          offsetof(SysStatsConfig, cpufreq_period_ms),
          "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq",
          true,
          encode_cpufreq },
        { "diskstat_period_ms",
          offsetof(SysStatsConfig, diskstat_period_ms),
          "/proc/diskstats",
          true,
          encode_diskstat },
        { "psi_period_ms",
          offsetof(SysStatsConfig, psi_period_ms),
          "/proc/pressure/{cpu,io,memory}",
          true,
          encode_psi },
        { "thermal_period_ms",
          offsetof(SysStatsConfig, thermal_period_ms),
          "/sys/class/thermal/thermal_zone*/temp",
          true,
          encode_thermal },
};

static void source_deinit(SysSource *source) {
        for (size_t i = 0; i < source->n_files; i++) {
                fd_close(source->files[i].fd);
                free(source->files[i].name);
                free(source->files[i].type);
        }
        free(source->files);
}

static void *sys_stats_free(void *userdata) {
        SysStats *stats = userdata;

        if (!stats)
                return NULL;
        for (size_t i = 0; i < SYS_N_KINDS; i++)
                source_deinit(&stats->sources[i]);
        counters_deinit(&stats->meminfo);
        counters_deinit(&stats->vmstat);
        packet_writer_deinit(&stats->packets);
        bytes_deinit(&stats->text);
        free(stats);
        return NULL;
}

static void sys_stats_freep(SysStats **stats) {
        sys_stats_free(*stats);
}

/* "…/thermal_zone3/temp" -> name "thermal_zone3", and the type that the file beside it tells. */
static int file_name_zone(SysFile *file, const char *path) {
        const char *end = strrchr(path, '/'), *start = end;
        _cleanup_(freep) char *type_path = NULL;

        while (start > path && start[-1] != '/')
                start--;
        file->name = strndup(start, (size_t)(end - start));
        if (!file->name || asprintf(&type_path, "%.*s/type", (int)(end - path), path) < 0) {
                type_path = NULL;
                return -ENOMEM;
        }
        if (fd_read_file(&file->type, NULL, AT_FDCWD, type_path, 256) < 0)
                file->type = strdup("");
        if (!file->type)
                return -ENOMEM;
        file->type[strcspn(file->type, "\n")] = '\0';
        return 0;
}

static int source_open(SysSource *source, const char *path) {
        SysFile *file = &source->files[source->n_files];
        _cleanup_(fd_closep) int fd = -1;

        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        *file = (SysFile){ .fd = TAKE_FD(fd) };
        source->n_files++;
        return file_name_zone(file, path);
}

/* Opens what is there. The first error is returned, also when other files could be opened. */
static int source_open_all(SysSource *source, const char *pattern) {
        glob_t paths = {};
        int r = -ENOENT;

        if (glob(pattern, GLOB_BRACE, NULL, &paths) != 0)
                return -ENOENT;
        source->files = calloc(paths.gl_pathc, sizeof(*source->files));
        r = source->files ? 0 : -ENOMEM;
        for (size_t i = 0; r == 0 && i < paths.gl_pathc; i++)
                r = source_open(source, paths.gl_pathv[i]);
        globfree(&paths);
        return r;
}

static int source_setup(SysSource *source,
                        const SysKind *kind,
                        const SysStatsConfig *config,
                        char **ret_error) {
        uint32_t period_ms;
        int r;

        memcpy(&period_ms, (const char *)config + kind->period, sizeof(period_ms));
        if (period_ms == 0)
                return 0;
        r = source_open_all(source, kind->files);
        if (r == -ENOMEM)
                return r;
        if (r < 0 && !kind->optional)
                return probe_refuse(ret_error,
                                    "linux.sys_stats: %s: cannot open %s: %s",
                                    kind->option,
                                    kind->files,
                                    strerror(-r));
        if (r < 0)
                log_notice(
                        "linux.sys_stats: %s: cannot open %s: %s; this machine has none to record",
                        kind->option,
                        kind->files,
                        strerror(-r));
        if (source->n_files > 0)
                source->period_ns =
                        MAX(period_ms, (uint32_t)SYS_STATS_PERIOD_MS_MIN) * PROBE_NS_PER_MS;
        return 0;
}

static int counters_setup(SysStats *stats, const SysStatsConfig *config) {
        int r;

        r = counters_init(&stats->meminfo,
                          COUNTER_MEMINFO,
                          (const uint32_t *)config->meminfo_counters,
                          config->n_meminfo_counters);
        if (r < 0)
                return r;
        for (size_t i = 0; i < config->n_stat_counters; i++)
                if (config->stat_counters[i] < 32)
                        stats->stat_wanted |= 1u << config->stat_counters[i];
        if (config->n_stat_counters == 0)
                stats->stat_wanted = STAT_ALL;
        return counters_init(&stats->vmstat,
                             COUNTER_VMSTAT,
                             (const uint32_t *)config->vmstat_counters,
                             config->n_vmstat_counters);
}

static bool any_is_on(const SysStats *stats) {
        for (size_t i = 0; i < SYS_N_KINDS; i++)
                if (stats->sources[i].period_ns > 0)
                        return true;
        return false;
}

static int sys_stats_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        static const SysStatsConfig defaults = PERFETTO__PROTOS__SYS_STATS_CONFIG__INIT;
        const SysStatsConfig *config = setup->config->sys_stats_config ?: &defaults;
        _cleanup_(sys_stats_freep) SysStats *stats = NULL;
        int r;

        stats = calloc(1, sizeof(*stats));
        if (!stats)
                return -ENOMEM;
        packet_writer_init(&stats->packets, setup->sink);
        stats->ticks_per_second = (uint64_t)sysconf(_SC_CLK_TCK);
        r = counters_setup(stats, config);
        for (size_t i = 0; r == 0 && i < SYS_N_KINDS; i++)
                r = source_setup(&stats->sources[i], &sys_kinds[i], config, ret_error);
        if (r != 0)
                return r;
        if (!any_is_on(stats))
                return probe_refuse(
                        ret_error,
                        "linux.sys_stats: nothing to record: set a period that this machine has "
                        "data for in sys_stats_config, for example meminfo_period_ms");
        *ret = TAKE(stats);
        return 0;
}

/* NULL when the file cannot be read now: a CPU that is off, a sensor that has no value. */
static const char *read_text(SysStats *stats, int fd) {
        bytes_clear(&stats->text);
        for (;;) {
                ssize_t n;

                if (stats->text.n > SYS_FILE_BYTES_MAX || bytes_reserve(&stats->text, 16384) < 0)
                        return NULL;
                n = pread(fd,
                          stats->text.data + stats->text.n,
                          stats->text.n_allocated - stats->text.n - 1,
                          (off_t)stats->text.n);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return NULL;
                stats->text.n += (size_t)n;
                if (n == 0)
                        break;
        }
        stats->text.data[stats->text.n] = '\0';
        return (const char *)stats->text.data;
}

static void
encode_source(SysStats *stats, const SysSource *source, const SysKind *kind, WireWriter *wire) {
        for (size_t i = 0; i < source->n_files; i++) {
                const char *text = read_text(stats, source->files[i].fd);

                if (text)
                        kind->encode(stats, i, &source->files[i], text, wire);
        }
}

/* Encodes what is due and moves it to its next time. Returns how many kinds were. */
static size_t
encode_due(SysStats *stats, uint64_t now_ns, WireWriter *wire, uint64_t *ret_next_ns) {
        size_t n_due = 0;

        *ret_next_ns = PROBE_NEVER;
        for (size_t i = 0; i < SYS_N_KINDS; i++) {
                SysSource *source = &stats->sources[i];

                if (source->period_ns == 0)
                        continue;
                if (source->due_ns <= now_ns) {
                        encode_source(stats, source, &sys_kinds[i], wire);
                        source->due_ns = probe_next_on_grid(now_ns, source->period_ns);
                        n_due++;
                }
                *ret_next_ns = MIN(*ret_next_ns, source->due_ns);
        }
        return n_due;
}

static uint64_t sys_stats_poll(void *userdata, uint64_t now_ns) {
        SysStats *stats = userdata;
        WireWriter *wire = packet_begin(&stats->packets);
        uint64_t next_ns;
        size_t begin;

        wire_put_uint(wire, PACKET_TIMESTAMP, now_ns);
        begin = wire_begin(wire, PACKET_SYS_STATS);
        if (encode_due(stats, now_ns, wire, &next_ns) == 0)
                return next_ns;
        wire_put_uint(wire, SYS_COLLECTION_END, probe_now_ns());
        wire_end(wire, begin);
        (void)packet_end(&stats->packets); /* the sink counts what it drops */
        return next_ns;
}

/* A last sample, so that the counters of the whole recording are known. */
static void sys_stats_stop(void *userdata, uint64_t now_ns) {
        SysStats *stats = userdata;

        for (size_t i = 0; i < SYS_N_KINDS; i++)
                stats->sources[i].due_ns = 0;
        sys_stats_poll(stats, now_ns);
}

const ProbeOps sys_stats_probe_ops = {
        .name = "linux.sys_stats",
        .packet_fields = (const uint32_t[]){ PACKET_SYS_STATS, 0 },
        .records = "counters of the machine",
        .reads = "/proc/meminfo, /proc/vmstat, /proc/stat, /proc/diskstats, /proc/pressure, "
                 "cpufreq, thermal zones",
        .refuses = "no period is set, or the machine has none of what is asked for: set another",
        .check = sys_stats_check,
        .setup = sys_stats_setup,
        .poll = sys_stats_poll,
        .stop = sys_stats_stop,
        .free = sys_stats_free,
};
