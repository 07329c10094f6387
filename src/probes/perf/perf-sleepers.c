/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf sleepers: threads that are off their processor, with the call stacks at which they left it */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/perf/perf-sleepers.h"
#include "shared/macro.h"

#define PLACES ((size_t)PERF_SLEEPERS_MAX * 2)

int perf_sleepers_init(PerfSleepers *sleepers) {
        *sleepers = (PerfSleepers){ .by_tid = calloc(PLACES, sizeof(PerfSleeper)) };
        return sleepers->by_tid ? 0 : -ENOMEM;
}

void perf_sleepers_deinit(PerfSleepers *sleepers) {
        if (sleepers->by_tid)
                (void)perf_sleepers_clear(sleepers);
        assert(sleepers->n_bytes == 0);
        free(sleepers->by_tid);
        sleepers->by_tid = NULL;
}

/*
 * The table: a place is empty if its thread is 0
 */

static size_t first_place(pid_t tid) {
        return (size_t)((uint32_t)tid * 2654435761u % PLACES);
}

static PerfSleeper *find_place(PerfSleepers *sleepers, pid_t tid) {
        size_t i = first_place(tid);

        while (sleepers->by_tid[i].moment.tid != 0 && sleepers->by_tid[i].moment.tid != tid)
                i = (i + 1) % PLACES;
        return &sleepers->by_tid[i];
}

static PerfSleeper *get(PerfSleepers *sleepers, pid_t tid) {
        PerfSleeper *place = find_place(sleepers, tid);

        if (place->moment.tid == tid)
                return place;
        if (sleepers->n == PERF_SLEEPERS_MAX) {
                sleepers->n_refused++;
                return NULL;
        }
        sleepers->n++;
        place->moment.tid = tid;
        return place;
}

void perf_sleepers_forget(PerfSleepers *sleepers, pid_t tid) {
        PerfSleeper *place = find_place(sleepers, tid);
        size_t i = (size_t)(place - sleepers->by_tid);

        if (tid <= 0 || place->moment.tid != tid)
                return;
        perf_sleepers_end(sleepers, place);
        *place = (PerfSleeper){};
        sleepers->n--;
        /* Entries behind it may be there only because this place was taken. */
        for (i = (i + 1) % PLACES; sleepers->by_tid[i].moment.tid != 0; i = (i + 1) % PLACES) {
                const PerfSleeper moved = sleepers->by_tid[i];

                sleepers->by_tid[i] = (PerfSleeper){};
                *find_place(sleepers, moved.moment.tid) = moved;
        }
}

/*
 * Stacks
 */

PerfSleeper *perf_sleepers_add(PerfSleepers *sleepers,
                               const PerfMoment *moment,
                               const StackTable *stacks,
                               bool (*is_lasting)(const StackPart *part)) {
        PerfSleeper *sleeper = get(sleepers, moment->tid);

        if (!sleeper)
                return NULL;
        perf_sleepers_end(sleepers, sleeper);
        if (kept_stack_init(&sleeper->stack,
                            stacks,
                            PERF_SLEEPERS_BYTES_MAX - sleepers->n_bytes,
                            is_lasting) < 0) {
                sleepers->n_refused++;
                return NULL;
        }
        sleepers->n_bytes += sleeper->stack.n_bytes;
        sleeper->moment = *moment;
        sleeper->is_asleep = true;
        return sleeper;
}

PerfSleeper *perf_sleepers_wake(PerfSleepers *sleepers, pid_t tid, uint64_t time_ns) {
        PerfSleeper *sleeper = tid > 0 ? get(sleepers, tid) : NULL;

        if (!sleeper)
                return NULL;
        sleeper->awake_ns = time_ns;
        return sleeper->is_asleep ? sleeper : NULL;
}

void perf_sleepers_end(PerfSleepers *sleepers, PerfSleeper *sleeper) {
        sleepers->n_bytes -= sleeper->stack.n_bytes;
        kept_stack_deinit(&sleeper->stack);
        sleeper->is_asleep = false;
}

PerfSleeper *perf_sleepers_next(PerfSleepers *sleepers, size_t *at) {
        while (*at < PLACES) {
                PerfSleeper *sleeper = &sleepers->by_tid[(*at)++];

                if (sleeper->is_asleep)
                        return sleeper;
        }
        return NULL;
}

size_t perf_sleepers_clear(PerfSleepers *sleepers) {
        PerfSleeper *sleeper;
        size_t n = 0;

        for (size_t at = 0; (sleeper = perf_sleepers_next(sleepers, &at)); n++)
                perf_sleepers_end(sleepers, sleeper);
        return n;
}
