/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Quantile: found by partial selection, without sorting everything */

#include "shared/quantile.h"

#include <math.h>

#include "shared/macro.h"

static void swap(double *x, double *y) {
        double value = *x;

        *x = *y;
        *y = value;
}

/* Puts the value that belongs at this place in sorted order there, smaller values before it and larger ones
 * behind. */
static void select_value(double *values, size_t n, size_t place) {
        size_t low = 0, high = n - 1;

        while (low < high) {
                size_t middle = low + (high - low) / 2, i = low, j = high;
                double pivot;

                if (values[middle] < values[low])
                        swap(&values[middle], &values[low]);
                if (values[high] < values[low])
                        swap(&values[high], &values[low]);
                if (values[high] < values[middle])
                        swap(&values[high], &values[middle]);
                pivot = values[middle];
                while (i <= j) {
                        while (values[i] < pivot)
                                i++;
                        while (values[j] > pivot)
                                j--;
                        if (i > j)
                                break;
                        swap(&values[i++], &values[j]);
                        if (j == 0)
                                break;
                        j--;
                }
                if (place <= j)
                        high = j;
                else if (place >= i)
                        low = i;
                else
                        return;
        }
}

double quantile(double *values, size_t n, double p) {
        double at = p * (double)(n - 1), next = INFINITY;
        size_t place = (size_t)at;

        select_value(values, n, place);
        if (at == (double)place || place + 1 == n)
                return values[place];
        for (size_t i = place + 1; i < n; i++)
                next = MIN(next, values[i]);
        return values[place] + (at - (double)place) * (next - values[place]);
}
