/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tree of all processes and a poll of their counters, with 500 idle ones more than there are. */

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "probes/proc/proc-dir.h"
#include "probes/proc/process-stats-probe.h"
#include "probes/proc/process-status.h"
#include "probes/proc/process-tree.h"
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

typedef struct Cost {
        double cpu_ms, wall_ms;
} Cost;

static Cost cost_now(void) {
        struct timespec cpu;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
        return (Cost){
                .cpu_ms = (double)cpu.tv_sec * 1e3 + (double)cpu.tv_nsec / 1e6,
                .wall_ms = (double)bench_now_ns() / 1e6,
        };
}

static Cost cost_of(void (*run)(void *userdata), Bench *bench) {
        Cost before = cost_now(), after;

        run(bench);
        after = cost_now();
        return (Cost){ after.cpu_ms - before.cpu_ms, after.wall_ms - before.wall_ms };
}

/* Both take turns. Figures are said for as many processes as the goal is, and the goal is of CPU time: a machine that
 * does something else, too, only makes all of it longer. */
static bool compare(const char *what,
                    void (*run)(void *userdata),
                    void (*floor_run)(void *userdata),
                    Bench *bench,
                    double goal_ms) {
        double cpu[BENCH_RUNS], wall[BENCH_RUNS], floor[BENCH_RUNS], scale, cpu_ms, floor_ms;
        bool ok;

        run(bench);
        for (unsigned i = 0; i < BENCH_RUNS; i++) {
                Cost cost;

                floor[i] = cost_of(floor_run, bench).cpu_ms;
                cost = cost_of(run, bench);
                cpu[i] = cost.cpu_ms;
                wall[i] = cost.wall_ms;
        }
        scale = N_PROCESSES / (double)bench->n_processes;
        cpu_ms = bench_median(cpu, BENCH_RUNS) * scale;
        floor_ms = bench_median(floor, BENCH_RUNS) * scale;
        ok = cpu_ms <= goal_ms;
        printf("%-18s CPU %5.2f ms; floor %5.2f ms, %.2f x; in %5.2f ms   (at most %.0f ms)%s\n",
               what,
               cpu_ms,
               floor_ms,
               cpu_ms / floor_ms,
               bench_median(wall, BENCH_RUNS) * scale,
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
        /* Later, when none of them is young. */
        Bench bench = { .sink = { .write = take },
                        .now_ns = probe_now_ns() + 2 * PROCESS_YOUNG_NS };
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
