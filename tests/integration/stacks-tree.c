/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program whose call stacks are known: three functions that do 70, 20 and 10 of 100 parts of the work, under two
 * parents
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t result;

/* A part of the work: as much time as the number says. */
static inline __attribute__((always_inline)) uint64_t work(unsigned n) {
        uint64_t x = n | 1;

        for (unsigned i = 0; i < n * 1000; i++) {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
        }
        return x;
}

/* What is done with a value after a call keeps the call from being the last thing, which would be a jump. */
__attribute__((noinline)) uint64_t leaf_70(void);
__attribute__((noinline)) uint64_t leaf_20(void);
__attribute__((noinline)) uint64_t leaf_10(void);
__attribute__((noinline)) uint64_t parent_one(void);
__attribute__((noinline)) uint64_t parent_two(void);

uint64_t leaf_70(void) {
        return work(70) + result;
}

uint64_t leaf_20(void) {
        return work(20) + result;
}

uint64_t leaf_10(void) {
        return work(10) + result;
}

uint64_t parent_one(void) {
        uint64_t x = leaf_70();

        result += x;
        return x + 1;
}

uint64_t parent_two(void) {
        uint64_t x = leaf_20();

        result += x;
        x += leaf_10();
        return x + 2;
}

int main(int argc, char **argv) {
        const time_t seconds = argc > 1 ? atoi(argv[1]) : 1;
        struct timespec used;

        /* By the time that it has worked, so that a busy machine gives as many samples. */
        do {
                result += parent_one();
                result += parent_two();
                clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        } while (used.tv_sec < seconds);
        return 0;
}
