/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tree of all processes and a poll of their counters, with 500 idle ones more than there are. */

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "probes/proc/proc-dir.h"
#include "probes/proc/process-stats-probe.h"
#include "probes/proc/process-status.h"
#include "shared/macro.h"

#define N_CHILDREN   500
#define N_PROCESSES  500.0 /* what figures are said for */
#define TREE_GOAL_MS 10.0
#define POLL_MS      100

typedef struct Bench {
        PacketSink sink;
        size_t n_bytes;
        List links;
        SessionLink *link;
        void *probe;
        uint64_t now_ns;
        size_t n_processes; /* that the floor has met */
} Bench;

static int take(PacketSink *sink, const void *packet, size_t n_bytes) {
        container_of(sink, Bench, sink)->n_bytes += n_bytes;
        return 0;
}

static void probe_begin(Bench *bench, bool scans) {
        Perfetto__Protos__ProcessStatsConfig process = PERFETTO__PROTOS__PROCESS_STATS_CONFIG__INIT;
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        ProbeSetup setup = { .config = &config, .sink = &bench->sink };

        list_init(&bench->links);
        if (session_link_get(&bench->link, &bench->links, 1) < 0)
                abort();
        setup.link = bench->link;
        config.process_stats_config = &process;
        process.scan_all_processes_on_start = scans;
        process.record_thread_names = true;
        process.record_process_runtime = true;
        process.proc_stats_poll_ms = scans ? 0 : POLL_MS;
        if (process_stats_probe_ops.setup(&bench->probe, &setup, NULL) != 0)
                abort();
}

static void probe_end(Bench *bench) {
        bench->probe = process_stats_probe_ops.free(bench->probe);
        session_link_unref(bench->link);
}

static void run_poll(void *userdata) {
        Bench *bench = userdata;

        bench->n_bytes = 0;
        bench->now_ns += POLL_MS * PROBE_NS_PER_MS;
        process_stats_probe_ops.poll(bench->probe, bench->now_ns);
}

static void run_tree(void *userdata) {
        Bench *bench = userdata;

        probe_begin(bench, true);
        run_poll(bench);
        probe_end(bench);
}

/* What cannot be done without: each file opened and read once. Of kernel threads all that is needed is in stat. */
static void run_floor(const char *const files[], Bench *bench) {
        ProcessStat stat;
        const char *text;
        ProcDir proc;
        ProcWalk walk;
        pid_t pid;

        bench->n_processes = 0;
        if (proc_dir_open(&proc, "/proc") < 0)
                abort();
        proc_walk_begin(&walk, &proc, 0);
        while ((pid = proc_walk_next(&walk))) {
                text = proc_dir_read(&proc, pid, "stat", NULL);
                bench->n_processes++;
                if (!text || !process_stat_parse(&stat, text) || stat.is_kthread)
                        continue;
                for (size_t i = 0; files[i]; i++)
                        bench_use(proc_dir_read(&proc, pid, files[i], NULL));
        }
        proc_walk_end(&walk);
        proc_dir_close(&proc);
}

static void run_tree_floor(void *userdata) {
        run_floor((const char *const[]){ "status", "cmdline", "cgroup", NULL }, userdata);
}

static void run_poll_floor(void *userdata) {
        run_floor((const char *const[]){ "status", "oom_score_adj", NULL }, userdata);
}

static double cpu_ms(void) {
        struct rusage usage;

        getrusage(RUSAGE_SELF, &usage);
        return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

static double run_ms(void (*run)(void *userdata), Bench *bench) {
        return (double)bench_run_ns(run, bench) / 1e6;
}

/* Both take turns. Figures are said for as many processes as the goal is. */
static bool compare(const char *what,
                    void (*run)(void *userdata),
                    void (*floor_run)(void *userdata),
                    Bench *bench,
                    double goal_ms) {
        double wall[BENCH_RUNS], cpu[BENCH_RUNS], floor[BENCH_RUNS], scale, wall_ms, floor_ms;
        bool ok;

        run(bench);
        for (unsigned i = 0; i < BENCH_RUNS; i++) {
                double before_ms;

                floor[i] = run_ms(floor_run, bench);
                before_ms = cpu_ms();
                wall[i] = run_ms(run, bench);
                cpu[i] = cpu_ms() - before_ms;
        }
        scale = N_PROCESSES / (double)bench->n_processes;
        wall_ms = bench_median(wall, BENCH_RUNS) * scale;
        floor_ms = bench_median(floor, BENCH_RUNS) * scale;
        ok = wall_ms <= goal_ms;
        printf("%-20s %6.2f ms, CPU %6.2f ms; floor %6.2f ms, %.2f x   (at most %.0f ms)%s\n",
               what,
               wall_ms,
               bench_median(cpu, BENCH_RUNS) * scale,
               floor_ms,
               wall_ms / floor_ms,
               goal_ms,
               ok ? "" : " MISSED");
        return ok;
}

static void spawn(pid_t *children) {
        for (size_t i = 0; i < N_CHILDREN; i++) {
                children[i] = fork();
                if (children[i] < 0)
                        abort();
                if (children[i] == 0) {
                        pause();
                        _exit(0);
                }
        }
}

static void reap(const pid_t *children) {
        for (size_t i = 0; i < N_CHILDREN; i++)
                kill(children[i], SIGKILL);
        for (size_t i = 0; i < N_CHILDREN; i++)
                waitpid(children[i], NULL, 0);
}

int main(void) {
        Bench bench = { .sink = { .write = take }, .now_ns = probe_now_ns() };
        pid_t children[N_CHILDREN];
        double load = 0;
        bool ok;

        if (getloadavg(&load, 1) != 1)
                load = 0;
        spawn(children);
        printf("for %.0f processes; load %.2f\n", N_PROCESSES, load);
        ok = compare("tree", run_tree, run_tree_floor, &bench, TREE_GOAL_MS);
        probe_begin(&bench, false);
        ok = compare("poll of counters", run_poll, run_poll_floor, &bench, TREE_GOAL_MS) && ok;
        probe_end(&bench);
        reap(children);
        return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
