/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Statistics of two small samples
 *
 * Each value stands for one recording. Slices of one recording depend on each other, so they must not be counted like
 * independent experiments.
 */

#include <stdbool.h>
#include <stddef.h>

#define STATISTICS_SAMPLES_MAX   1000   /* of a side */
#define STATISTICS_ORDERS_MAX    200000 /* rank sums, enumerated for an exact p */
#define STATISTICS_RESAMPLES     2000
#define STATISTICS_INTERVAL_MIN  6 /* fewer values of a side have no 95 % interval of the median */
#define STATISTICS_DIFFERENT_MIN 4 /* values of a side; fewer are never significant */

/* Mann and Whitney's test: the probability of a rank difference at least this large if the two sides do not differ.
 * Exact for few values, also with ties; otherwise by the normal distribution, corrected for ties. Negative: out of
 * memory. */
double statistics_rank_p(const double *a, size_t n_a, const double *b, size_t n_b);

/* The smallest p that samples of these sizes can reach. */
double statistics_rank_p_min(size_t n_a, size_t n_b);

/* The 95 % interval of the ratio of the medians, b / a, by resampling with a fixed seed. Returns false if there are
 * too few values, or memory has run out. */
bool statistics_ratio_interval(const double *a,
                               size_t n_a,
                               const double *b,
                               size_t n_b,
                               double *ret_low,
                               double *ret_high);

/* Holm's method: corrects each p for the number of tests, in place. Returns false if memory has run out. */
bool statistics_correct(double *p, size_t n);

/* Does not reorder the values. Negative: out of memory; values never are. */
double statistics_median(const double *values, size_t n);
