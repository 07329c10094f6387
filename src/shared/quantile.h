/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Quantiles of numbers
 */

#include <stddef.h>

/* The quantile `p` (0 to 1) of the values, interpolated between the two nearest ones. Reorders the values; there
 * must be at least one, and none may be NaN. */
double quantile(double *values, size_t n, double p);
