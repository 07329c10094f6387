/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Chance: which allocations are sampled, and how many each sample stands for
 *
 * Each allocated byte has the same small chance, one in `interval`, of having its allocation sampled. So large
 * allocations are nearly always sampled and small ones rarely, whatever pattern they come in. A sample stands for the
 * number of such allocations that it takes, on average, until one of them is sampled. Sums of these numbers are right
 * on average, even small sums. There is no libm here, because this code is loaded into other people's programs.
 */

#include <stdint.h>

/* The next random number. Any state will do to begin with. */
uint64_t chance_next(uint64_t *state);

/* How many bytes pass until the chosen one: a draw from an exponential distribution, at most 64 intervals. */
uint64_t chance_draw(uint64_t *state, uint64_t interval);

/* The probability that an allocation is sampled: 1 - exp(-n_bytes / interval). */
double chance_of(uint64_t n_bytes, uint64_t interval);

/* Returns true with this probability. */
int chance_take(uint64_t *state, double probability);
