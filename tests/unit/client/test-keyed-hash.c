/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Keys that were chosen to fall into one place do so with GLib's hashes, and not with these. */

#include <stdio.h>
#include <string.h>

#include "client/keyed-hash.h"
#include "test.h"

#define N_KEYS 1000

static size_t n_distinct(const guint *hashes) {
        g_autoptr(GHashTable) set = g_hash_table_new(NULL, NULL);

        for (size_t i = 0; i < N_KEYS; i++)
                g_hash_table_add(set, GUINT_TO_POINTER(hashes[i]));
        return g_hash_table_size(set);
}

/* By chance two of them may fall together. */
static void assert_spread(const guint *hashes) {
        ck_assert_uint_ge(n_distinct(hashes), N_KEYS - 10);
}

START_TEST(test_numbers_that_collide_elsewhere_are_spread) {
        guint ours[N_KEYS], theirs[N_KEYS];

        for (size_t i = 0; i < N_KEYS; i++) {
                /* Newer ones fold the halves. */
                const uint64_t folded = (uint64_t)i << 32 | i, plain = (uint64_t)i << 32;
                const uint64_t key =
                        g_int64_hash(&plain) == g_int64_hash(&(uint64_t){ 0 }) ? plain : folded;

                theirs[i] = g_int64_hash(&key);
                ours[i] = keyed_hash_uint64(&key);
        }
        ck_assert_uint_eq(n_distinct(theirs), 1);
        assert_spread(ours);
}
END_TEST

START_TEST(test_texts_that_collide_elsewhere_are_spread) {
        guint ours[N_KEYS], theirs[N_KEYS];
        char text[32];

        for (size_t i = 0; i < N_KEYS; i++) {
                for (size_t bit = 0; bit < 10; bit++)
                        memcpy(text + 2 * bit, i >> bit & 1 ? "az" : "bY", 3);
                theirs[i] = g_str_hash(text);
                ours[i] = keyed_hash_text(text);
        }
        ck_assert_uint_eq(n_distinct(theirs), 1);
        assert_spread(ours);
}
END_TEST

/* A table of them takes the remainder by a prime. */
START_TEST(test_multiples_are_spread) {
        guint words[N_KEYS], numbers[N_KEYS];

        for (size_t i = 0; i < N_KEYS; i++) {
                const uint32_t key = (uint32_t)i * 1048573;

                words[i] = keyed_hash_uint32(&key) % 1048573;
                numbers[i] = keyed_hash_number(GUINT_TO_POINTER(key)) % 1048573;
        }
        assert_spread(words);
        assert_spread(numbers);
}
END_TEST

START_TEST(test_equal_keys_have_equal_hashes) {
        char a[] = "a longer text than one word", b[] = "a longer text than one word";

        ck_assert_uint_eq(keyed_hash_text(a), keyed_hash_text(b));
        b[sizeof(b) - 2] = 'e';
        ck_assert_uint_ne(keyed_hash_text(a), keyed_hash_text(b));
        ck_assert_uint_ne(keyed_hash_bytes("", 0), keyed_hash_bytes("", 1));
}
END_TEST

TEST_MAIN("keyed-hash",
          test_numbers_that_collide_elsewhere_are_spread,
          test_texts_that_collide_elsewhere_are_spread,
          test_multiples_are_spread,
          test_equal_keys_have_equal_hashes)
