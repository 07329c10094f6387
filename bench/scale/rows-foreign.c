/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Producers of Perfetto's protocol beside as many native ones, of one service, which is asked for the ones and the
 * others by turns. The protocol asks for messages that a native producer does without: they are what a foreign one may
 * take longer.
 */

#include <inttypes.h>
#include <stdio.h>

#include "scale.h"
#include "shared/fd.h"

#define BUFFER_KIB     (64 * 1024)
#define N_FLUSH_EVENTS 100 /* of each producer before the flush */
#define N_MORE_EVENTS  900 /* and after it, so that there is something to read */

/* What is timed, and how many calls, of two messages, the protocol cannot do without in it. */
typedef enum Step {
        STEP_START,
        STEP_FLUSH,
        STEP_STOP,
        STEP_READ,
        _STEP_N,
} Step;

static const struct {
        const char *what;
        unsigned n_calls;
        const char *peer;
} steps[_STEP_N] = {
        [STEP_START] = { "start", 2, "8.9" }, /* set up, start; is started, has a writer */
        [STEP_FLUSH] = { "flush with data", 1, "6.1" }, /* flush; commit */
        [STEP_STOP] = { "stop", 2, "5.5" }, /* stop; commit, has no writer, is stopped */
        [STEP_READ] = { "read-back", 0, NULL },
};

typedef struct Side {
        const char *name;
        Fleet fleet;
        RecordingOptions options;
        Samples samples[_STEP_N];
        Samples first;
        uint64_t n_emitted, n_present, n_bytes;
} Side;

static double since_ms(uint64_t begin_ns) {
        return (double)(now_ns() - begin_ns) / 1e6;
}

static void side_emit(Side *side, uint64_t n_events) {
        const Order order = { .kind = ORDER_EMIT, .n_events = n_events };

        side->n_emitted += fleet_do(&side->fleet, &order).n_emitted;
}

/* Milliseconds until the service has carried the step out. */
static double side_step(Side *side, Recording *recording, Step step, int fd) {
        uint64_t begin = now_ns();

        switch (step) {
        case STEP_START:
                recording_start(recording, side->fleet.world, &side->options);
                break;
        case STEP_FLUSH:
                recording_flush(recording);
                break;
        case STEP_STOP:
                recording_stop(recording);
                break;
        default:
                recording_read_into(recording, fd);
                break;
        }
        return since_ms(begin);
}

static void side_run(Side *side, bool is_first) {
        _cleanup_(fd_closep) int fd = file_new(side->fleet.world);
        Recording recording;
        TraceCount count;

        for (Step step = 0; step < _STEP_N; step++) {
                double ms;

                if (step == STEP_FLUSH)
                        side_emit(side, N_FLUSH_EVENTS);
                if (step == STEP_STOP)
                        side_emit(side, N_MORE_EVENTS);
                ms = side_step(side, &recording, step, fd);
                if (!is_first)
                        samples_add(&side->samples[step], ms);
                else if (step == STEP_START)
                        samples_add(&side->first, ms);
        }
        recording_free(&recording);
        trace_count(&count, fd);
        side->n_present += count.n_events;
        side->n_bytes = count.n_bytes;
}

static double order_ms(Side *side, OrderKind kind) {
        uint64_t begin = now_ns();

        fleet_do(&side->fleet, &(Order){ .kind = kind });
        return since_ms(begin);
}

/* `call_ms`: until each of them has been woken to make a call, and has its reply. */
static void report_step(const Side *native, const Side *foreign, Step step, double call_ms) {
        const double native_ms = samples_median(&native->samples[step]);
        char what[2][64];

        snprintf(what[0], sizeof(what[0]), "%s, %s", steps[step].what, native->name);
        snprintf(what[1],
                 sizeof(what[1]),
                 "%s, %s (%u calls more)",
                 steps[step].what,
                 foreign->name,
                 steps[step].n_calls);
        report(&(Row){ what[0], "ms", &native->samples[step], 0, 0, false, 0, NULL, NULL });
        report(&(Row){ what[1],
                       "ms",
                       &foreign->samples[step],
                       native_ms + steps[step].n_calls * call_ms,
                       0,
                       false,
                       native_ms,
                       "native",
                       steps[step].peer });
}

/* It makes shared memory. */
static void report_first(const Side *native, const Side *foreign) {
        report(&(Row){
                "the first start, native", "ms", &native->first, 0, 0, false, 0, NULL, NULL });
        report(&(Row){ "the first start, foreign",
                       "ms",
                       &foreign->first,
                       0,
                       0,
                       false,
                       samples_median(&native->first),
                       "native",
                       "13.6" });
}

static void report_side(const Side *side) {
        report_note("%s: %" PRIu64 " events emitted, %" PRIu64 " in the traces; %.1f bytes each%s",
                    side->name,
                    side->n_emitted,
                    side->n_present,
                    (double)side->n_bytes /
                            (double)(side->fleet.n * (N_FLUSH_EVENTS + N_MORE_EVENTS)),
                    side->n_emitted == side->n_present ? "" : "; MISSED: some are not there");
}

static void sides_start(Side sides[static 2], World *world, size_t n) {
        static const char *const names[] = { "native", "foreign" };
        static const char *const sources[] = {
                "data_sources { config { name: \"track_event\" } "
                "producer_name_filter: \"bench-scale-producer\" }",
                "data_sources { config { name: \"track_event\" } "
                "producer_name_filter: \"bench-scale-foreign\" }",
        };

        for (size_t i = 0; i < 2; i++)
                sides[i] = (Side){
                        .name = names[i],
                        .options = { .sources = sources[i],
                                     .buffer_kib = BUFFER_KIB,
                                     .output_fd = -1 },
                };
        fleet_start(&sides[0].fleet, world, n, 0);
        fleet_start_foreign(&sides[1].fleet, world, n, 0);
}

void rows_foreign(World *world) {
        const size_t n = world->is_quick ? 25 : 100;
        Samples ping = {}, call = {};
        Side sides[2];
        char what[64];

        sides_start(sides, world, n);
        for (unsigned i = 0; i <= MIN(world->n_runs, SAMPLES_MAX - 1u); i++) {
                /* The second one finds the machine as the first has left it. */
                side_run(&sides[i % 2], i == 0);
                side_run(&sides[(i + 1) % 2], i == 0);
                /* Once for the caches. */
                fleet_do(&sides[1].fleet, &(Order){ .kind = ORDER_PING });
                samples_add(&ping, order_ms(&sides[1], ORDER_PING));
                samples_add(&call, order_ms(&sides[1], ORDER_CALL));
        }

        snprintf(what, sizeof(what), "a call, %zu foreign", n);
        report(&(Row){
                what, "ms", &call, 0, 0, false, samples_median(&ping), "round trips", NULL });
        for (Step step = 0; step < _STEP_N; step++)
                report_step(&sides[0], &sides[1], step, samples_median(&call));
        report_first(&sides[0], &sides[1]);
        for (size_t i = 0; i < 2; i++)
                report_side(&sides[i]);
        for (size_t i = 2; i > 0; i--)
                fleet_end(&sides[i - 1].fleet);
}
