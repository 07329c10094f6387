/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Quantiles of numbers
 */

#include <stddef.h>

/* The value at its place (p from 0 to 1) among the sorted ones, between two of them in proportion. Puts them into
 * another order; there must be one at least, and none may be NaN. */
double quantile(double *values, size_t n, double p);
