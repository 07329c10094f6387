/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdbool.h>
#include <stdlib.h>

#include "core/model/numbers.h"
#include "test.h"

static const uint64_t key[2] = { UINT64_C(0x0123456789abcdef), UINT64_C(0xfedcba9876543210) };
static const uint64_t other_key[2] = { UINT64_C(0x0123456789abcdee), UINT64_C(0xfedcba9876543210) };

START_TEST(test_each_number_comes_once) {
        for (unsigned bits = 2; bits <= 16; bits += 2) {
                const uint32_t n = UINT32_C(1) << bits;
                bool *is_given = calloc(n, sizeof(*is_given));
                Numbers numbers;

                numbers_init(&numbers, bits, key);
                for (uint32_t i = 0; i < n; i++) {
                        uint32_t number = numbers_next(&numbers);

                        ck_assert_uint_lt(number, n);
                        ck_assert(!is_given[number]);
                        is_given[number] = true;
                }
                free(is_given);
        }
}
END_TEST

/* Computed elsewhere, with an implementation of SipHash-2-4 that has its published test vector. */
START_TEST(test_numbers_are_those_of_the_hash) {
        static const uint32_t wanted[] = { 608167, 212989, 834864, 986286, 727978, 684671 };
        Numbers numbers;

        numbers_init(&numbers, 20, key);
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
                ck_assert_uint_eq(numbers_next(&numbers), wanted[i]);
}
END_TEST

/* How far the next number is from the last one says nothing: it is as far as chance has it. */
START_TEST(test_numbers_do_not_count) {
        Numbers numbers;
        uint32_t before;
        unsigned n_near = 0;

        numbers_init(&numbers, 20, key);
        before = numbers_next(&numbers);
        for (unsigned i = 0; i < 1000; i++) {
                uint32_t number = numbers_next(&numbers);

                n_near += number - before < 1 << 10 || before - number < 1 << 10;
                before = number;
        }
        ck_assert_uint_lt(n_near, 20); /* of which 2 are to be expected */
}
END_TEST

START_TEST(test_each_key_has_an_order) {
        Numbers numbers, others;
        unsigned n_equal = 0;

        numbers_init(&numbers, 20, key);
        numbers_init(&others, 20, other_key);
        for (unsigned i = 0; i < 1000; i++)
                n_equal += numbers_next(&numbers) == numbers_next(&others);
        ck_assert_uint_lt(n_equal, 5);
}
END_TEST

TEST_MAIN("numbers",
          test_numbers_are_those_of_the_hash,
          test_each_number_comes_once,
          test_numbers_do_not_count,
          test_each_key_has_an_order)
