/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Statistics of two small samples
 *
 * Each value is that of one recording: slices of one recording depend on each other, so they are not counted as if they
 * were experiments of their own.
 */

#include <stdbool.h>
#include <stddef.h>

#define STATISTICS_SAMPLES_MAX 1000   /* of a side */
#define STATISTICS_ORDERS_MAX  200000 /* that are all gone through for an exact p */
#define STATISTICS_RESAMPLES   2000
#define STATISTICS_INTERVAL_MIN \
        6 /* values of a side, below which a median has no interval of 95 % */
#define STATISTICS_DIFFERENT_MIN 4 /* of a side, below which no difference can be shown at 5 % */

/* Of Mann and Whitney: how probable such a difference of ranks is, or a greater one, if there is none. Exact for few
 * values, also with ties; else by the normal distribution, corrected for ties. Negative: no memory. */
double statistics_rank_p(const double *a, size_t n_a, const double *b, size_t n_b);

/* The least p that samples of these sizes can have. */
double statistics_rank_p_min(size_t n_a, size_t n_b);

/* 95 % of the ratio of the medians, b / a, by drawing again with a fixed seed. False: there are too few values, or no
 * memory. */
bool statistics_ratio_interval(const double *a,
                               size_t n_a,
                               const double *b,
                               size_t n_b,
                               double *ret_low,
                               double *ret_high);

/* Of Holm: corrects each p for all of them, in place. False: no memory. */
bool statistics_correct(double *p, size_t n);

/* Leaves the order of the values alone. Negative: no memory; values are not. */
double statistics_median(const double *values, size_t n);
