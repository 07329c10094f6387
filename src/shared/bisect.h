/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bisect: a place in an array whose items are sorted by a 64-bit number
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* How many items have a number that is at most `number`; it lies `offset` bytes behind the beginning of each. */
static inline size_t bisect_numbers(const void *items,
                                    size_t n_items,
                                    size_t item_bytes,
                                    size_t offset,
                                    uint64_t number) {
        size_t low = 0, high = n_items;

        while (low < high) {
                const size_t middle = low + (high - low) / 2;
                uint64_t there;

                memcpy(&there, (const char *)items + middle * item_bytes + offset, sizeof(there));
                if (there <= number)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* The same for a member of type uint64_t. */
#define bisect(items, n_items, member, number) \
        bisect_numbers(                        \
                items, n_items, sizeof(*(items)), offsetof(__typeof__(*(items)), member), number)
