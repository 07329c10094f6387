/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Hash: FNV-1a of 64 bits, for tables and for noticing a change
 *
 * It does not protect against somebody who wants two values to have the same hash.
 */

#include <stddef.h>
#include <stdint.h>

#define HASH_BASIS UINT64_C(0xcbf29ce484222325) /* the hash of no bytes */
#define HASH_PRIME UINT64_C(0x100000001b3)

/* FNV-1a takes a byte at a time. Larger values may be used where no other program has to compute the same number. */
static inline uint64_t hash_add(uint64_t hash, uint64_t value) {
        return (hash ^ value) * HASH_PRIME;
}

static inline uint64_t hash_add_bytes(uint64_t hash, const void *data, size_t n_bytes) {
        const uint8_t *bytes = (const uint8_t *)data;

        for (size_t i = 0; i < n_bytes; i++)
                hash = hash_add(hash, bytes[i]);
        return hash;
}

static inline uint64_t hash_add_text(uint64_t hash, const char *text) {
        for (; *text; text++)
                hash = hash_add(hash, (uint8_t)*text);
        return hash;
}
