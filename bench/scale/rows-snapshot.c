/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A snapshot of a full ring, while its producer goes on. */

#include <inttypes.h>
#include <stdio.h>

#include "scale.h"
#include "shared/fd.h"

#define NS_PER_SEC   UINT64_C(1000000000)
#define RATE         500000
#define CLONE_PAUSE  400 /* ms from one to the next */
#define CLONE_LIFE   100 /* ms */
#define SECONDS_FILL 7   /* until the ring is full */

typedef struct Snapshots {
        Samples took, memory, gaps;
        uint64_t n_events; /* of the last one */
} Snapshots;

static double memory_kib(const World *world) {
        Memory memory = process_memory(world->service);

        return memory.private_kib + memory.shared_kib;
}

/* What the clone holds is whole, from its first event to its last. */
static void look_into(Recording *clone, Snapshots *snapshots) {
        _cleanup_(fd_closep) int fd = file_new(clone->world);
        TraceCount count;

        recording_read_into(clone, fd);
        trace_count(&count, fd);
        samples_add(&snapshots->gaps, (double)(count.n_missing + count.n_disorder));
        snapshots->n_events = count.n_events;
}

static void take_one(World *world, Recording *original, bool reads, Snapshots *snapshots) {
        double before = memory_kib(world);
        uint64_t begin = now_ns();
        Recording clone;

        recording_clone(original, &clone);
        samples_add(&snapshots->took, (double)(now_ns() - begin) / 1e6);
        sleep_ms(CLONE_LIFE);
        samples_add(&snapshots->memory, 100 * (memory_kib(world) - before) / before);
        if (reads)
                look_into(&clone, snapshots);
        recording_free(&clone);
}

void rows_snapshot(World *world) {
        const unsigned n_clones = world->is_quick ? 2 : 12;
        const RecordingOptions options = {
                .buffer_kib = world->is_quick ? 4096 : 65536,
                .output_fd = -1,
        };
        const uint64_t seconds = world->is_quick ? 2 : SECONDS_FILL + 6;
        const Order order = {
                .kind = ORDER_RUN,
                .n_threads = 1,
                .rate = RATE,
                .n_batch = 500,
                .duration_ns = seconds * NS_PER_SEC,
        };
        _cleanup_(fd_closep) int fd = file_new(world);
        Snapshots snapshots = {};
        Samples lost = {};
        Recording original;
        TraceCount count;
        Fleet fleet;
        Answer answer;

        fleet_start(&fleet, world, 1, 0);
        recording_start(&original, world, &options);
        fleet_order(&fleet, &order);
        sleep_ms(world->is_quick ? 500 : SECONDS_FILL * 1000);
        for (unsigned i = 0; i < n_clones; i++) {
                take_one(world, &original, i == n_clones - 1, &snapshots);
                sleep_ms(CLONE_PAUSE - CLONE_LIFE);
        }
        answer = fleet_await(&fleet);
        recording_stop(&original);
        samples_add(&lost, (double)recording_number(&original, "PacketsLost"));
        recording_read_into(&original, fd);
        trace_count(&count, fd);
        lost.values[0] = MAX(lost.values[0], (double)trace_count_lost(&count, answer.n_emitted));
        recording_free(&original);
        fleet_end(&fleet);

        report(&(Row){
                .what = "snapshot of a full 64 MiB ring",
                .unit = "ms",
                .samples = &snapshots.took,
                .at_most = 3,
                .floor = memcpy_ms((uint64_t)options.buffer_kib * 1024),
                .floor_name = "memcpy",
                .peer = "34-71",
        });
        report(&(Row){
                .what = "more memory 100 ms later",
                .unit = "%",
                .samples = &snapshots.memory,
                .at_most = 10,
                .peer = "99",
        });
        report(&(Row){
                .what = "events lost by the original in all",
                .unit = "",
                .samples = &lost,
                .is_zero = true,
                .peer = "230 k of 2.92 M",
        });
        report(&(Row){
                .what = "missing inside a clone",
                .unit = "",
                .samples = &snapshots.gaps,
                .is_zero = true,
        });
        report_note("slowest %.3g ms; %" PRIu64 " events in the last one; of %" PRIu64
                    " emitted %" PRIu64 " are in the ring at the end",
                    samples_max(&snapshots.took),
                    snapshots.n_events,
                    answer.n_emitted,
                    count.n_events);
}
