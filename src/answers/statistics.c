/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Statistics: tests, medians and intervals for two small samples */

#include "answers/statistics.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"
#include "shared/quantile.h"

typedef struct Ranked {
        double value, rank;
        bool is_a;
} Ranked;

static int compare_ranked(const void *x, const void *y) {
        const Ranked *a = x, *b = y;

        return a->value < b->value ? -1 : a->value > b->value;
}

/* Equal values share the mean of their ranks; returns the correction of the variance for them. */
static double rank_all(Ranked *all, size_t n) {
        double ties = 0;

        qsort(all, n, sizeof(*all), compare_ranked);
        for (size_t i = 0, end; i < n; i = end) {
                for (end = i; end < n && all[end].value == all[i].value;)
                        end++;
                for (size_t k = i; k < end; k++)
                        all[k].rank = (double)(i + end + 1) / 2;
                ties += pow((double)(end - i), 3) - (double)(end - i);
        }
        return ties;
}

/* The number of ways to choose n_chosen of n. */
static double choices(size_t n, size_t n_chosen) {
        double ways = 1;

        for (size_t i = 0; i < n_chosen; i++)
                ways = ways * (double)(n - i) / (double)(i + 1);
        return round(ways);
}

typedef struct Orders {
        const Ranked *all;
        size_t n, n_chosen;
        double mean, distance; /* the mean of the sum of ranks, and the distance from it */
        double n_far;
} Orders;

/* Goes through all ways to choose the ranks of one side. */
static void count_far(Orders *orders, size_t first, size_t n_left, double sum) {
        if (n_left == 0) {
                orders->n_far += fabs(sum - orders->mean) >= orders->distance - 1e-9;
                return;
        }
        for (size_t i = first; i + n_left <= orders->n; i++)
                count_far(orders, i + 1, n_left - 1, sum + orders->all[i].rank);
}

static double p_of_ranks(const Ranked *all, size_t n_a, size_t n_b, double ties) {
        double n = (double)(n_a + n_b), mean = (double)n_a * (n + 1) / 2, sum = 0, variance;
        Orders orders = { .all = all, .n = n_a + n_b, .n_chosen = n_a, .mean = mean };

        for (size_t i = 0; i < n_a + n_b; i++)
                sum += all[i].is_a ? all[i].rank : 0;
        orders.distance = fabs(sum - mean);
        if (choices(n_a + n_b, n_a) <= STATISTICS_ORDERS_MAX) {
                count_far(&orders, 0, n_a, 0);
                return orders.n_far / choices(n_a + n_b, n_a);
        }
        variance = (double)n_a * (double)n_b / 12 * (n + 1 - ties / (n * (n - 1)));
        if (variance <= 0)
                return 1;
        return erfc(fmax(orders.distance - 0.5, 0) / sqrt(2 * variance));
}

double statistics_rank_p(const double *a, size_t n_a, const double *b, size_t n_b) {
        _cleanup_(freep) Ranked *all = reallocarray(NULL, n_a + n_b + 1, sizeof(*all));
        double ties;

        if (!all)
                return -1;
        for (size_t i = 0; i < n_a + n_b; i++)
                all[i] = (Ranked){ .value = i < n_a ? a[i] : b[i - n_a], .is_a = i < n_a };
        ties = rank_all(all, n_a + n_b);
        return p_of_ranks(all, n_a, n_b, ties);
}

double statistics_rank_p_min(size_t n_a, size_t n_b) {
        return fmin(2 / choices(n_a + n_b, MIN(n_a, n_b)), 1);
}

double statistics_median(const double *values, size_t n) {
        _cleanup_(freep) double *copy = reallocarray(NULL, n + 1, sizeof(*copy));

        if (!copy)
                return -1;
        memcpy(copy, values, n * sizeof(*copy));
        return quantile(copy, n, 0.5);
}

/* Always the same random numbers, so that the same recordings give the same answer. */
static uint64_t next_random(uint64_t *state) {
        uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return z ^ z >> 31;
}

static double draw_median(const double *values, size_t n, double *room, uint64_t *state) {
        for (size_t i = 0; i < n; i++)
                room[i] = values[next_random(state) % n];
        return quantile(room, n, 0.5);
}

bool statistics_ratio_interval(const double *a,
                               size_t n_a,
                               const double *b,
                               size_t n_b,
                               double *ret_low,
                               double *ret_high) {
        size_t n_room = STATISTICS_RESAMPLES + MAX(n_a, n_b);
        _cleanup_(freep) double *ratios = reallocarray(NULL, n_room, sizeof(*ratios));
        double *room = ratios + STATISTICS_RESAMPLES;
        uint64_t state = 1;

        if (!ratios || MIN(n_a, n_b) < STATISTICS_INTERVAL_MIN)
                return false;
        for (size_t i = 0; i < STATISTICS_RESAMPLES; i++) {
                double median = draw_median(a, n_a, room, &state);

                ratios[i] = draw_median(b, n_b, room, &state) / median;
                if (!isfinite(ratios[i]))
                        return false;
        }
        *ret_low = quantile(ratios, STATISTICS_RESAMPLES, 0.025);
        *ret_high = quantile(ratios, STATISTICS_RESAMPLES, 0.975);
        return true;
}

typedef struct Ordered {
        double p;
        size_t place;
} Ordered;

static int compare_ordered(const void *x, const void *y) {
        const Ordered *a = x, *b = y;

        return a->p < b->p ? -1 : a->p > b->p;
}

bool statistics_correct(double *p, size_t n) {
        _cleanup_(freep) Ordered *ordered = reallocarray(NULL, n + 1, sizeof(*ordered));
        double largest = 0;

        if (!ordered)
                return false;
        for (size_t i = 0; i < n; i++)
                ordered[i] = (Ordered){ .p = p[i], .place = i };
        qsort(ordered, n, sizeof(*ordered), compare_ordered);
        for (size_t i = 0; i < n; i++) {
                largest = fmax(largest, fmin(ordered[i].p * (double)(n - i), 1));
                p[ordered[i].place] = largest;
        }
        return true;
}
