/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Chance: which allocations are sampled, and how many each sample stands for
 *
 * Each byte that is allocated has the same small chance, one in `interval`, of having its allocation sampled. So
 * large allocations are sampled nearly always and small ones rarely, whatever pattern they come in. A sample
 * stands for as many allocations like it as there are on average until one of them is sampled: sums of these are
 * right on average, also of small numbers. No libm: this is loaded into other people's programs.
 */

#include <stdint.h>

/* The next random number; any state will do to begin with. */
uint64_t chance_next(uint64_t *state);

/* How many bytes pass until the one that is chosen: a draw of an exponential distribution, at most 64 intervals. */
uint64_t chance_draw(uint64_t *state, uint64_t interval);

/* The probability that an allocation is sampled: 1 - exp(-n_bytes / interval). */
double chance_of(uint64_t n_bytes, uint64_t interval);

/* True with the probability. */
int chance_take(uint64_t *state, double probability);
