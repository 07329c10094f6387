/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A thread's clock: CLOCK_BOOTTIME, most of the time computed from the CPU's counter, which costs half as much
 *
 * The kernel computes CLOCK_BOOTTIME from the same counter, but at a rate that it changes when the time of day is
 * corrected. So a thread reads both at nearly the same moment: its anchor. For CLOCK_ANCHOR_NS it computes the time
 * from there, at the rate of the last milliseconds, and then reads both again. This time
 *
 *  - is at most 100 ns off while the kernel changes its rate by no more than 0.05 %, as NTP does. If the clock is made
 *    run 10 % faster at once, as chrony may when it is far off, makes this one wrong by up to 5 µs for two
 *    milliseconds;
 *  - never goes back;
 *  - is right after the machine has slept: the counter has then gone on for longer than an anchor is good for, or
 *    has started over, which is longer still, as it is less than zero;
 *  - uses no rate that is older than a second.
 *
 * Where the counter cannot be used, or both cannot be read at the same moment, the kernel's clock is used alone. A
 * clock belongs to one thread, and must not be used in its signal handlers.
 *
 *      track-clock.c           anchors and rates
 *      track-clock-x86-64.c    the counter of these CPUs
 *      track-clock-kernel.c    without one
 */

#include <stdbool.h>
#include <stdint.h>

#include "shared/macro.h"

#define CLOCK_ANCHOR_NS   UINT64_C(50000)
#define CLOCK_RATE_NS_MIN UINT64_C(1000000)   /* a rate is measured over at least this time, */
#define CLOCK_RATE_NS_MAX UINT64_C(100000000) /* and at most over this: no sleep is shorter */
#define CLOCK_RATE_AGE_NS UINT64_C(1000000000)
#define CLOCK_RATE_ERROR  5000 /* a rate is precise to one part in this many */
#define CLOCK_ERROR_SHARE \
        512 /* of CLOCK_ANCHOR_NS: both must be read within this part of it, 98 ns */
#define CLOCK_FAILURES_MAX 100 /* failed attempts in a row, after which the counter is not used */

/* The counter and the clock at nearly the same moment. */
typedef struct ClockPair {
        uint64_t counter; /* in the middle of n_ticks */
        uint64_t n_ticks; /* how many ticks the reading took */
        uint64_t ns;
} ClockPair;

typedef void (*ClockReader)(ClockPair *ret);

typedef struct TrackClock {
        ClockPair anchor;
        uint64_t n_ticks; /* for which the anchor is valid; 0: no anchor */
        uint64_t rate;    /* nanoseconds of a tick, times 2^32; 0: not known */
        uint64_t last_ns;
        ClockPair base;   /* where measuring the rate began */
        uint64_t rate_ns; /* when the rate was measured */
        unsigned n_failures;
} TrackClock;

static inline uint64_t clock_say(TrackClock *clock, uint64_t ns) {
        if (UNLIKELY(ns < clock->last_ns))
                ns = clock->last_ns;
        clock->last_ns = ns;
        return ns;
}

/* The time at which the counter was `counter`; 0: the anchor is too old for that. */
static inline uint64_t clock_compute(TrackClock *clock, uint64_t counter) {
        uint64_t since = counter - clock->anchor.counter;

        if (UNLIKELY(since >= clock->n_ticks))
                return 0;
        return clock_say(clock, clock->anchor.ns + (since * clock->rate >> 32));
}

/* Returns the time, and makes an anchor if it can. */
uint64_t clock_anchor(TrackClock *clock, ClockReader read);

/* Call it once, before the first clock is used: it finds out whether the counter can be used. */
void track_clock_prepare(void);

/* The time, in nanoseconds. A clock that is all zeros is a new one. */
uint64_t track_clock_now(TrackClock *clock);

/* CLOCK_BOOTTIME of the kernel. */
uint64_t track_now_ns(void);
