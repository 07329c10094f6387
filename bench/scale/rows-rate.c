/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Steady and excessive rates into a ring, and what the service and the application pay for several sessions
 *
 * Loss is counted from the trace: the indices that ought to be there and are not. The service's own count must be
 * the same.
 */

#include <inttypes.h>
#include <stdio.h>

#include "scale.h"
#include "shared/fd.h"

#define NS_PER_SEC   UINT64_C(1000000000)
#define RING_KIB     (256 * 1024)
#define N_SESSIONS   5
#define BURST_EVENTS 2000
#define SESSION_MIB \
        8 /* less than the paced run writes, so that no event of the run before it is left */
#define MEMORY_KIB     4096
#define SESSION_RATE   200000
#define BURST_DURATION 2 /* seconds */

typedef struct Load {
        double cpu_percent; /* of one core, by the service */
        double cpu_ms_per_million;
        uint64_t n_emitted;
        uint64_t n_lost;     /* by the indices in the trace */
        uint64_t n_reported; /* lost, as the service says */
        uint64_t n_disorder;
} Load;

/* Runs the order once, in a session of its own; the ring holds everything. */
static Load load_once(Fleet *fleet, const Order *order) {
        static const RecordingOptions options = { .buffer_kib = RING_KIB, .output_fd = -1 };
        World *world = fleet->world;
        _cleanup_(fd_closep) int fd = file_new(world);
        Recording recording;
        TraceCount count;
        uint64_t cpu_ns;
        Answer answer;
        Load load;

        recording_start(&recording, world, &options);
        cpu_ns = process_cpu_ns(world->service);
        answer = fleet_do(fleet, order);
        recording_flush(&recording);
        cpu_ns = process_cpu_ns(world->service) - cpu_ns;
        recording_stop(&recording);
        load = (Load){
                .cpu_percent = 100.0 * (double)cpu_ns / (double)answer.ns,
                .n_emitted = answer.n_emitted,
                .n_reported = recording_number(&recording, "PacketsLost"),
        };
        recording_read_into(&recording, fd);
        trace_count(&count, fd);
        load.n_lost = trace_count_lost(&count, answer.n_emitted);
        load.n_disorder = count.n_disorder;
        load.cpu_ms_per_million = (double)cpu_ns / (double)(load.n_emitted - load.n_lost + 1);
        recording_free(&recording);
        return load;
}

static void note_load(const Load *load) {
        report_note("the last: %" PRIu64 " events, lost by index %" PRIu64
                    ", reported lost %" PRIu64 "%s, out of order %" PRIu64,
                    load->n_emitted,
                    load->n_lost,
                    load->n_reported,
                    load->n_lost == load->n_reported ? "" : " (MISSED: not the same)",
                    load->n_disorder);
}

static double percent_lost(const Load *load) {
        return 100.0 * (double)load->n_lost / (double)load->n_emitted;
}

static uint64_t duration_ns(const World *world, unsigned seconds) {
        return world->is_quick ? NS_PER_SEC / 4 : seconds * NS_PER_SEC;
}

void rows_many(World *world) {
        const Order order = {
                .kind = ORDER_RUN,
                .n_threads = 1,
                .rate = 2000,
                .n_batch = 20,
                .duration_ns = duration_ns(world, 5),
        };
        Samples cpu = {}, lost = {};
        Fleet fleet;
        Load load;

        fleet_start(&fleet, world, 50, 0);
        for (unsigned i = 0; i < (world->is_quick ? 1 : 3); i++) {
                load = load_once(&fleet, &order);
                samples_add(&cpu, load.cpu_percent);
                samples_add(&lost, percent_lost(&load));
        }
        fleet_end(&fleet);
        report(&(Row){
                .what = "50 producers x 2000 events/s: CPU",
                .unit = "% core",
                .samples = &cpu,
                .at_most = 1,
                .peer = "2.4",
        });
        report(&(Row){
                .what = "lost", .unit = "%", .samples = &lost, .is_zero = true, .peer = "0" });
        note_load(&load);
}

static void report_threads(World *world, const Order *order, const char *what, const char *peer) {
        Samples lost = {}, rate = {}, cpu = {};
        Fleet fleet;
        Load load;

        fleet_start(&fleet, world, 1, 0);
        for (unsigned i = 0; i < (world->is_quick ? 1 : 3); i++) {
                load = load_once(&fleet, order);
                samples_add(&lost, percent_lost(&load));
                samples_add(&rate, (double)load.n_emitted * 1e3 / (double)order->duration_ns);
                samples_add(&cpu, load.cpu_ms_per_million);
        }
        fleet_end(&fleet);
        report(&(Row){
                .what = what,
                .unit = "% lost",
                .samples = &lost,
                .is_zero = order->rate > 0,
                .peer = peer,
        });
        report(&(Row){ .what = "emitted", .unit = "M/s", .samples = &rate });
        report(&(Row){
                .what = "CPU of the service for a million events",
                .unit = "ms",
                .samples = &cpu,
                .peer = order->rate > 0 ? "81" : "48-57",
        });
        note_load(&load);
}

void rows_threads(World *world) {
        Order order = {
                .kind = ORDER_RUN,
                .n_threads = 2,
                .rate = 1000000,
                .n_batch = 500,
                .duration_ns = duration_ns(world, 3),
        };

        report_threads(world, &order, "2 threads, 1 M events/s, default buffer", "1.7 (1 thread)");
        order.rate = 0;
        order.duration_ns = duration_ns(world, 1) / 2; /* so that the ring forgets nothing */
        report_threads(world, &order, "2 threads saturating, default buffer", "34-56");
}

/*
 * Several sessions
 */

typedef struct Sessions {
        Recording recordings[N_SESSIONS];
        size_t n;
} Sessions;

static void sessions_start(Sessions *sessions, World *world, size_t n) {
        static const RecordingOptions options = { .buffer_kib = SESSION_MIB * 1024,
                                                  .output_fd = -1 };

        sessions->n = n;
        for (size_t i = 0; i < n; i++)
                recording_start(&sessions->recordings[i], world, &options);
}

/* Events that are in none of the sessions' losses: each has them all. */
static uint64_t sessions_end(Sessions *sessions, uint64_t n_emitted) {
        uint64_t n_lost = 0;

        for (size_t i = 0; i < sessions->n; i++) {
                Recording *recording = &sessions->recordings[i];
                _cleanup_(fd_closep) int fd = file_new(recording->world);
                TraceCount count;

                recording_stop(recording);
                recording_read_into(recording, fd);
                trace_count(&count, fd);
                n_lost += trace_count_lost(&count, n_emitted);
                recording_free(recording);
        }
        return n_lost;
}

typedef struct SessionsCost {
        Samples cpu_ms, event_ns;
        uint64_t n_lost;
} SessionsCost;

static void sessions_measure(Fleet *fleet, size_t n, SessionsCost *cost) {
        World *world = fleet->world;
        const Order paced = {
                .kind = ORDER_RUN,
                .n_threads = 1,
                .rate = SESSION_RATE,
                .n_batch = 200,
                .duration_ns = duration_ns(world, 3),
        };
        const Order fill = {
                .kind = ORDER_RUN,
                .n_threads = 1,
                .rate = 5 * SESSION_RATE,
                .n_batch = 200,
                .duration_ns = NS_PER_SEC / 2,
        };
        const Order burst = {
                .kind = ORDER_BURST,
                .n_events = BURST_EVENTS,
                .duration_ns = duration_ns(world, BURST_DURATION),
        };
        Sessions sessions;
        uint64_t cpu_ns;
        Answer answer;

        /* As flight recorders are most of the time: their rings have turned, and no page is new. */
        sessions_start(&sessions, world, n);
        fleet_do(fleet, &fill);
        sleep_ms(50);
        cpu_ns = process_cpu_ns(world->service);
        answer = fleet_do(fleet, &paced);
        cpu_ns = process_cpu_ns(world->service) - cpu_ns;
        samples_add(&cost->cpu_ms, (double)cpu_ns / (double)answer.n_emitted);
        cost->n_lost += sessions_end(&sessions, answer.n_emitted);

        sessions_start(&sessions, world, n);
        answer = fleet_do(fleet, &burst);
        samples_add(&cost->event_ns, (double)answer.event_ps / 1e3);
        sessions_end(&sessions, answer.n_emitted);
}

void rows_sessions(World *world) {
        SessionsCost one = {}, five = {};
        Samples cpu_ratio = {}, event_ratio = {};
        Fleet fleet;

        fleet_start(&fleet, world, 1, MEMORY_KIB);
        for (unsigned i = 0; i < (world->is_quick ? 1 : 3); i++) {
                sessions_measure(&fleet, 1, &one);
                sessions_measure(&fleet, N_SESSIONS, &five);
                samples_add(&cpu_ratio, five.cpu_ms.values[i] / one.cpu_ms.values[i]);
                samples_add(&event_ratio, five.event_ns.values[i] / one.event_ns.values[i]);
        }
        fleet_end(&fleet);

        report(&(Row){
                .what = "5 sessions, CPU of the service, of that of 1",
                .unit = "x",
                .samples = &cpu_ratio,
                .at_most = 2,
                .peer = "3.5",
        });
        report(&(Row){
                .what = "5 sessions, an event's cost for the program",
                .unit = "x",
                .samples = &event_ratio,
                .at_most = 1.5,
                .peer = "4.1-5.4",
        });
        report(&(Row){ .what = "an event in one session",
                       .unit = "ns",
                       .samples = &one.event_ns,
                       .peer = "160-194" });
        report(&(Row){ .what = "CPU of the service for a million events, one",
                       .unit = "ms",
                       .samples = &one.cpu_ms,
                       .peer = "130" });
        report_note("lost in the paced runs: %" PRIu64 " in one session, %" PRIu64 " in five",
                    one.n_lost,
                    five.n_lost);
}
