/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Start, flush and stop: what grows with the number of producers. */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "scale.h"
#include "shared/fd.h"

#define SMALL_BUFFER_KIB (256 * 1024)
#define N_EVENTS         100 /* of each producer before a flush */

static const RecordingOptions small_recording = {
        .buffer_kib = SMALL_BUFFER_KIB,
        .output_fd = -1,
};

static double since_ms(uint64_t begin_ns) {
        return (double)(now_ns() - begin_ns) / 1e6;
}

/* Milliseconds until every producer has answered something that needs no work. */
static double ping_ms(Fleet *fleet) {
        Samples samples = {};

        for (unsigned i = 0; i < 11; i++) {
                uint64_t begin = now_ns();

                fleet_do(fleet, &(Order){ .kind = ORDER_PING });
                samples_add(&samples, since_ms(begin));
        }
        return samples_median(&samples);
}

static double start_ms(World *world, Recording *recording) {
        uint64_t begin = now_ns();

        recording_start(recording, world, &small_recording);
        return since_ms(begin);
}

typedef struct ControlGoal {
        size_t n;
        double at_most;
        const char *peer;
        const char *peer_first;
} ControlGoal;

/*
 * Start
 */

static void report_start(World *world, const ControlGoal *goal) {
        Samples first = {}, next = {}, stop = {};
        char what[3][64];
        Fleet fleet;
        double floor;

        fleet_start(&fleet, world, goal->n, 0);
        floor = ping_ms(&fleet);
        for (unsigned i = 0; i <= world->n_runs; i++) {
                Recording recording;
                uint64_t begin;

                samples_add(i == 0 ? &first : &next, start_ms(world, &recording));
                begin = now_ns();
                recording_stop(&recording);
                samples_add(&stop, since_ms(begin));
                recording_free(&recording);
        }
        fleet_end(&fleet);

        snprintf(what[0], sizeof(what[0]), "start, %zu producers", goal->n);
        snprintf(what[1], sizeof(what[1]), "the first one, which makes shared memory");
        snprintf(what[2], sizeof(what[2]), "stop, %zu producers", goal->n);
        report(&(Row){
                what[0], "ms", &next, goal->at_most, 0, false, floor, "round trips", goal->peer });
        report(&(Row){
                what[1], "ms", &first, 0, 0, false, floor, "round trips", goal->peer_first });
        report(&(Row){ what[2], "ms", &stop, 0, 0, false, floor, "round trips", NULL });
}

void rows_start(World *world) {
        static const ControlGoal goals[] = {
                { 100, 5, "8.9", "13.6" },
                { 500, 35, "63", "98" },
        };

        for (size_t i = 0; i < (world->is_quick ? 1 : ARRAY_SIZE(goals)); i++)
                report_start(world, &goals[i]);
}

/*
 * Flush
 */

/* All that was emitted is in the trace. */
static void check_count(World *world, Recording *recording, uint64_t n_emitted) {
        _cleanup_(fd_closep) int fd = file_new(world);
        TraceCount count;

        recording_read_into(recording, fd);
        trace_count(&count, fd);
        report_note("%" PRIu64 " events emitted, %" PRIu64 " in the trace, %" PRIu64
                    " out of order",
                    n_emitted,
                    count.n_events,
                    count.n_disorder);
        if (count.n_events != n_emitted)
                report_note("MISSED: some are not there");
}

static void report_flush(World *world, const ControlGoal *goal) {
        static const Order order = { .kind = ORDER_EMIT, .n_events = N_EVENTS };
        Samples first = {}, next = {};
        Recording recording;
        uint64_t n_emitted = 0;
        char what[64];
        double floor;
        Fleet fleet;

        fleet_start(&fleet, world, goal->n, 0);
        floor = ping_ms(&fleet);
        recording_start(&recording, world, &small_recording);
        for (unsigned i = 0; i <= world->n_runs; i++) {
                uint64_t begin;

                n_emitted += fleet_do(&fleet, &order).n_emitted;
                begin = now_ns();
                recording_flush(&recording);
                samples_add(i == 0 ? &first : &next, since_ms(begin));
        }
        recording_stop(&recording);

        snprintf(what, sizeof(what), "flush with data, %zu producers", goal->n);
        report(&(Row){
                what, "ms", &next, goal->at_most, 0, false, floor, "round trips", goal->peer });
        report(&(Row){ "the very first one",
                       "ms",
                       &first,
                       goal->at_most,
                       0,
                       false,
                       floor,
                       "round trips",
                       goal->peer_first });
        check_count(world, &recording, n_emitted);
        recording_free(&recording);
        fleet_end(&fleet);
}

void rows_flush(World *world) {
        static const ControlGoal goals[] = {
                { 100, 2, "6.1", "19" },
                { 500, 10, "43", "308" },
        };

        for (size_t i = 0; i < (world->is_quick ? 1 : ARRAY_SIZE(goals)); i++)
                report_flush(world, &goals[i]);
}

/*
 * A stalled producer
 */

typedef struct Stalled {
        Fleet *fleet;
        Samples with, without;
        uint64_t n_emitted;
        uint64_t n_present;
        int outcome; /* of the last call: how many were named, or an errno */
} Stalled;

/* One recording: everybody emits, one is stopped or not, and then the call is timed. */
static double stalled_run(Stalled *stalled, int (*call)(Recording *), bool is_stalled) {
        World *world = stalled->fleet->world;
        pid_t victim = stalled->fleet->members[stalled->fleet->n / 2].pid;
        _cleanup_(fd_closep) int fd = file_new(world);
        Recording recording;
        TraceCount count;
        uint64_t begin;
        double ms;

        recording_start(&recording, world, &small_recording);
        stalled->n_emitted +=
                fleet_do(stalled->fleet, &(Order){ .kind = ORDER_EMIT, .n_events = N_EVENTS })
                        .n_emitted;
        if (is_stalled)
                kill(victim, SIGSTOP);
        begin = now_ns();
        stalled->outcome = call(&recording);
        ms = since_ms(begin);
        if (call == recording_flush)
                recording_read_into(&recording, fd);
        if (is_stalled)
                kill(victim, SIGCONT);
        recording_stop(&recording);
        if (call == recording_stop)
                recording_read_into(&recording, fd);
        trace_count(&count, fd);
        stalled->n_present += count.n_events;
        recording_free(&recording);
        return ms;
}

static void
report_stalled(Fleet *fleet, const char *what, int (*call)(Recording *), const char *peer) {
        unsigned n_runs = fleet->world->is_quick ? 1 : 3;
        Stalled stalled = { .fleet = fleet };
        Samples more = {};

        for (unsigned i = 0; i < n_runs; i++)
                samples_add(&stalled.without, stalled_run(&stalled, call, false));
        for (unsigned i = 0; i < n_runs; i++)
                samples_add(&stalled.with, stalled_run(&stalled, call, true));
        for (unsigned i = 0; i < n_runs; i++)
                samples_add(&more, stalled.with.values[i] - samples_median(&stalled.without));
        report(&(Row){ what, "ms", &more, 100, 0, false, 0, NULL, peer });
        report_note("without: %.3g ms; %" PRIu64 " events emitted, %" PRIu64 " in the traces; %s",
                    samples_median(&stalled.without),
                    stalled.n_emitted,
                    stalled.n_present,
                    stalled.outcome < 0    ? "MISSED: the call failed"
                    : stalled.outcome == 1 ? "the result names it"
                                           : "MISSED: the result does not name it");
}

void rows_stalled(World *world) {
        Fleet fleet;

        fleet_start(&fleet, world, world->is_quick ? 5 : 50, 0);
        report_stalled(&fleet, "flush takes longer by", recording_flush, "5000, and fails");
        report_stalled(&fleet, "stop takes longer by", recording_stop, "5010");
        fleet_end(&fleet);
}
