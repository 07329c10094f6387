/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Fuzz targets
 *
 * Each fuzz-<name>.c defines LLVMFuzzerTestOneInput() and dies by abort() when a promise is broken.
 * Every build links it with fuzz-replay.c and runs what is in corpus/<name> as a test; a build with
 * -Dfuzz=true, by clang, also makes fuzz-<name>, which searches for more.
 *
 * An input is read by a FuzzInput, which gives zeros when it is used up: so every input means
 * something.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

#define FUZZ_CHECK(_x)                                                                   \
        do {                                                                             \
                if (!(_x)) {                                                             \
                        fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #_x); \
                        abort();                                                         \
                }                                                                        \
        } while (0)

typedef struct FuzzInput {
        const uint8_t *at;
        size_t n_left;
} FuzzInput;

static inline uint8_t fuzz_take(FuzzInput *input) {
        if (input->n_left == 0)
                return 0;
        input->n_left--;
        return *input->at++;
}

static inline uint16_t fuzz_take_16(FuzzInput *input) {
        uint16_t low = fuzz_take(input);

        return (uint16_t)(low | fuzz_take(input) << 8);
}

/* Up to n bytes; returns how many there were. */
static inline size_t fuzz_take_bytes(FuzzInput *input, size_t n, const uint8_t **ret) {
        n = n < input->n_left ? n : input->n_left;
        *ret = input->at;
        input->at += n;
        input->n_left -= n;
        return n;
}
