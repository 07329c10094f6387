/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What linux.program_points costs the programs that it records, for each hit, and how long it takes to switch it on and
 * off, with the points that are installed and the programs that run here. As root, on kernels with uprobes.
 */

#include <sys/stat.h>
#include <unistd.h>

#include "../tests/unit/probes/pointed.h"
#include "bench.h"
#include "probes/points/program-points-probe.h"
#include "shared/log.h"

#define N_CALLS   1000 /* short enough that a busy machine lets some runs through undisturbed */
#define N_ROUNDS  40
#define N_STARTS  9
#define HEAD      "[Point x]\nGroup=bench\nLibrary=libpointed-bench.so.1\n"
#define SWITCH_MS 200.0 /* at most, to switch off */

#define N_TURNS_MAX 100
#define TURN_US     (100 * 1000)

static const ProbeOps *const ops = &program_points_probe_ops;
static char folder[] = "/tmp/bench-points-XXXXXX";
static size_t n_packets;

static int count_packets(PacketSink *sink, const void *packet, size_t n_bytes) {
        n_packets++;
        return 0;
}

static PacketSink sink = { .write = count_packets };
static Pointed pointed;

static void run_outer(void *userdata) {
        for (unsigned i = 0; i < N_CALLS; i++)
                bench_use(pointed_outer(&pointed));
}

static void run_slow(void *userdata) {
        for (unsigned i = 0; i < N_CALLS; i++)
                pointed_slow();
}

static void put(const char *text) {
        char path[64];
        FILE *file;

        snprintf(path, sizeof(path), "%s/bench.conf", folder);
        file = fopen(path, "w");
        if (!file || fputs(text, file) < 0 || fclose(file) < 0 || chmod(path, 0644) < 0)
                abort();
}

static void *begin(void) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        Perfetto__Protos__ProgramPointsConfig own = PERFETTO__PROTOS__PROGRAM_POINTS_CONFIG__INIT;
        ProbeSetup setup = { .config = &config, .sink = &sink };
        char *error = NULL;
        void *probe;

        own.has_expensive = true;
        own.expensive = true;
        config.program_points_config = &own;
        if (ops->setup(&probe, &setup, &error) != 0 || ops->start(probe, &error) != 0) {
                printf("skipped: %s\n", error ?: "cannot record");
                exit(77);
        }
        return probe;
}

static void end(void *probe) {
        ops->stop(probe, probe_now_ns());
        ops->free(probe);
}

/* Programs are looked at for half a second when a recording begins; this one may come later where others use the
 * processors. */
static void wait_for_hits(void *probe, void (*run)(void *userdata)) {
        n_packets = 0;
        for (unsigned i = 0; i < N_TURNS_MAX && n_packets == 0; i++) {
                run(NULL);
                usleep(TURN_US);
                ops->poll(probe, probe_now_ns());
        }
        if (n_packets == 0) {
                printf("skipped: the function is not probed\n");
                exit(77);
        }
}

static double best_call_ns(void (*run)(void *userdata)) {
        double best = bench_best_ns(run, NULL);

        for (unsigned i = 1; i < N_ROUNDS; i++)
                best = MIN(best, bench_best_ns(run, NULL));
        return best / N_CALLS;
}

static void measure_hit(const char *what, const char *lines, void (*run)(void *userdata)) {
        double plain, probed;
        void *probe;

        plain = best_call_ns(run);
        put(lines);
        probe = begin();
        wait_for_hits(probe, run);
        probed = best_call_ns(run);
        end(probe);
        printf("%-44s %8.0f ns\n", what, probed - plain);
}

static int measure_switch(void) {
        double on[N_STARTS], off[N_STARTS], took;

        setenv("DESKTRACE_POINTS_PATH", POINTS, 1);
        for (unsigned i = 0; i < N_STARTS; i++) {
                uint64_t began = bench_now_ns();
                void *probe = begin();

                on[i] = (double)(bench_now_ns() - began) / 1e6;
                began = bench_now_ns();
                end(probe);
                off[i] = (double)(bench_now_ns() - began) / 1e6;
        }
        took = bench_median(off, N_STARTS);
        printf("%-44s %8.1f ms\n",
               "on: setup and start, of what is installed",
               bench_median(on, N_STARTS));
        printf("%-44s %8.1f ms%s\n",
               "off: stop and removal",
               took,
               took > SWITCH_MS ? " MISSED" : "");
        return took > SWITCH_MS;
}

int main(void) {
        char command[64];
        int r;

        log_set_level(LOG_ERR);
        if (geteuid() != 0 || !mkdtemp(folder)) {
                printf("skipped: needs root\n");
                return 77;
        }
        setenv("DESKTRACE_POINTS_PATH", folder, 1);
        measure_hit("an instant, behind endbr64 at a push",
                    HEAD "Symbol=pointed_outer\nMeans=instant\n",
                    run_outer);
        measure_hit("a slice there", HEAD "Symbol=pointed_outer\nMeans=slice\n", run_outer);
        measure_hit("a slice there, with two numbers",
                    HEAD "Symbol=pointed_outer\nMeans=slice\nArguments=a:u32:+8(arg1);b:u32:arg2\n",
                    run_outer);
        measure_hit("an instant that is a single step",
                    HEAD "Symbol=pointed_slow\nMeans=instant\n",
                    run_slow);
        r = measure_switch();
        snprintf(command, sizeof(command), "rm -r %s", folder);
        return system(command) == 0 ? r : 1;
}
