/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Numbers: ids that do not reveal how many others there are
 *
 * A peer that is given the ids 7 and 9 knows that somebody else has 8. Ids of what several users have are a counter
 * whose values are put into another order, which nobody knows without the key. Each comes once before any comes again.
 * Embedded in the service.
 */

#include <stdint.h>

typedef struct Numbers {
        uint64_t key[2];
        unsigned bits;
        uint32_t n_given;
} Numbers;

/* `bits` is even, and at most 30. The key is a secret. */
void numbers_init(Numbers *numbers, unsigned bits, const uint64_t key[static 2]);

/* Below 2^bits. */
uint32_t numbers_next(Numbers *numbers);
