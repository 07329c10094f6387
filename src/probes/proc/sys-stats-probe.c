/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Each kind of sys-kinds.h that the config asks for is a source. Files are opened in setup, and read from their start
 * for each sample.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/denial.h"
#include "probes/proc/proc-check.h"
#include "probes/proc/sys-kinds.h"
#include "probes/proc/sys-stats-probe.h"
#include "shared/fd.h"

enum {
        SYS_COLLECTION_END = 9,
};

typedef Perfetto__Protos__SysStatsConfig SysStatsConfig;

typedef struct SysSource {
        const SysKind *kind;
        SysFiles files;
        uint64_t period_ns; /* 0: off */
        uint64_t due_ns;
        uint64_t scan_ns; /* when to look for devices; 0: not sampled yet */
} SysSource;

typedef struct SysStats {
        int root;
        PacketWriter packets;
        SysSample sample;
        SysSource sources[SYS_N_KINDS];
} SysStats;

static void *sys_stats_free(void *userdata) {
        SysStats *stats = userdata;

        if (!stats)
                return NULL;
        for (size_t i = 0; i < SYS_N_KINDS; i++)
                sys_files_deinit(&stats->sources[i].files);
        counters_deinit(&stats->sample.meminfo);
        counters_deinit(&stats->sample.vmstat);
        track_writer_deinit(&stats->sample.tracks);
        packet_writer_deinit(&stats->sample.own_packets);
        packet_writer_deinit(&stats->packets);
        fd_close(stats->root);
        free(stats);
        return NULL;
}

static void sys_stats_freep(SysStats **stats) {
        sys_stats_free(*stats);
}

/*
 * Setup
 */

/* If nothing can be read for one kind, the others continue. The reason of the first failure becomes that of the
 * refusal. */
static int note_missing(const SysSource *source, ProbeNotes *notes, char **why) {
        const SysKind *kind = source->kind;
        int error = -source->files.error;
        char denial[DENIAL_BYTES] = "", *text;

        if (error != ENOENT)
                denial_explain(denial, source->files.root, error, CAP_DAC_OVERRIDE);
        if (asprintf(&text,
                     "%s: /%s: %s%s%s",
                     kind->option,
                     kind->patterns[0],
                     strerror(error),
                     *denial ? "" : "; ",
                     *denial ? denial : kind->when_missing) < 0)
                return -ENOMEM;
        /* We write "cpu#", others write "cpu*". */
        for (char *c = strchr(text, '#'); c; c = strchr(c, '#'))
                *c = '*';
        probe_note(notes, "%s", text);
        if (*why)
                free(text);
        else
                *why = text;
        return 0;
}

/* Notes sources that are there but give less than one would expect. */
static void note_poor(const SysSource *source, uint32_t period_ms, ProbeNotes *notes) {
        const SysKind *kind = source->kind;
        const SysFiles *files = &source->files;

        if (files->n > 0 && files->error < 0)
                probe_note(notes,
                           "%s: only %zu files could be opened: %s",
                           kind->option,
                           files->n,
                           strerror(-files->error));
        if (kind->when_second && files->n == 1 && files->files[0].pattern == 1)
                probe_note(notes, "%s: %s", kind->option, kind->when_second);
        if (period_ms < SYS_STATS_PERIOD_MS_MIN)
                probe_note(notes,
                           "%s: %u is too short; a sample is taken every %d ms",
                           kind->option,
                           period_ms,
                           SYS_STATS_PERIOD_MS_MIN);
}

static int source_setup(SysSource *source, uint32_t period_ms, ProbeNotes *notes, char **why) {
        int r;

        r = sys_files_scan(&source->files);
        if (r < 0)
                return r;
        if (source->files.n == 0)
                r = note_missing(source, notes, why);
        note_poor(source, period_ms, notes);
        source->period_ns = MAX(period_ms, (uint32_t)SYS_STATS_PERIOD_MS_MIN) * PROBE_NS_PER_MS;
        return r;
}

static int
setup_sources(SysStats *stats, const SysStatsConfig *config, ProbeNotes *notes, char **why) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < SYS_N_KINDS; i++) {
                const SysKind *kind = &sys_kinds[i];
                SysSource *source = &stats->sources[i];
                uint32_t period_ms;

                memcpy(&period_ms, (const char *)config + kind->period, sizeof(period_ms));
                source->kind = kind;
                sys_files_init(&source->files, stats->root, kind->patterns, kind->accept);
                source->files.are_values = kind->are_values;
                if (period_ms > 0)
                        r = source_setup(source, period_ms, notes, why);
        }
        return r;
}

static int setup_sample(SysSample *sample, const SysStatsConfig *config) {
        long ticks_per_second = sysconf(_SC_CLK_TCK);
        int r;

        sample->has_millidegrees = config->thermal_millidegrees;
        sample->stat.ns_per_tick = 1000000000u / (uint64_t)MAX(ticks_per_second, 1L);
        for (size_t i = 0; i < config->n_stat_counters; i++)
                if (config->stat_counters[i] < 32)
                        sample->stat.wanted |= 1u << config->stat_counters[i];
        if (config->n_stat_counters == 0)
                sample->stat.wanted = STAT_ALL;
        r = counters_init(&sample->meminfo,
                          COUNTER_MEMINFO,
                          (const uint32_t *)config->meminfo_counters,
                          config->n_meminfo_counters);
        if (r < 0)
                return r;
        return counters_init(&sample->vmstat,
                             COUNTER_VMSTAT,
                             (const uint32_t *)config->vmstat_counters,
                             config->n_vmstat_counters);
}

static bool has_files(const SysStats *stats) {
        for (size_t i = 0; i < SYS_N_KINDS; i++)
                if (stats->sources[i].files.n > 0)
                        return true;
        return false;
}

static int refuse(const char *why, char **ret_error) {
        if (why)
                return probe_refuse(ret_error, "%s", why);
        return probe_refuse(ret_error,
                            "no period is set, so there is nothing to record; set "
                            "one in sys_stats_config, for example meminfo_period_ms");
}

/* For configs that name the source and nothing else. */
static SysStatsConfig usual_config(void) {
        SysStatsConfig config = PERFETTO__PROTOS__SYS_STATS_CONFIG__INIT;
        const uint32_t period_ms = SYS_STATS_PERIOD_MS_USUAL;

        for (size_t i = 0; i < SYS_N_KINDS; i++)
                if (sys_kinds[i].is_usual)
                        memcpy((char *)&config + sys_kinds[i].period,
                               &period_ms,
                               sizeof(period_ms));
        return config;
}

int sys_stats_new(void **ret, int root_fd, const ProbeSetup *setup, char **ret_error) {
        const SysStatsConfig usual = usual_config();
        const SysStatsConfig *config = setup->config->sys_stats_config ?: &usual;
        _cleanup_(sys_stats_freep) SysStats *stats = NULL;
        _cleanup_(fd_closep) int root = root_fd;
        _cleanup_(freep) char *why = NULL;
        int r;

        stats = calloc(1, sizeof(*stats));
        if (!stats)
                return -ENOMEM;
        stats->root = TAKE_FD(root);
        packet_writer_init(&stats->packets, setup->sink);
        packet_writer_init(&stats->sample.own_packets, setup->sink);
        track_writer_init(&stats->sample.tracks, &stats->sample.own_packets, "linux.sys_stats");
        r = setup_sample(&stats->sample, config);
        if (r == 0)
                r = setup_sources(stats, config, setup->notes, &why);
        if (r < 0)
                return r;
        if (!has_files(stats))
                return refuse(why, ret_error);
        *ret = TAKE(stats);
        return 0;
}

static int sys_stats_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        return root < 0 ? -errno : sys_stats_new(ret, root, setup, ret_error);
}

/*
 * Sampling
 */

/* A scan for which there was not enough memory has kept what it could. */
static void source_scan(SysSource *source, uint64_t now_ns) {
        if (source->scan_ns == 0)
                source->scan_ns = now_ns + SYS_STATS_SCAN_NS;
        if (now_ns < source->scan_ns)
                return;
        (void)sys_files_scan(&source->files);
        source->scan_ns = now_ns + SYS_STATS_SCAN_NS;
}

static void source_sample(SysSource *source, SysSample *sample) {
        const SysKind *kind = source->kind;
        SysFiles *files = &source->files;

        source_scan(source, sample->now_ns);
        for (size_t i = 0; i < files->n; i++) {
                const char *text = NULL;
                bool is_asleep = kind->is_asleep && kind->is_asleep(&files->files[i], files->root);

                if (!is_asleep)
                        text = sys_files_read(files, &files->files[i]);
                if (text || is_asleep)
                        kind->encode(sample, files, i, text);
        }
        if (files->lost_one)
                source->scan_ns = MIN(source->scan_ns, sample->now_ns + SYS_STATS_LOST_SCAN_NS);
}

/* While there is nothing to read, the period is only that of looking for files. */
static uint64_t source_period(const SysSource *source) {
        return source->files.n > 0 ? source->period_ns : MAX(source->period_ns, SYS_STATS_SCAN_NS);
}

/* Samples what is due, and sets its next time, which it returns. */
static uint64_t sample_due(SysStats *stats) {
        uint64_t next_ns = PROBE_NEVER;

        for (size_t i = 0; i < SYS_N_KINDS; i++) {
                SysSource *source = &stats->sources[i];

                if (source->period_ns == 0)
                        continue;
                if (source->due_ns <= stats->sample.now_ns) {
                        source_sample(source, &stats->sample);
                        source->due_ns =
                                probe_next_on_grid(stats->sample.now_ns, source_period(source));
                }
                next_ns = MIN(next_ns, source->due_ns);
        }
        return next_ns;
}

static uint64_t sys_stats_poll(void *userdata, uint64_t now_ns) {
        SysStats *stats = userdata;
        WireWriter *wire = packet_begin(&stats->packets);
        size_t begin, n_empty;
        uint64_t next_ns;

        wire_put_uint(wire, PACKET_TIMESTAMP, now_ns);
        begin = wire_begin(wire, PACKET_SYS_STATS);
        n_empty = wire_writer_size(wire);
        stats->sample.wire = wire;
        stats->sample.now_ns = now_ns;
        stats->sample.n_cpus = 0;
        next_ns = sample_due(stats);
        if (wire_writer_size(wire) == n_empty)
                return next_ns;
        wire_put_uint(wire, SYS_COLLECTION_END, probe_now_ns());
        wire_end(wire, begin);
        (void)packet_end(&stats->packets); /* the sink counts what it drops */
        return next_ns;
}

/* Takes a last sample, so that the counters of the whole recording are known. */
static void sys_stats_stop(void *userdata, uint64_t now_ns) {
        SysStats *stats = userdata;

        for (size_t i = 0; i < SYS_N_KINDS; i++)
                stats->sources[i].due_ns = 0;
        sys_stats_poll(stats, now_ns);
}

static void sys_stats_clear(void *userdata) {
        SysStats *stats = userdata;

        track_writer_clear(&stats->sample.tracks);
}

const ProbeOps sys_stats_probe_ops = {
        .name = "linux.sys_stats",
        .packet_fields = (const uint32_t[]){ PACKET_SYS_STATS,
                                             PACKET_GPU_FREQUENCY,
                                             PACKET_TRACK_EVENT,
                                             PACKET_TRACK_DESCRIPTOR,
                                             0 },
        .records = "counters of the machine: memory, processors, interrupts, disks and their "
                   "queues, network interfaces, pressure, frequencies, idle states, temperatures",
        .reads = "/proc/meminfo, /proc/vmstat, /proc/stat, /proc/diskstats, /proc/buddyinfo, "
                 "/proc/slabinfo, /proc/pressure, /proc/1/net/dev, /sys/block, "
                 "/sys/devices/system/cpu, /sys/class/devfreq, /sys/class/drm, /sys/class/thermal",
        .needs = "CAP_DAC_OVERRIDE for /proc/slabinfo",
        .refuses = "no period is set: set one; the machine has none of what is asked for: the "
                   "reason is told",
        .check = sys_stats_check,
        .setup = sys_stats_setup,
        .poll = sys_stats_poll,
        .stop = sys_stats_stop,
        .clear_incremental_state = sys_stats_clear,
        .free = sys_stats_free,
};
