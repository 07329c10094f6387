/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "lib/intern.h"
#include "test.h"

START_TEST(test_equal_texts_have_equal_numbers) {
        char copy[] = "one", prefix[] = "on";
        Intern intern = { 0 };
        uint32_t one, two, again;

        ck_assert_int_eq(intern_number(&intern, "one", 3, &one), INTERN_E_NEW);
        ck_assert_uint_eq(one, 1);
        ck_assert_int_eq(intern_number(&intern, prefix, 2, &two), INTERN_E_NEW);
        ck_assert_uint_eq(two, 2);
        ck_assert_int_eq(intern_number(&intern, copy, 3, &again), 0);
        ck_assert_uint_eq(again, one);
        copy[0] = 'O';
        ck_assert_int_eq(intern_number(&intern, copy, 3, &again), INTERN_E_NEW);
        ck_assert_int_eq(intern_number(&intern, "", 0, &again), INTERN_E_NEW);
        ck_assert_int_eq(intern_number(&intern, "", 0, &again), 0);
        intern_deinit(&intern);
        intern_deinit(&intern);
}
END_TEST

START_TEST(test_cleared_tables_count_from_the_start) {
        Intern intern = { 0 };
        uint32_t number;

        intern_clear(&intern);
        ck_assert_int_eq(intern_number(&intern, "one", 3, &number), INTERN_E_NEW);
        ck_assert_int_eq(intern_number(&intern, "two", 3, &number), INTERN_E_NEW);
        intern_clear(&intern);
        ck_assert_int_eq(intern_number(&intern, "two", 3, &number), INTERN_E_NEW);
        ck_assert_uint_eq(number, 1);
        intern_deinit(&intern);
}
END_TEST

START_TEST(test_a_full_table_keeps_what_it_has) {
        Intern intern = { 0 };
        uint32_t number;
        char text[32];

        for (unsigned i = 0; i < 2 * INTERN_ENTRIES_MAX; i++) {
                int n = snprintf(text, sizeof(text), "text %u", i);

                ck_assert_int_eq(intern_number(&intern, text, (size_t)n, &number),
                                 i < INTERN_ENTRIES_MAX ? INTERN_E_NEW : INTERN_E_FULL);
        }
        for (unsigned i = 0; i < INTERN_ENTRIES_MAX; i++) {
                int n = snprintf(text, sizeof(text), "text %u", i);

                ck_assert_int_eq(intern_number(&intern, text, (size_t)n, &number), 0);
                ck_assert_uint_eq(number, i + 1);
        }
        intern_deinit(&intern);
}
END_TEST

START_TEST(test_long_texts_stop_at_the_limit_of_bytes) {
        static char text[4096];
        Intern intern = { 0 };
        uint32_t number;
        unsigned n = 0;

        while (text[0] = (char)n,
               intern_number(&intern, text, sizeof(text), &number) != INTERN_E_FULL)
                n++;
        ck_assert_uint_eq(n, INTERN_BYTES_MAX / (sizeof(text) + 1));
        ck_assert_int_eq(intern_number(&intern, "x", 1, &number), INTERN_E_NEW); /* still fits */
        text[0] = 0;
        ck_assert_int_eq(intern_number(&intern, text, sizeof(text), &number), 0);
        intern_deinit(&intern);
}
END_TEST

START_TEST(test_a_text_that_changes_in_its_place_is_noticed) {
        char text[16] = "one";
        Intern intern = { 0 };
        uint32_t number;

        ck_assert_int_eq(intern_text(&intern, text, 8, &number), INTERN_E_NEW);
        ck_assert_int_eq(intern_text(&intern, text, 8, &number), 0);
        ck_assert_uint_eq(number, 1);
        strcpy(text, "on");
        ck_assert_int_eq(intern_text(&intern, text, 8, &number), INTERN_E_NEW);
        strcpy(text, "one more");
        ck_assert_int_eq(intern_text(&intern, text, 8, &number), INTERN_E_NEW);
        strcpy(text, "one moreover"); /* the same up to the limit */
        ck_assert_int_eq(intern_text(&intern, text, 8, &number), 0);
        ck_assert_uint_eq(number, 3);
        strcpy(text, "one");
        ck_assert_int_eq(intern_text(&intern, text, 8, &number), 0);
        ck_assert_uint_eq(number, 1);
        intern_clear(&intern);
        ck_assert_int_eq(intern_text(&intern, text, 8, &number), INTERN_E_NEW);
        intern_deinit(&intern);
}
END_TEST

TEST_MAIN("intern",
          test_equal_texts_have_equal_numbers,
          test_cleared_tables_count_from_the_start,
          test_a_full_table_keeps_what_it_has,
          test_long_texts_stop_at_the_limit_of_bytes,
          test_a_text_that_changes_in_its_place_is_noticed)
