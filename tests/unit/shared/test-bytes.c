/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "shared/bytes.h"
#include "test.h"

START_TEST(test_append_keeps_what_was_there) {
        Bytes bytes = {};

        for (unsigned i = 0; i < 1000; i++)
                ck_assert_int_eq(bytes_append(&bytes, &i, sizeof(i)), 0);
        ck_assert_uint_eq(bytes.n, 1000 * sizeof(unsigned));
        for (unsigned i = 0; i < 1000; i++)
                ck_assert_int_eq(memcmp(bytes.data + i * sizeof(i), &i, sizeof(i)), 0);
        bytes_deinit(&bytes);
}
END_TEST

START_TEST(test_impossible_size_is_refused_and_harmless) {
        Bytes bytes = {};

        ck_assert_int_eq(bytes_append(&bytes, "x", 1), 0);
        ck_assert_int_eq(bytes_reserve(&bytes, SIZE_MAX), -ENOMEM);
        ck_assert_int_eq(bytes_reserve(&bytes, SIZE_MAX - 1), -ENOMEM);
        ck_assert_uint_eq(bytes.n, 1);
        ck_assert_int_eq(bytes.data[0], 'x');
        bytes_deinit(&bytes);
}
END_TEST

TEST_MAIN("bytes", test_append_keeps_what_was_there, test_impossible_size_is_refused_and_harmless)
