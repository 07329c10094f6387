/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program whose work is in functions that are inlined into one another: it works as many times as its argument says.
 * The lines with a comment behind them are those that a test looks for.
 */

#include <stdint.h>
#include <stdlib.h>

static volatile uint64_t sink, n_rounds = 1000;

#define INLINED static inline __attribute__((always_inline))

INLINED void inner(uint64_t n) {
        for (uint64_t i = 0; i < n; i++)
                sink = sink * 3 + i;
}

INLINED void middle(uint64_t n) {
        inner(n); /* in middle */
}

__attribute__((noinline)) static void outer(uint64_t n) {
        middle(n); /* in outer */
        sink++;
}

int main(int argc, char **argv) {
        long n = argc > 1 ? strtol(argv[1], NULL, 10) : 1;

        for (long i = 0; i < n; i++)
                outer(n_rounds);
        return 0;
}
