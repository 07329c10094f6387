/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Full rings: how they get out, and who waits meanwhile. */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "scale.h"
#include "shared/fd.h"
#include "shared/names.h"

#define FILL_STEP_NS UINT64_C(500000000)
#define FILL_TRIES   200

/* Overwrites the whole ring, as fast as the service takes it. One producer, because of its indices. */
static void fill(Fleet *fleet, Recording *recording, unsigned buffer_kib) {
        static const Order order = { .kind = ORDER_RUN,
                                     .n_threads = 1,
                                     .duration_ns = FILL_STEP_NS };
        uint64_t n_bytes = (uint64_t)buffer_kib * 1024;

        for (unsigned i = 0; i < FILL_TRIES; i++) {
                fleet_do(fleet, &order);
                recording_flush(recording);
                if (recording_number(recording, "BytesWritten") > n_bytes + n_bytes / 8)
                        return;
        }
        die("the ring does not get full", 0);
}

/*
 * Read-out
 */

void rows_readout(World *world) {
        const unsigned buffer_kib = world->is_quick ? 4096 : 65536;
        const RecordingOptions options = { .buffer_kib = buffer_kib, .output_fd = -1 };
        unsigned n_runs = world->is_quick ? 1 : 5;
        Samples cpu = {}, wall = {};
        uint64_t n_bytes = 0, n_events = 0;
        double copy_ms;
        Fleet fleet;

        fleet_start(&fleet, world, 1, 4096);
        for (unsigned i = 0; i < n_runs; i++) {
                _cleanup_(fd_closep) int fd = file_new(world);
                uint64_t begin_ns, begin_cpu_ns;
                Recording recording;
                TraceCount count;

                recording_start(&recording, world, &options);
                fill(&fleet, &recording, buffer_kib);
                recording_stop(&recording);
                begin_ns = now_ns();
                begin_cpu_ns = process_cpu_ns(world->service);
                recording_read_into(&recording, fd);
                begin_cpu_ns = process_cpu_ns(world->service) - begin_cpu_ns;
                begin_ns = now_ns() - begin_ns;
                trace_count(&count, fd);
                n_events = count.n_events;
                n_bytes = count.n_bytes;
                samples_add(&cpu, (double)begin_cpu_ns / 1e3 / (double)n_events);
                samples_add(&wall, (double)begin_ns / 1e3 / (double)n_events);
                recording_free(&recording);
        }
        fleet_end(&fleet);

        copy_ms = write_ms(world, n_bytes) * 1e3 / (double)n_events;
        report(&(Row){ "CPU of a million events",
                       "s",
                       &cpu,
                       0.06,
                       0,
                       false,
                       copy_ms,
                       "write(2)",
                       "0.32-0.45" });
        report(&(Row){
                "time of a million events", "s", &wall, 0, 0, false, copy_ms, "write(2)", NULL });
        report_note("%u MiB of ring: %" PRIu64 " events, %.1f bytes each in the file",
                    buffer_kib / 1024,
                    n_events,
                    (double)n_bytes / (double)n_events);
}

/*
 * Stop into a file
 */

/* Another client, on a thread of its own. */
typedef struct Bystander {
        World *world;
        pthread_t thread;
        atomic_bool is_ending;
        double worst_ms;
} Bystander;

static void *bystander_run(void *userdata) {
        Bystander *bystander = userdata;
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;

        world_connect(bystander->world, &bus);
        while (!bystander->is_ending) {
                uint64_t begin = now_ns();
                uint32_t n;
                int r;

                r = sd_bus_get_property_trivial(bus,
                                                TRACING_BUS_NAME,
                                                TRACING_PATH,
                                                TRACING_MANAGER_INTERFACE,
                                                "NumSessions",
                                                NULL,
                                                'u',
                                                &n);
                if (r < 0)
                        die("another client gets no answer", r);
                bystander->worst_ms = MAX(bystander->worst_ms, (double)(now_ns() - begin) / 1e6);
                sleep_ms(1);
        }
        return NULL;
}

static void bystander_start(Bystander *bystander, World *world) {
        *bystander = (Bystander){ .world = world };
        if (pthread_create(&bystander->thread, NULL, bystander_run, bystander) != 0)
                die("cannot make a thread", 0);
        sleep_ms(50);
}

static double bystander_end(Bystander *bystander) {
        bystander->is_ending = true;
        pthread_join(bystander->thread, NULL);
        return bystander->worst_ms;
}

typedef struct StopFigures {
        Samples took, worst;
        uint64_t n_bytes;
        uint64_t n_events;
} StopFigures;

/* An output without write_into_file: all of it is written at the stop. A session that streams would not let its ring
 * get full. */
static void stop_once(World *world, Fleet *fleet, unsigned mib, StopFigures *figures) {
        _cleanup_(fd_closep) int fd = file_new(world);
        const RecordingOptions options = {
                .buffer_kib = mib * 1024,
                .output_fd = fd,
        };
        Recording recording;
        Bystander bystander;
        TraceCount count;
        uint64_t begin;

        recording_start(&recording, world, &options);
        fill(fleet, &recording, options.buffer_kib);
        bystander_start(&bystander, world);
        begin = now_ns();
        recording_stop(&recording);
        samples_add(&figures->took, (double)(now_ns() - begin) / 1e9);
        samples_add(&figures->worst, bystander_end(&bystander));
        trace_count(&count, fd);
        figures->n_bytes = count.n_bytes;
        figures->n_events = count.n_events;
        recording_free(&recording);
}

static void
report_stop(World *world, unsigned mib, double at_most, const char *peer, const char *peer_worst) {
        StopFigures figures = {};
        double floor_s;
        char what[64];
        Fleet fleet;

        fleet_start(&fleet, world, 1, 4096);
        for (unsigned i = 0; i < (world->is_quick ? 1 : 3); i++)
                stop_once(world, &fleet, mib, &figures);
        fleet_end(&fleet);

        floor_s = write_ms(world, figures.n_bytes) / 1e3;
        snprintf(what, sizeof(what), "stop of %u MiB into a file", mib);
        report(&(Row){ what, "s", &figures.took, at_most, 0, false, floor_s, "write(2)", peer });
        report(&(Row){ "another client's worst reply",
                       "ms",
                       &figures.worst,
                       5,
                       0,
                       false,
                       0,
                       NULL,
                       peer_worst });
        report_note("%" PRIu64 " events, %.0f MiB of file",
                    figures.n_events,
                    (double)figures.n_bytes / MIB);
}

void rows_stop(World *world) {
        if (world->is_quick) {
                report_stop(world, 8, 0, NULL, NULL);
                return;
        }
        report_stop(world, 64, 0.15, "0.96", "959");
        report_stop(world, 256, 0.6, "4.2", "4167");
}
