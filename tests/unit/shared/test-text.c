/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "shared/text.h"
#include "test.h"

START_TEST(test_sizes_are_powers_of_1024) {
        static const struct {
                const char *text;
                uint64_t bytes;
        } cases[] = {
                { "0", 0 },
                { "4096", 4096 },
                { "64M", 64u << 20 },
                { "64MiB", 64u << 20 },
                { "512k", 512 << 10 },
                { "1.5K", 1536 },
                { "1G", 1u << 30 },
                { "1M512K", 1536 << 10 },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                uint64_t bytes;

                ck_assert_msg(text_parse_size(&bytes, cases[i].text) == 0, "%s", cases[i].text);
                ck_assert_uint_eq(bytes, cases[i].bytes);
        }
}
END_TEST

START_TEST(test_durations_add_up) {
        static const struct {
                const char *text;
                uint64_t ns;
        } cases[] = {
                { "5", 5000000000 },   { "5s", 5000000000 },       { "1500ms", 1500000000 },
                { "0.5s", 500000000 }, { "1h30m", 5400000000000 }, { "250us", 250000 },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                uint64_t ns;

                ck_assert_msg(text_parse_duration(&ns, cases[i].text) == 0, "%s", cases[i].text);
                ck_assert_uint_eq(ns, cases[i].ns);
        }
}
END_TEST

START_TEST(test_nonsense_is_refused) {
        static const char *const texts[] = { "",    "-1",  "5x",   "s5",
                                             "inf", "nan", "0x10", "1 s",
                                             "5s ", ".",   "1e99", "99999999999999999999d" };
        uint64_t value = 7;

        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
                ck_assert_msg(text_parse_duration(&value, texts[i]) < 0, "%s", texts[i]);
                ck_assert_msg(text_parse_size(&value, texts[i]) < 0, "%s", texts[i]);
        }
        ck_assert_int_eq(text_parse_uint(&value, "18446744073709551616", UINT64_MAX), -ERANGE);
        ck_assert_int_eq(text_parse_uint(&value, "300", 255), -ERANGE);
        ck_assert_int_eq(text_parse_uint(&value, "+3", 255), -EINVAL);
        ck_assert_uint_eq(value, 7);
}
END_TEST

START_TEST(test_digits_in_front_are_read) {
        static const struct {
                const char *text;
                unsigned base;
                uint64_t value;
                size_t n_read;
        } cases[] = {
                { "12 34", 10, 12, 2 },
                { "7fffA0-8", 16, 0x7fffa0, 6 },
                { "ff", 10, 0, 0 },
                { "", 16, 0, 0 },
                { " 1", 10, 0, 0 },
                { "18446744073709551615", 10, UINT64_MAX, 20 },
                { "18446744073709551616:", 10, UINT64_MAX, 20 },
                { "99999999999999999999999", 10, UINT64_MAX, 23 },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                const char *end;

                ck_assert_uint_eq(text_read_uint(cases[i].text, cases[i].base, &end),
                                  cases[i].value);
                ck_assert_uint_eq((size_t)(end - cases[i].text), cases[i].n_read);
        }
        ck_assert_uint_eq(text_read_uint("5x", 10, NULL), 5);
}
END_TEST

START_TEST(test_nearest_name_is_found_only_when_near) {
        static const char *const known[] = { "linux.ftrace", "linux.sys_stats", "track_event" };

        ck_assert_str_eq(text_nearest("linux.ftrac", known, 3), "linux.ftrace");
        ck_assert_str_eq(text_nearest("track_events", known, 3), "track_event");
        ck_assert_str_eq(text_nearest("Linux.Sys-Stats", known, 3), "linux.sys_stats");
        ck_assert_ptr_null(text_nearest("banana", known, 3));
        ck_assert_str_eq(text_nearest("tme", (const char *[]){ "time" }, 1), "time");
        ck_assert_str_eq(text_nearest("mian", (const char *[]){ "main" }, 1), "main");
        ck_assert_ptr_null(text_nearest("nope", (const char *[]){ "top", "gnome" }, 2));
}
END_TEST

TEST_MAIN("text",
          test_sizes_are_powers_of_1024,
          test_durations_add_up,
          test_nonsense_is_refused,
          test_digits_in_front_are_read,
          test_nearest_name_is_found_only_when_near)
