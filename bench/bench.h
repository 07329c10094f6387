/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Benchmarks
 *
 * A figure of its own is the best of several runs, because what disturbs a run only ever makes it
 * longer; figures that are compared are the medians of runs that take turns.
 * Machines differ, so throughput is said as a ratio to memcpy() of the same pieces in the same
 * program; only what is short and bound to one core is said in nanoseconds. A line whose figure
 * misses its target ends with "MISSED", and the program fails.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BENCH_RUNS 25

/* Keeps the compiler from leaving out what produces the value. */
#define bench_use(_x) __asm__ volatile("" : : "r,m"(_x) : "memory")

static inline uint64_t bench_now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t bench_run_ns(void (*run)(void *userdata), void *userdata) {
        uint64_t begin = bench_now_ns();

        run(userdata);
        return bench_now_ns() - begin;
}

/* Nanoseconds of the best run; the first one only warms up. */
static inline double bench_best_ns(void (*run)(void *userdata), void *userdata) {
        uint64_t best = UINT64_MAX;

        run(userdata);
        for (unsigned i = 0; i < BENCH_RUNS; i++) {
                uint64_t took = bench_run_ns(run, userdata);

                best = took < best ? took : best;
        }
        return (double)best;
}

static inline int bench_compare(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

/* For figures that are compared: what disturbs, disturbs both. Sorts them. */
static inline double bench_median(double *values, size_t n) {
        qsort(values, n, sizeof(*values), bench_compare);
        return values[n / 2];
}

static inline bool bench_report_ratio(const char *what, double ratio, double at_least) {
        bool ok = ratio >= at_least;

        printf("%-52s %8.2f x memcpy   (at least %.2f)%s\n",
               what,
               ratio,
               at_least,
               ok ? "" : " MISSED");
        return ok;
}

static inline bool bench_report_ns(const char *what, double ns, double at_most) {
        bool ok = ns <= at_most;

        printf("%-52s %8.1f ns         (at most %.0f)%s\n", what, ns, at_most, ok ? "" : " MISSED");
        return ok;
}
