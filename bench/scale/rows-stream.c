/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Streaming into a file: how much without loss, and what is there when the service is killed. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scale.h"
#include "shared/fd.h"

#define NS_PER_SEC  UINT64_C(1000000000)
#define TEXT_BYTES  1024
#define EVENT_BYTES 1060 /* in the file, about */
#define RING_KIB    65536
#define MEMORY_KIB  4096
#define PERIOD_MS   100
#define TRIES       2 /* of a rate that loses something */

typedef struct Stream {
        uint64_t n_emitted;
        uint64_t n_lost;
        uint64_t n_bytes; /* of the file */
        double seconds;
        double cpu_ms;
} Stream;

static Stream stream_once(Fleet *fleet, unsigned mb_per_second, bool compress) {
        World *world = fleet->world;
        _cleanup_(fd_closep) int fd = file_new(world);
        const RecordingOptions options = {
                .buffer_kib = RING_KIB,
                .output_fd = fd,
                .period_ms = PERIOD_MS,
                .compress = compress,
        };
        const Order order = {
                .kind = ORDER_RUN,
                .n_threads = 1,
                .n_text = TEXT_BYTES,
                .rate = mb_per_second * UINT64_C(1000000) / EVENT_BYTES,
                .n_batch = 1 + mb_per_second, /* about a millisecond */
                .duration_ns = world->is_quick ? NS_PER_SEC / 4 : 2 * NS_PER_SEC,
        };
        Recording recording;
        TraceCount count;
        uint64_t cpu_ns;
        Answer answer;

        recording_start(&recording, world, &options);
        cpu_ns = process_cpu_ns(world->service);
        answer = fleet_do(fleet, &order);
        recording_stop(&recording);
        cpu_ns = process_cpu_ns(world->service) - cpu_ns;
        recording_free(&recording);
        trace_count(&count, fd);
        return (Stream){
                .n_emitted = answer.n_emitted,
                .n_lost = trace_count_lost(&count, answer.n_emitted),
                .n_bytes = file_bytes(fd),
                .seconds = (double)answer.ns / 1e9,
                .cpu_ms = (double)cpu_ns / 1e6,
        };
}

static double stream_mb(const Stream *stream) {
        return (double)stream->n_emitted * EVENT_BYTES / 1e6;
}

/* Goes up until it loses something, or the program cannot emit faster. */
static void report_stream(World *world, bool compress, double at_least, const char *peer) {
        static const unsigned rates[] = { 50,  75,  100, 120, 150, 200, 250,
                                          300, 350, 400, 500, 600, 800, 1000 };
        Samples clean = {}, cpu = {};
        Stream best = {}, worst = {};
        size_t n_rates = world->is_quick ? 2 : ARRAY_SIZE(rates);
        unsigned n_failed = 0;
        double clean_mb = 0;
        Fleet fleet;

        fleet_start(&fleet, world, 1, MEMORY_KIB);
        for (size_t i = 0; i < n_rates && n_failed < TRIES;) {
                Stream stream = stream_once(&fleet, rates[i], compress);

                if (stream.n_lost > 0) {
                        worst = stream;
                        n_failed++;
                        continue;
                }
                if (stream_mb(&stream) / stream.seconds < clean_mb * 1.02)
                        break;
                clean_mb = stream_mb(&stream) / stream.seconds;
                best = stream;
                n_failed = 0;
                i++;
        }
        fleet_end(&fleet);

        samples_add(&clean, clean_mb);
        samples_add(&cpu, best.cpu_ms / MAX(stream_mb(&best), 1.0));
        report(&(Row){
                .what = compress ? "1 KiB events to tmpfs, zstd, none lost"
                                 : "1 KiB events to tmpfs, none lost",
                .unit = "MB/s",
                .samples = &clean,
                .at_least = at_least,
                .floor = 1e3 / (write_ms(world, 256u << 20) / 268.4),
                .floor_name = "write(2)",
                .peer = peer,
        });
        report(&(Row){
                .what = "CPU of the service for a MB",
                .unit = "ms",
                .samples = &cpu,
                .peer = compress ? "5.9-6.9" : "3.1-5.6",
        });
        report_note("%" PRIu64 " events in %.1f MB of file; faster: %.2f %% of the events lost",
                    best.n_emitted,
                    (double)best.n_bytes / 1e6,
                    worst.n_emitted > 0 ? 100.0 * (double)worst.n_lost / (double)worst.n_emitted
                                        : 0);
}

void rows_stream(World *world) {
        report_stream(world, false, 300, "54-64");
        report_stream(world, true, 120, "54-64");
}

/*
 * kill -9
 */

/* How many milliseconds of events are missing at the end; each thing the file says is whole, but for a torn end. */
static double kill_once(World *world, unsigned period_ms, unsigned after_ms, bool *ret_is_torn) {
        const Order order = {
                .kind = ORDER_RUN,
                .n_threads = 1,
                .rate = 100000,
                .n_batch = 100,
                .duration_ns = (uint64_t)after_ms * 1000000 + NS_PER_SEC,
        };
        _cleanup_(fd_closep) int fd = file_new(world);
        const RecordingOptions options = {
                .buffer_kib = RING_KIB,
                .output_fd = fd,
                .period_ms = period_ms,
        };
        Recording recording;
        TraceCount count;
        Fleet fleet;

        fleet_start(&fleet, world, 1, 0);
        recording_start(&recording, world, &options);
        fleet_order(&fleet, &order);
        sleep_ms(after_ms);
        world_kill_service(world);
        fleet_await(&fleet);
        fleet_end(&fleet);
        world_end_service(world);
        trace_count(&count, fd);
        *ret_is_torn = count.is_torn || count.n_missing > 0 || count.n_disorder > 0;
        world_start_service(world);
        return after_ms - (double)count.n_end * 1e3 / (double)order.rate;
}

/* The command's exit status, when the service of its recording to a file at the end is killed. */
static int killed_client_status(World *world) {
        char path[4096];
        int status;
        pid_t pid;

        world_program_path(path, "DESKTRACE", "../../src/client/desktrace");
        fflush(stdout);
        pid = fork();
        if (pid == 0) {
                world_set_environment(world);
                if (!freopen("/dev/null", "we", stderr) || !freopen("/dev/null", "we", stdout))
                        _exit(0);
                if (chdir(world->directory) < 0)
                        _exit(0);
                execl(path,
                      path,
                      "record",
                      "-s",
                      "track_event",
                      "-o",
                      "killed.pftrace",
                      (char *)NULL);
                _exit(0);
        }
        sleep_ms(1000);
        world_kill_service(world);
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
                die("cannot run the command", 0);
        snprintf(path, sizeof(path), "%s/killed.pftrace", world->directory);
        unlink(path);
        world_end_service(world);
        world_start_service(world);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void rows_kill(World *world) {
        const unsigned n_runs = world->is_quick ? 1 : 5;
        Samples lost = {}, status = {};
        unsigned n_torn = 0;

        for (unsigned i = 0; i < n_runs; i++) {
                bool is_torn;

                samples_add(&lost, kill_once(world, 500, 1700 + 170 * i, &is_torn));
                n_torn += is_torn;
        }
        samples_add(&status, killed_client_status(world));
        report(&(Row){
                .what = "kill -9, 500 ms period: the last ... missing",
                .unit = "ms",
                .samples = &lost,
                .at_most = 550,
                .peer = "368",
        });
        report_note("of %u files %u torn or with gaps", n_runs, n_torn);
        report(&(Row){
                .what = "exit status of the client, ring only",
                .unit = "",
                .samples = &status,
                .at_least = 1,
                .peer = "0, and no file",
        });
}
