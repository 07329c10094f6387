/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A quantile is the value at its place, whatever order the values come in. */

#include <math.h>

#include "shared/macro.h"
#include "shared/quantile.h"
#include "test.h"

START_TEST(test_the_ends_and_the_middle) {
        double values[] = { 5, 1, 4, 2, 3 };

        ck_assert(quantile(values, 5, 0) == 1);
        ck_assert(quantile(values, 5, 0.5) == 3);
        ck_assert(quantile(values, 5, 1) == 5);
}
END_TEST

START_TEST(test_between_two_values_it_is_in_proportion) {
        double values[] = { 10, 20 };

        ck_assert(fabs(quantile(values, 2, 0.25) - 12.5) < 1e-9);
}
END_TEST

START_TEST(test_one_value_is_every_quantile) {
        double value = 7;

        for (double p = 0; p <= 1; p += 0.125)
                ck_assert(quantile(&value, 1, p) == 7);
}
END_TEST

static int compare(const void *x, const void *y) {
        const double *a = x, *b = y;

        return (*a > *b) - (*a < *b);
}

#define N 999

START_TEST(test_it_is_what_sorting_gives) {
        double values[N], sorted[N];
        uint64_t random = 3;

        for (unsigned round = 0; round < 50; round++) {
                for (size_t i = 0; i < N; i++) {
                        random = random * 6364136223846793005u + 1442695040888963407u;
                        values[i] = sorted[i] = (double)((random >> 33) % (1 + round * 20));
                }
                qsort(sorted, N, sizeof(*sorted), compare);
                for (unsigned p = 0; p <= 100; p += 25) {
                        double at = p / 100.0 * (N - 1), wanted = sorted[(size_t)at];

                        if (at != floor(at))
                                wanted += (at - floor(at)) * (sorted[(size_t)at + 1] - wanted);
                        ck_assert(fabs(quantile(values, N, p / 100.0) - wanted) < 1e-9);
                }
        }
}
END_TEST

TEST_MAIN("quantile",
          test_the_ends_and_the_middle,
          test_between_two_values_it_is_in_proportion,
          test_one_value_is_every_quantile,
          test_it_is_what_sorting_gives)
