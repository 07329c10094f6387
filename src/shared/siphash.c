/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* SipHash: hashes of untrusted keys */

#include <endian.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "shared/siphash.h"

typedef struct HashState {
        uint64_t v0, v1, v2, v3;
} HashState;

static uint64_t hash_key[2];

/* If the kernel has no random numbers yet, values that others can hardly know take their place. */
static void hash_key_draw(void) {
        struct timespec now;

        if (getrandom(hash_key, sizeof(hash_key), GRND_NONBLOCK) == sizeof(hash_key))
                return;
        clock_gettime(CLOCK_MONOTONIC, &now);
        hash_key[0] = (uint64_t)now.tv_nsec << 32 | (uint64_t)getpid();
        hash_key[1] = (uintptr_t)&now;
}

uint64_t siphash_secret(unsigned i) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;

        pthread_once(&once, hash_key_draw);
        return hash_key[i & 1];
}

static uint64_t rotate(uint64_t value, unsigned n_bits) {
        return value << n_bits | value >> (64 - n_bits);
}

static void hash_round(HashState *state) {
        state->v0 += state->v1;
        state->v1 = rotate(state->v1, 13) ^ state->v0;
        state->v0 = rotate(state->v0, 32);
        state->v2 += state->v3;
        state->v3 = rotate(state->v3, 16) ^ state->v2;
        state->v0 += state->v3;
        state->v3 = rotate(state->v3, 21) ^ state->v0;
        state->v2 += state->v1;
        state->v1 = rotate(state->v1, 17) ^ state->v2;
        state->v2 = rotate(state->v2, 32);
}

static void hash_word(HashState *state, uint64_t word) {
        state->v3 ^= word;
        hash_round(state);
        state->v0 ^= word;
}

/* Whole words have their bytes in the machine's order, as nothing keeps or compares these hashes elsewhere. In
 * the last word the order matters: the length must not overlap a byte. */
uint64_t siphash_keyed(const void *data, size_t n) {
        const uint64_t key[] = { siphash_secret(0), siphash_secret(1) };
        const uint8_t *at = data;
        HashState state = {
                .v0 = key[0] ^ UINT64_C(0x736f6d6570736575),
                .v1 = key[1] ^ UINT64_C(0x646f72616e646f6d),
                .v2 = key[0] ^ UINT64_C(0x6c7967656e657261),
                .v3 = key[1] ^ UINT64_C(0x7465646279746573),
        };
        uint64_t word;
        size_t i;

        for (i = 0; i + sizeof(word) <= n; i += sizeof(word)) {
                memcpy(&word, at + i, sizeof(word));
                hash_word(&state, word);
        }
        word = 0;
        if (n > i)
                memcpy(&word, at + i, n - i);
        hash_word(&state, le64toh(word) ^ (uint64_t)n << 56);
        state.v2 ^= 0xff;
        for (i = 0; i < 3; i++)
                hash_round(&state);
        return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}
