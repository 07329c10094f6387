/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What a sample of linux.cgroup costs with 300 cgroups, beside nothing but reading the same files: on copies of all the
 * files that systemd's cgroups have, and, as root, on cgroups of this kernel, made for it and removed again.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "probes/system/cgroup-files.h"
#include "probes/system/cgroup-probe.h"
#include "probes/system/cgroup-reader.h"
#include "shared/fd.h"

#define N_CGROUPS  300
#define N_RUNS     BENCH_RUNS
#define SLICE      "desktrace\\x2dbench.slice"
#define RATIO_MAX  3.0 /* of a sample in which nothing has changed, to the reads in it */
#define PATH_BYTES 128

typedef struct Sink {
        PacketSink sink;
        size_t n_bytes;
} Sink;

typedef struct Bench {
        int root, top;
        int files[N_CGROUPS][_CGROUP_FILE_N]; /* open */
        char paths[N_CGROUPS][_CGROUP_FILE_N][PATH_BYTES];
        size_t n_files;
        void *probe;
        CgroupTree tree;
        Sink sink;
        uint64_t now_ns;
} Bench;

static Bench bench;

static int count_bytes(PacketSink *sink, const void *packet, size_t n_bytes) {
        ((Sink *)sink)->n_bytes += n_bytes;
        return 0;
}

/*
 * What is measured
 */

static void run_reads(void *userdata) {
        static char text[CGROUP_TEXT_BYTES];

        for (size_t i = 0; i < N_CGROUPS; i++)
                for (size_t k = 0; k < _CGROUP_FILE_N; k++)
                        if (bench.files[i][k] >= 0)
                                bench_use(pread(bench.files[i][k], text, sizeof(text), 0));
}

static void run_opens(void *userdata) {
        static char text[CGROUP_TEXT_BYTES];

        for (size_t i = 0; i < N_CGROUPS; i++)
                for (size_t k = 0; k < _CGROUP_FILE_N; k++) {
                        _cleanup_(fd_closep) int fd = -1;

                        if (bench.files[i][k] < 0)
                                continue;
                        fd = openat(bench.top, bench.paths[i][k], O_RDONLY | O_CLOEXEC);
                        bench_use(pread(fd, text, sizeof(text), 0));
                }
}

static void run_walk(void *userdata) {
        cgroup_tree_walk(&bench.tree);
}

static void run_sample(void *userdata) {
        bench.now_ns += 1000 * PROBE_NS_PER_MS;
        bench_use(cgroup_probe_ops.poll(bench.probe, bench.now_ns));
}

/*
 * Cgroups
 */

static void path_of(char ret[static PATH_BYTES], size_t i, const char *file) {
        snprintf(ret, PATH_BYTES, SLICE "/bench-%zu.service%s%s", i, file ? "/" : "", file ?: "");
}

static void write_file(size_t i, CgroupFile file, unsigned n) {
        static const char pressure[] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=%u\n"
                                       "full avg10=0.00 avg60=0.00 avg300=0.00 total=%u\n";
        static const char *const formats[_CGROUP_FILE_N] = {
                [CGROUP_CPU_STAT] = "usage_usec %u\nuser_usec %u\nsystem_usec %u\nnice_usec 0\n"
                                    "core_sched.force_idle_usec 0\nnr_periods 0\nnr_throttled 0\n"
                                    "throttled_usec 0\nnr_bursts 0\nburst_usec 0\n",
                [CGROUP_MEMORY_CURRENT] = "%u\n",
                [CGROUP_SWAP_CURRENT] = "0\n",
                [CGROUP_MEMORY_EVENTS] = "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n"
                                         "oom_group_kill 0\n",
                [CGROUP_PIDS_CURRENT] = "5\n",
                [CGROUP_CPU_PRESSURE] = pressure,
                [CGROUP_MEMORY_PRESSURE] = pressure,
                [CGROUP_IO_PRESSURE] = pressure,
                [CGROUP_IRQ_PRESSURE] = "full avg10=0.00 avg60=0.00 avg300=0.00 total=%u\n",
                [CGROUP_IO_STAT] = "259:0 rbytes=%u wbytes=%u rios=%u wios=5 dbytes=0 dios=0\n",
        };
        char text[4096] = "";
        int fd = openat(bench.top, bench.paths[i][file], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        if (formats[file])
                snprintf(text, sizeof(text), formats[file], n, n, n);
        else /* memory.stat has some 60 lines */
                snprintf(text, sizeof(text), "anon %u\nfile %u\nkernel %u\n", n, n, n);
        for (size_t k = 0; !formats[file] && k < 57; k++)
                snprintf(text + strlen(text), 64, "workingset_some_thing_%zu %zu\n", k, k * 100000);
        if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
                abort();
        fd_close(fd);
}

static void change_all(unsigned n) {
        for (size_t i = 0; i < N_CGROUPS; i++)
                for (CgroupFile file = 0; file < _CGROUP_FILE_N; file++)
                        write_file(i, file, n);
}

static bool make_cgroups(void) {
        char path[PATH_BYTES];

        if (mkdirat(bench.top, SLICE, 0755) < 0 && errno != EEXIST)
                return false;
        for (size_t i = 0; i < N_CGROUPS; i++) {
                path_of(path, i, NULL);
                if (mkdirat(bench.top, path, 0755) < 0 && errno != EEXIST)
                        return false;
                for (CgroupFile file = 0; file < _CGROUP_FILE_N; file++)
                        path_of(bench.paths[i][file], i, cgroup_files[file].name);
        }
        return true;
}

static void remove_cgroups(void) {
        char path[PATH_BYTES];

        for (size_t i = 0; i < N_CGROUPS; i++) {
                path_of(path, i, NULL);
                (void)unlinkat(bench.top, path, AT_REMOVEDIR);
        }
        (void)unlinkat(bench.top, SLICE, AT_REMOVEDIR);
}

static void open_files(void) {
        bench.n_files = 0;
        for (size_t i = 0; i < N_CGROUPS; i++)
                for (size_t k = 0; k < _CGROUP_FILE_N; k++) {
                        bench.files[i][k] =
                                openat(bench.top, bench.paths[i][k], O_RDONLY | O_CLOEXEC);
                        bench.n_files += bench.files[i][k] >= 0;
                }
}

static void close_files(void) {
        for (size_t i = 0; i < N_CGROUPS; i++)
                for (size_t k = 0; k < _CGROUP_FILE_N; k++)
                        fd_close(bench.files[i][k]);
}

/*
 * The figures
 */

static void *added(Cgroup *cgroup, void *userdata) {
        return userdata;
}

static void removed(Cgroup *cgroup, void *userdata) {
}

static void setup(void) {
        static const CgroupTreeOps ops = { .added = added, .removed = removed };
        static const CgroupSelect all;
        static char pattern[] = "bench-*.service", *patterns[] = { pattern };
        CgroupConfig config = PERFETTO__PROTOS__CGROUP_CONFIG__INIT;
        ProbeSetup probe = { .sink = &bench.sink.sink };

        open_files();
        config.cgroups = patterns;
        config.n_cgroups = 1;
        bench.sink = (Sink){ .sink = { .write = count_bytes } };
        if (cgroup_new_instance(&bench.probe, dup(bench.root), &config, &probe, NULL) != 0 ||
            cgroup_tree_init(&bench.tree, bench.top, &all, CGROUP_DEPTH_DEFAULT, &ops, &bench) < 0)
                abort();
        bench.now_ns = 1;
        run_sample(NULL); /* opens, and describes tracks */
        run_walk(NULL);
}

static void teardown(void) {
        cgroup_tree_deinit(&bench.tree);
        cgroup_probe_ops.free(bench.probe);
        close_files();
}

static void report(const char *what, double ns, double floor_ns) {
        printf("  %-46s %8.2f ms   %5.2f x\n", what, ns / 1e6, ns / floor_ns);
}

/* A sample after all files have changed, and its packets. */
static double changed_ns(size_t *ret_n_bytes) {
        double values[N_RUNS];

        for (unsigned i = 0; i < N_RUNS; i++) {
                change_all(1000 + i);
                bench.sink.n_bytes = 0;
                values[i] = (double)bench_run_ns(run_sample, NULL);
        }
        *ret_n_bytes = bench.sink.n_bytes;
        return bench_median(values, N_RUNS);
}

static bool measure(bool can_change) {
        double reads[N_RUNS], opens[N_RUNS], walks[N_RUNS], samples[N_RUNS], floor_ns, sample_ns;
        size_t n_bytes;
        bool ok;

        for (unsigned i = 0; i < N_RUNS; i++) {
                reads[i] = (double)bench_run_ns(run_reads, NULL);
                opens[i] = (double)bench_run_ns(run_opens, NULL);
                walks[i] = (double)bench_run_ns(run_walk, NULL);
                samples[i] = (double)bench_run_ns(run_sample, NULL);
        }
        floor_ns = bench_median(reads, N_RUNS);
        sample_ns = bench_median(samples, N_RUNS);
        ok = sample_ns <= floor_ns * RATIO_MAX;
        report("read all files, which are open", floor_ns, floor_ns);
        report("the same, opened and closed each time", bench_median(opens, N_RUNS), floor_ns);
        report("a walk", bench_median(walks, N_RUNS), floor_ns);
        report("a sample in which nothing has changed", sample_ns, floor_ns);
        if (can_change) {
                report("a sample in which all has changed", changed_ns(&n_bytes), floor_ns);
                printf("  %-46s %8zu B\n", "its packets", n_bytes);
        }
        if (!ok)
                printf("  more than %.1f x MISSED\n", RATIO_MAX);
        return ok;
}

static bool bench_copies(void) {
        char path[] = "/dev/shm/desktrace-bench-XXXXXX", command[64];
        bool ok;

        if (!mkdtemp(path))
                return true;
        bench.root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)mkdirat(bench.root, "sys", 0755);
        (void)mkdirat(bench.root, "sys/fs", 0755);
        (void)mkdirat(bench.root, "sys/fs/cgroup", 0755);
        bench.top = openat(bench.root, "sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fd_close(openat(bench.top, "cgroup.controllers", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        ok = make_cgroups();
        if (!ok)
                abort();
        change_all(1);
        setup();
        printf("%d cgroups on tmpfs with %zu files\n", N_CGROUPS, bench.n_files);
        ok = measure(true);
        teardown();
        fd_close(bench.top);
        fd_close(bench.root);
        snprintf(command, sizeof(command), "rm -r %s", path);
        return system(command) == 0 && ok;
}

static bool bench_kernel(void) {
        bool ok = true;

        bench.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (cgroup_open_top(&bench.top, bench.root, NULL) == 0) {
                if (make_cgroups()) {
                        setup();
                        printf("%d cgroups of the kernel with %zu files\n",
                               N_CGROUPS,
                               bench.n_files);
                        ok = measure(false);
                        teardown();
                }
                remove_cgroups();
                fd_close(bench.top);
        }
        fd_close(bench.root);
        return ok;
}

int main(void) {
        bool ok;

        ok = bench_copies();
        ok &= bench_kernel();
        return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
