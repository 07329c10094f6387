/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf cost: how much of a processor sampling itself takes, and what follows from it
 *
 * If sampling costs too much, its rate is halved, again and again until the cost is low enough, but not below a rate
 * that is still useful.
 */

#include <stdint.h>

#define PERF_COST_PERIOD_NS     UINT64_C(10000000000)
#define PERF_COST_PERCENT       20u /* of a processor */
#define PERF_COST_FREQUENCY_MIN 10u /* samples a second and processor */

#define PERF_COST_INTERVAL_MAX (UINT64_C(1) << 20) /* events between two samples */

typedef struct PerfCost {
        uint64_t since_ns;
        uint64_t cost_ns; /* processor time since then */
} PerfCost;

/* Call it after each drain. Returns the frequency of samples from now on; `frequency` is the present one. */
uint64_t perf_cost_look(PerfCost *cost, uint64_t frequency, uint64_t now_ns);
/* The same for a period: one in `period` events is sampled. */
uint64_t perf_cost_look_at_period(PerfCost *cost, uint64_t period, uint64_t now_ns);
