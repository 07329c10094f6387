/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf cost: how much of a processor sampling itself takes, and what follows from it */

#include "probes/perf/perf-cost.h"
#include "shared/log.h"

static bool is_too_high(PerfCost *cost, uint64_t now_ns) {
        const uint64_t passed_ns = now_ns - cost->since_ns, cost_ns = cost->cost_ns;

        if (passed_ns < PERF_COST_PERIOD_NS)
                return false;
        *cost = (PerfCost){ .since_ns = now_ns };
        return cost_ns > passed_ns / 100 * PERF_COST_PERCENT;
}

uint64_t perf_cost_look(PerfCost *cost, uint64_t frequency, uint64_t now_ns) {
        if (!is_too_high(cost, now_ns) || frequency < 2 * PERF_COST_FREQUENCY_MIN)
                return frequency;
        log_notice("sampling took more than %u %% of a processor; from now on %llu samples a "
                   "second and processor are taken",
                   PERF_COST_PERCENT,
                   (unsigned long long)(frequency / 2));
        return frequency / 2;
}

uint64_t perf_cost_look_at_period(PerfCost *cost, uint64_t period, uint64_t now_ns) {
        if (!is_too_high(cost, now_ns) || period > PERF_COST_INTERVAL_MAX / 2)
                return period;
        log_notice("sampling took more than %u %% of a processor; from now on one of %llu events "
                   "is sampled",
                   PERF_COST_PERCENT,
                   (unsigned long long)(period * 2));
        return period * 2;
}
