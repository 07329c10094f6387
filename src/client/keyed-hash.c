/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "client/keyed-hash.h"

typedef struct HashState {
        uint64_t v0, v1, v2, v3;
} HashState;

static const uint64_t *hash_key(void) {
        static uint64_t key[2];
        static gsize is_drawn;

        if (g_once_init_enter(&is_drawn)) {
                if (getrandom(key, sizeof(key), GRND_NONBLOCK) != sizeof(key))
                        key[0] = ((uint64_t)g_random_int() << 32) | g_random_int();
                g_once_init_leave(&is_drawn, 1);
        }
        return key;
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
        hash_round(state);
        state->v0 ^= word;
}

/* The bytes of each word in the machine's order: nothing keeps or compares these hashes elsewhere. */
guint keyed_hash_bytes(const void *data, size_t n) {
        const uint64_t *key = hash_key();
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
        memcpy(&word, at + i, n - i);
        hash_word(&state, word ^ (uint64_t)n << 56);
        state.v2 ^= 0xff;
        for (i = 0; i < 4; i++)
                hash_round(&state);
        word = state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
        return (guint)(word ^ word >> 32);
}

guint keyed_hash_uint32(gconstpointer key) {
        return keyed_hash_bytes(key, sizeof(uint32_t));
}

guint keyed_hash_uint64(gconstpointer key) {
        return keyed_hash_bytes(key, sizeof(uint64_t));
}

guint keyed_hash_number(gconstpointer key) {
        const guint number = GPOINTER_TO_UINT(key);

        return keyed_hash_bytes(&number, sizeof(number));
}

guint keyed_hash_text(gconstpointer key) {
        return keyed_hash_bytes(key, strlen(key));
}
