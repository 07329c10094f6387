/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "probes/perf/perf-cost.h"
#include "shared/log.h"

#define NS_PER_MS 1000000u

uint64_t perf_cost_look(PerfCost *cost, uint64_t frequency, uint64_t now_ns) {
        const uint64_t passed_ns = now_ns - cost->since_ns, cost_ns = cost->cost_ns;

        if (passed_ns < PERF_COST_PERIOD_NS)
                return frequency;
        *cost = (PerfCost){ .since_ns = now_ns };
        if (cost_ns <= passed_ns / 100 * PERF_COST_PERCENT ||
            frequency < 2 * PERF_COST_FREQUENCY_MIN)
                return frequency;
        log_notice("sampling took %llu ms of %llu ms; from now on %llu samples a second and "
                   "processor are taken",
                   (unsigned long long)(cost_ns / NS_PER_MS),
                   (unsigned long long)(passed_ns / NS_PER_MS),
                   (unsigned long long)(frequency / 2));
        return frequency / 2;
}
