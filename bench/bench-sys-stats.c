/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a sample of each kind of linux.sys_stats costs on this machine, beside reading the same files only. */

#include <fcntl.h>
#include <string.h>

#include "bench.h"
#include "probes/proc/sys-kinds.h"
#include "probes/proc/sys-stats-probe.h"
#include "shared/fd.h"

#define N_SAMPLES   30
#define RATIO_MAX   3.0  /* of a sample to the reads in it … */
#define RATIO_SLACK 5000 /* … which says nothing where both are as short as this, in ns */

typedef struct Sink {
        PacketSink sink;
        size_t n_bytes;
} Sink;

typedef struct Bench {
        const SysKind *kind;
        void *probe;
        SysFiles files;
        uint64_t now_ns;
} Bench;

static int count_bytes(PacketSink *sink, const void *packet, size_t n_bytes) {
        ((Sink *)sink)->n_bytes += n_bytes;
        return 0;
}

/* All runs together are less than the time after which a sample looks for devices. */
static void run_samples(void *userdata) {
        Bench *bench = userdata;

        for (size_t i = 0; i < N_SAMPLES; i++) {
                bench->now_ns += SYS_STATS_PERIOD_MS_MIN * PROBE_NS_PER_MS;
                bench_use(sys_stats_probe_ops.poll(bench->probe, bench->now_ns));
        }
}

static void run_reads(void *userdata) {
        Bench *bench = userdata;

        for (size_t i = 0; i < N_SAMPLES; i++)
                for (size_t k = 0; k < bench->files.n; k++)
                        bench_use(sys_files_read(&bench->files, &bench->files.files[k]));
}

static bool report(Bench *bench, const Sink *sink) {
        double samples[BENCH_RUNS], reads[BENCH_RUNS], sample_ns, read_ns;
        bool ok;

        run_samples(bench); /* the first one describes tracks */
        for (size_t i = 0; i < BENCH_RUNS; i++) {
                samples[i] = (double)bench_run_ns(run_samples, bench);
                reads[i] = (double)bench_run_ns(run_reads, bench);
        }
        sample_ns = bench_median(samples, BENCH_RUNS) / N_SAMPLES;
        read_ns = bench_median(reads, BENCH_RUNS) / N_SAMPLES;
        ok = sample_ns <= read_ns * RATIO_MAX + RATIO_SLACK;
        printf("%-22s %4zu files  read %8.1f us  sample %8.1f us  %5.2f x  %6zu B%s\n",
               bench->kind->option,
               bench->files.n,
               read_ns / 1000,
               sample_ns / 1000,
               sample_ns / read_ns,
               sink->n_bytes / (N_SAMPLES * (BENCH_RUNS + 1)),
               ok ? "" : " MISSED");
        return ok;
}

static bool bench_kind(const SysKind *kind, int root) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        Perfetto__Protos__SysStatsConfig sys = PERFETTO__PROTOS__SYS_STATS_CONFIG__INIT;
        Sink sink = { .sink = { .write = count_bytes } };
        ProbeSetup setup = { .config = &config, .sink = &sink.sink };
        Bench bench = { .kind = kind, .now_ns = 1 };
        bool ok = true;

        config.sys_stats_config = &sys;
        memcpy((char *)&sys + kind->period,
               &(uint32_t){ SYS_STATS_PERIOD_MS_MIN },
               sizeof(uint32_t));
        if (sys_stats_probe_ops.setup(&bench.probe, &setup, NULL) != 0)
                return true; /* this machine has none, which was said */
        sys_files_init(&bench.files, root, kind->patterns, kind->accept);
        bench.files.are_values = kind->are_values;
        if (sys_files_scan(&bench.files) < 0)
                abort();
        ok = report(&bench, &sink);
        sys_files_deinit(&bench.files);
        sys_stats_probe_ops.free(bench.probe);
        return ok;
}

int main(void) {
        _cleanup_(fd_closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        bool ok = true;

        for (size_t i = 0; i < SYS_N_KINDS; i++)
                ok &= bench_kind(&sys_kinds[i], root);
        return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
