/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Names as compilers write them, and some that are made to do harm. */

#include <stdlib.h>
#include <string.h>

#include "symbols/demangle-rust.h"
#include "symbols/demangle.h"
#include "test.h"

static void check(const char *name, const char *wanted) {
        char *text = symbol_demangle(name);

        if (wanted)
                ck_assert_pstr_eq(text, wanted);
        else
                ck_assert_msg(!text, "%s became %s", name, text);
        free(text);
}

START_TEST(test_names_of_c_stay) {
        check("main", NULL);
        check("_start", NULL);
        check("", NULL);
        check("_Z", NULL);
        check("_R", NULL);
}
END_TEST

START_TEST(test_names_of_cpp_are_readable) {
        char *text = symbol_demangle("_ZNKSt6vectorIiSaIiEE4sizeEv");

        if (text) /* the machine may have no C++ */
                ck_assert_str_eq(text, "std::vector<int, std::allocator<int> >::size() const");
        free(text);
}
END_TEST

START_TEST(test_old_names_of_rust_lose_their_hash) {
        char *text = symbol_demangle("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE");

        if (text)
                ck_assert_str_eq(text, "core::fmt::Formatter::pad");
        free(text);
        text = symbol_demangle("_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Write$GT$"
                               "9write_str17h1234567890abcdefE");
        if (text)
                ck_assert_str_eq(text, "<alloc::string::String as core::fmt::Write>::write_str");
        free(text);
}
END_TEST

/* The first ones are those of RFC 2603. */
START_TEST(test_names_of_rust_are_readable) {
        check("_RNvCs1234_7mycrate3foo", "mycrate::foo");
        check("_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
              "<std::path::PathBuf>::new");
        check("_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>");
        check("_RNCNvC4main0s0_0", "main::{closure#2}");
        check("_RNCNvC4main0s_0", "main::{closure#1}");
        check("_RNvXCs1_3fooNtB2_3BarNtNtCs2_4core3fmt5Debug3fmt",
              "<foo::Bar as core::fmt::Debug>::fmt");
        check("_RINvC3foo3barRShE", "foo::bar::<&[u8]>");
        check("_RINvC3foo3barTuhEE", "foo::bar::<((), u8)>");
        check("_RINvC3foo3barFUKCjEuE", "foo::bar::<unsafe extern \"C\" fn(usize)>");
        check("_RINvC3foo3barAhj8_E", "foo::bar::<[u8; 0x8]>");
}
END_TEST

/* Each part stands for the one before it twice. */
START_TEST(test_name_that_multiplies_itself_ends) {
        char name[1024] = "_RINvC1a1b";

        for (unsigned i = 0; i < 60; i++)
                strcat(name, "TB8_B8_");
        check(name, NULL);
        check("_RNvB_1a", NULL); /* itself */
        check("_RNvB0_1a", NULL);
}
END_TEST

START_TEST(test_name_that_is_too_deep_or_too_long_stays) {
        static char name[DEMANGLE_BYTES_MAX + 16];

        memset(name, 'S', sizeof(name) - 1);
        memcpy(name, "_RINvC1a1b", 10);
        check(name, NULL); /* too long */
        name[8000] = '\0';
        check(name, NULL); /* too deep */
        memset(name, 'P', sizeof(name) - 1);
        memcpy(name, "_Z1f", 4);
        check(name, NULL);
}
END_TEST

START_TEST(test_cut_names_are_refused) {
        static const char whole[] = "_RNvXCs1_3fooNtB2_3BarNtNtCs2_4core3fmt5Debug3fmt";
        char name[sizeof(whole)];

        for (size_t n = 2; n < sizeof(whole) - 1; n++) {
                memcpy(name, whole, n);
                name[n] = '\0';
                check(name, NULL);
        }
}
END_TEST

TEST_MAIN("symbols-demangle",
          test_names_of_c_stay,
          test_names_of_cpp_are_readable,
          test_old_names_of_rust_lose_their_hash,
          test_names_of_rust_are_readable,
          test_name_that_multiplies_itself_ends,
          test_name_that_is_too_deep_or_too_long_stays,
          test_cut_names_are_refused)
