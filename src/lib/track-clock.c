/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A thread's clock: CLOCK_BOOTTIME, most of the time computed from the CPU's counter, which costs half as much */

#include <time.h>

#include "lib/track-clock.h"

#define NS_PER_SEC UINT64_C(1000000000)
#define READ_TRIES 3

uint64_t track_now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

/* The rate between two readings. Only a clock that does not jump and was read precisely has one. */
static uint64_t measure_rate(const ClockPair *from, const ClockPair *to) {
        uint64_t n_ticks = to->counter - from->counter, ns = to->ns - from->ns;

        if (to->ns < from->ns || ns > CLOCK_RATE_NS_MAX || n_ticks == 0 ||
            (from->n_ticks + to->n_ticks) > n_ticks / CLOCK_RATE_ERROR)
                return 0;
        return (ns << 32) / n_ticks;
}

static void update_rate(TrackClock *clock, const ClockPair *now) {
        uint64_t rate;

        if (clock->base.ns != 0 && now->ns - clock->base.ns < CLOCK_RATE_NS_MIN)
                return;
        rate = clock->base.ns != 0 ? measure_rate(&clock->base, now) : 0;
        clock->base = *now;
        if (rate != 0) {
                clock->rate = rate;
                clock->rate_ns = now->ns;
        }
}

static bool is_close(const TrackClock *clock, const ClockPair *pair) {
        return pair->n_ticks * clock->rate >> 32 <= CLOCK_ANCHOR_NS / CLOCK_ERROR_SHARE;
}

/* Most of the time nothing interrupts the two reads. */
static bool read_closely(const TrackClock *clock, ClockPair *ret, ClockReader read) {
        for (unsigned i = 0; i < READ_TRIES; i++) {
                read(ret);
                if (is_close(clock, ret)) /* always the case while no rate is known */
                        return true;
        }
        return false;
}

uint64_t clock_anchor(TrackClock *clock, ClockReader read) {
        ClockPair now;

        clock->n_ticks = 0;
        if (!read_closely(clock, &now, read)) {
                clock->n_failures++;
                return clock_say(clock, now.ns);
        }
        clock->n_failures = 0;
        update_rate(clock, &now);
        if (now.ns - clock->rate_ns > CLOCK_RATE_AGE_NS)
                clock->rate = 0;
        if (clock->rate != 0 && is_close(clock, &now)) {
                clock->anchor = now;
                clock->n_ticks = (CLOCK_ANCHOR_NS << 32) / clock->rate;
        }
        return clock_say(clock, now.ns);
}
