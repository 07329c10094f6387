/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Id set: a set of the kernel's events, by their ids
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ID_SET_WORDS (65536 / 64) /* ids are 16 bits */

typedef struct IdSet {
        uint64_t words[ID_SET_WORDS];
} IdSet;

static inline bool id_set_has(const IdSet *set, uint16_t id) {
        return set->words[id / 64] >> (id % 64) & 1;
}

static inline void id_set_add(IdSet *set, uint16_t id) {
        set->words[id / 64] |= (uint64_t)1 << (id % 64);
}

static inline void id_set_remove(IdSet *set, uint16_t id) {
        set->words[id / 64] &= ~((uint64_t)1 << (id % 64));
}

static inline bool id_set_equal(const IdSet *a, const IdSet *b) {
        return memcmp(a, b, sizeof(*a)) == 0;
}
