/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The order is that of a Feistel network, which is a permutation whatever its round function is; ours is SipHash-2-4
 * (Aumasson and Bernstein, "SipHash: a fast short-input PRF") of the round and one half.
 */

#include <assert.h>

#include "core/model/numbers.h"

#define ROUNDS 8

static uint64_t rotate(uint64_t word, unsigned n) {
        return word << n | word >> (64 - n);
}

static void sip_round(uint64_t v[static 4]) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
}

static void sip_word(uint64_t v[static 4], uint64_t word) {
        v[3] ^= word;
        sip_round(v);
        sip_round(v);
        v[0] ^= word;
}

/* Hashes a message of eight bytes. */
static uint64_t sip_hash(const uint64_t key[static 2], uint64_t message) {
        uint64_t v[4] = {
                key[0] ^ UINT64_C(0x736f6d6570736575),
                key[1] ^ UINT64_C(0x646f72616e646f6d),
                key[0] ^ UINT64_C(0x6c7967656e657261),
                key[1] ^ UINT64_C(0x7465646279746573),
        };

        sip_word(v, message);
        sip_word(v, UINT64_C(8) << 56);
        v[2] ^= 0xff;
        for (unsigned i = 0; i < 4; i++)
                sip_round(v);
        return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void numbers_init(Numbers *numbers, unsigned bits, const uint64_t key[static 2]) {
        assert(bits % 2 == 0 && bits <= 30);
        *numbers = (Numbers){ .key = { key[0], key[1] }, .bits = bits };
}

uint32_t numbers_next(Numbers *numbers) {
        const unsigned half = numbers->bits / 2;
        const uint32_t mask = (UINT32_C(1) << half) - 1;
        const uint32_t n = numbers->n_given++;
        uint32_t left = n >> half & mask, right = n & mask;

        for (uint64_t round = 0; round < ROUNDS; round++) {
                uint32_t mixed =
                        left ^ ((uint32_t)sip_hash(numbers->key, round << 32 | right) & mask);

                left = right;
                right = mixed;
        }
        return left << half | right;
}
