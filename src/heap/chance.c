/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Chance: which allocations are sampled, and how many each sample stands for */

#include <string.h>

#include "heap/chance.h"

#define LN2       0.69314718055994530942
#define SQRT2     1.41421356237309504880
#define DRAWS_MAX 64 /* no draw of 64 random bits is longer */

/* splitmix64 by Sebastiano Vigna, as published in the public domain. */
uint64_t chance_next(uint64_t *state) {
        uint64_t value = *state += UINT64_C(0x9e3779b97f4a7c15);

        value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
        return value ^ value >> 31;
}

/* In (0, 1]. */
static double uniform(uint64_t *state) {
        return (double)((chance_next(state) >> 11) + 1) * 0x1p-53;
}

/* The natural logarithm of a number in (0, 1]: the exponent, plus a series for the remaining factor between 1/√2 and
 * √2. */
static double logarithm(double x) {
        uint64_t bits;
        double mantissa, s, square, power, sum = 0;
        int exponent;

        memcpy(&bits, &x, sizeof(bits));
        exponent = (int)(bits >> 52) - 1023;
        bits = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000);
        memcpy(&mantissa, &bits, sizeof(mantissa));
        if (mantissa > SQRT2) {
                mantissa /= 2;
                exponent++;
        }
        s = (mantissa - 1) / (mantissa + 1);
        square = s * s;
        power = s;
        for (int i = 1; i <= 15; i += 2, power *= square)
                sum += power / i;
        return 2 * sum + exponent * LN2;
}

uint64_t chance_draw(uint64_t *state, uint64_t interval) {
        double draw = -logarithm(uniform(state));

        if (draw > DRAWS_MAX)
                draw = DRAWS_MAX;
        return (uint64_t)(draw * (double)interval);
}

/* 1 - exp(-x) for x up to ½. A subtraction from 1 would lose digits; this does not. */
static double one_less_small(double x) {
        double term = x, sum = 0;

        for (int i = 2; i <= 16; i++) {
                sum += term;
                term *= -x / i;
        }
        return sum;
}

double chance_of(uint64_t n_bytes, uint64_t interval) {
        double x = (double)n_bytes / (double)interval, rest = 1;

        if (x > DRAWS_MAX)
                return 1;
        /* Halve x until the series is good enough, then square exp(-x) as many times. */
        if (x <= 0.5)
                return one_less_small(x);
        for (int i = 0; i < 7; i++) /* 64, halved seven times */
                x /= 2;
        rest = 1 - one_less_small(x);
        for (int i = 0; i < 7; i++)
                rest *= rest;
        return 1 - rest;
}

int chance_take(uint64_t *state, double probability) {
        return uniform(state) <= probability;
}
