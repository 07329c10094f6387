/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <locale.h>
#include <stdio.h>

#include "config/config-check.h"
#include "config/text-format.h"
#include "every-type.pb-c.h"
#include "test.h"

static int parse(Bytes *out, const char *text, ConfigError *error) {
        memset(error, 0, sizeof(*error));
        return text_format_parse(out, &test__every_type__descriptor, text, error);
}

static void assert_bytes(const char *text, const char *expected, size_t n_expected) {
        _cleanup_(bytes_deinit) Bytes bytes = {};
        ConfigError error;
        int r = parse(&bytes, text, &error);

        ck_assert_msg(r == 0, "%s: %u:%u: %s", text, error.line, error.column, error.message);
        ck_assert_msg(bytes.n == n_expected, "%s: %zu bytes", text, bytes.n);
        if (n_expected > 0)
                ck_assert_msg(!memcmp(bytes.data, expected, n_expected), "%s", text);
}

/* Sizes include the literal's NUL. */
#define BYTES(x) x, sizeof(x)

typedef struct TextCase {
        const char *text;
        const char *bytes;
        size_t n_with_nul;
} TextCase;

static void assert_cases(const TextCase *cases, size_t n_cases) {
        for (size_t i = 0; i < n_cases; i++)
                assert_bytes(cases[i].text, cases[i].bytes, cases[i].n_with_nul - 1);
}

START_TEST(test_every_number_is_serialized_as_its_type) {
        static const TextCase cases[] = {
                { "a_int32: 1", BYTES("\x08\x01") },
                { "a_int32: -1", BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
                { "a_int32: - 1", BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
                { "a_int32: -2147483648", BYTES("\x08\x80\x80\x80\x80\xf8\xff\xff\xff\xff\x01") },
                { "a_int64: -9223372036854775808",
                  BYTES("\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01") },
                { "a_uint32: 0x12C", BYTES("\x18\xac\x02") },
                { "a_uint32: 0454", BYTES("\x18\xac\x02") },
                { "a_uint32: 4294967295", BYTES("\x18\xff\xff\xff\xff\x0f") },
                { "a_uint64: 18446744073709551615",
                  BYTES("\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
                { "a_sint32: -2", BYTES("\x28\x03") },
                { "a_sint32: -2147483648", BYTES("\x28\xff\xff\xff\xff\x0f") },
                { "a_sint64: 2", BYTES("\x30\x04") },
                { "a_fixed32: 1", BYTES("\x3d\x01\x00\x00\x00") },
                { "a_fixed64: 1", BYTES("\x41\x01\x00\x00\x00\x00\x00\x00\x00") },
                { "a_sfixed32: -1", BYTES("\x4d\xff\xff\xff\xff") },
                { "a_sfixed64: -1", BYTES("\x51\xff\xff\xff\xff\xff\xff\xff\xff") },
                { "a_float: 1.5", BYTES("\x5d\x00\x00\xc0\x3f") },
                { "a_float: 15e-1f", BYTES("\x5d\x00\x00\xc0\x3f") },
                { "a_float: -inf", BYTES("\x5d\x00\x00\x80\xff") },
                { "a_double: 3", BYTES("\x61\x00\x00\x00\x00\x00\x00\x08\x40") },
                { "a_double: .5", BYTES("\x61\x00\x00\x00\x00\x00\x00\xe0\x3f") },
                { "a_double: 1.E1", BYTES("\x61\x00\x00\x00\x00\x00\x00\x24\x40") },
                { "a_double: inf", BYTES("\x61\x00\x00\x00\x00\x00\x00\xf0\x7f") },
                { "a_bool: true", BYTES("\x68\x01") },
                { "a_bool: False", BYTES("\x68\x00") },
                { "a_bool: t", BYTES("\x68\x01") },
                { "a_bool: 0", BYTES("\x68\x00") },
                { "a_color: COLOR_GREEN", BYTES("\x80\x01\x02") },
                { "a_color: 2", BYTES("\x80\x01\x02") },
                { "a_color: COLOR_COLD",
                  BYTES("\x80\x01\xfb\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
                { "a_color: -5", BYTES("\x80\x01\xfb\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
        };

        assert_cases(cases, ARRAY_SIZE(cases));
}
END_TEST

START_TEST(test_strings_have_all_escapes_and_join) {
        static const TextCase cases[] = {
                { "a_string: ''", BYTES("\x72\x00") },
                { "a_string: \"it's\"", BYTES("\x72\x04it's") },
                { "a_string: 'a' \"b\"\n  'c' # d\n 'e'",
                  BYTES("\x72\x04"
                        "abce") },
                { "a_string: 'gr\xc3\xbc\xc3\x9f'", BYTES("\x72\x06gr\xc3\xbc\xc3\x9f") },
                { "a_bytes: '\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"\\?'",
                  BYTES("\x7a\x0b\a\b\f\n\r\t\v\\'\"?") },
                { "a_bytes: '\\0\\12\\3771'",
                  BYTES("\x7a\x04\x00\n\xff"
                        "1") },
                { "a_bytes: '\\xff\\X1g'", BYTES("\x7a\x03\xff\x01g") },
                { "a_string: '\\u00fc\\u20ac\\U0001f600'",
                  BYTES("\x72\x09\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80") },
        };

        assert_cases(cases, ARRAY_SIZE(cases));
}
END_TEST

START_TEST(test_messages_and_lists_have_all_their_forms) {
        static const TextCase cases[] = {
                { "", BYTES("") },
                { " # nothing\n\t\r\n", BYTES("") },
                { "child {}", BYTES("\x8a\x01\x00") },
                { "child: { a_int32: 1 }", BYTES("\x8a\x01\x02\x08\x01") },
                { "child < a_int32: 1 >", BYTES("\x8a\x01\x02\x08\x01") },
                { "child:<child{}>", BYTES("\x8a\x01\x03\x8a\x01\x00") },
                { "ints: 1 ints: 2", BYTES("\x90\x01\x01\x90\x01\x02") },
                { "ints: [1, 2], ints: 3;", BYTES("\x90\x01\x01\x90\x01\x02\x90\x01\x03") },
                { "ints: []", BYTES("") },
                { "strings: ['a' 'b', 'c']",
                  BYTES("\x9a\x01\x02"
                        "ab\x9a\x01\x01"
                        "c") },
                { "children [{}, <a_int32: 1>]", BYTES("\xa2\x01\x00\xa2\x01\x02\x08\x01") },
                { "colors: [COLOR_RED, 2]", BYTES("\xa8\x01\x01\xa8\x01\x02") },
                { "a_int32: 1; a_bool: 1", BYTES("\x08\x01\x68\x01") },
                { "a_int32: 1, a_bool: 1,", BYTES("\x08\x01\x68\x01") },
        };

        assert_cases(cases, ARRAY_SIZE(cases));
}
END_TEST

START_TEST(test_long_messages_get_long_lengths) {
        _cleanup_(bytes_deinit) Bytes bytes = {};
        static char text[400];
        ConfigError error;

        snprintf(text, sizeof(text), "child { child { a_string: '%0200d' } }", 0);
        ck_assert_int_eq(parse(&bytes, text, &error), 0);
        ck_assert_uint_eq(bytes.n, 4 + 4 + 3 + 200);
        ck_assert_int_eq(memcmp(bytes.data,
                                "\x8a\x01\xcf\x01\x8a\x01\xcb\x01\x72\xc8\x01"
                                "000",
                                14),
                         0);
}
END_TEST

START_TEST(test_fields_can_be_given_by_number) {
        static const TextCase cases[] = {
                { "99: 300", BYTES("\x98\x06\xac\x02") },
                { "99: 0x7", BYTES("\x98\x06\x07") },
                { "99: 0x00000007", BYTES("\x9d\x06\x07\x00\x00\x00") },
                { "99: 0x0000000000000007", BYTES("\x99\x06\x07\x00\x00\x00\x00\x00\x00\x00") },
                { "99: '\\377' 'a'",
                  BYTES("\x9a\x06\x02\xff"
                        "a") },
                { "99 { 1: 7 }", BYTES("\x9a\x06\x02\x08\x07") },
                { "99: < 1 { 2: 3 } >", BYTES("\x9a\x06\x04\x0a\x02\x10\x03") },
                { "536870911: 1", BYTES("\xf8\xff\xff\xff\x0f\x01") },
        };

        assert_cases(cases, ARRAY_SIZE(cases));
}
END_TEST

static const struct {
        const char *text;
        unsigned line, column;
        const char *message; /* how it begins */
} errors[] = {
        { "a_int23: 1", 1, 1, "EveryType has no field 'a_int23'; did you mean a_int32?" },
        { "a_int32: 1\n\ta_bol: 1", 2, 2, "EveryType has no field 'a_bol'; did you mean a_bool?" },
        { "child {\n  strngs: 'a'\n}",
          2,
          3,
          "EveryType has no field 'strngs'; did you mean strings" },
        { "zzzzzzzzzz: 1",
          1,
          1,
          "EveryType has no field 'zzzzzzzzzz' here; give fields that only Perfetto" },
        { "a_color: COLOR_REED",
          1,
          10,
          "a_color has no value 'COLOR_REED'; did you mean COLOR_RED?" },
        { "a_color: PURPLEPURPLE", 1, 10, "a_color has no value 'PURPLEPURPLE'" },
        { "a_color: 7", 1, 10, "a_color has no value 7" },
        { "a_color: -7", 1, 10, "a_color has no value -7" },
        { "a_color: 'x'", 1, 10, "Expected the name of a value for the field a_color, found 'x'" },
        { "a_color: 4294967296", 1, 10, "a_color is enum: it must be between -2147483648 and" },
        { "colors: [COLOR_RED, BLAU]", 1, 21, "colors has no value 'BLAU'" },
        { "a_int32: 2147483648",
          1,
          10,
          "a_int32 is int32: it must be between -2147483648 and 2147483647" },
        { "a_int32: -2147483649", 1, 10, "a_int32 is int32: it must be between" },
        { "a_uint32: -1", 1, 11, "a_uint32 is uint32: it must be between 0 and 4294967295" },
        { "a_uint32: 4294967296", 1, 11, "a_uint32 is uint32" },
        { "a_uint64: -1", 1, 11, "a_uint64 is uint64" },
        { "a_int64: 9223372036854775808", 1, 10, "a_int64 is int64" },
        { "a_uint64: 18446744073709551616", 1, 11, "18446744073709551616 does not fit in 64 bits" },
        { "a_uint64: 0x10000000000000000", 1, 11, "0x10000000000000000 does not fit in 64 bits" },
        { "a_int32: 1.5", 1, 10, "Expected a whole number for the field a_int32, found '1.5'" },
        { "a_int32: 'a'", 1, 10, "Expected a whole number for the field a_int32, found 'a'" },
        { "a_int32: true", 1, 10, "Expected a whole number for the field a_int32, found 'true'" },
        { "a_int32: -",
          1,
          11,
          "Expected a whole number for the field a_int32, found the end of the text" },
        { "a_int32:",
          1,
          9,
          "Expected a whole number for the field a_int32, found the end of the text" },
        { "a_int32 1", 1, 9, "Expected ':', found '1'" },
        { "a_int32 { }", 1, 9, "Expected ':', found '{'" },
        { "a_int32: {}", 1, 10, "Expected a whole number for the field a_int32, found '{'" },
        { "a_int32: 1x", 1, 10, "'1x' is not a number" },
        { "a_int32: 0x", 1, 10, "'0x' is not a number" },
        { "a_int32: 089", 1, 10, "'089' is not a number" },
        { "a_double: 1e", 1, 11, "'1e' is not a number" },
        { "a_double: 1.2.3", 1, 11, "'1.2.3' is not a number" },
        { "a_double: x", 1, 11, "Expected a number for the field a_double, found 'x'" },
        { "a_bool: yes", 1, 9, "Expected true or false for the field a_bool, found 'yes'" },
        { "a_bool: 2", 1, 9, "Expected true or false for the field a_bool, found '2'" },
        { "a_string: abc", 1, 11, "Expected a quoted string for the field a_string, found 'abc'" },
        { "a_string: 'abc", 1, 11, "This string has no closing ' on its line" },
        { "a_string: \"abc\n\"", 1, 11, "This string has no closing \" on its line" },
        { "a_string: 'a\\", 1, 11, "This string has no closing ' on its line" },
        { "a_string: 'ab\\q'", 1, 14, "Unknown escape" },
        { "a_string: '\xc3\xbc\\q'", 1, 13, "Unknown escape" },
        { "a_string: '\\x'", 1, 12, "\\x needs hexadecimal digits" },
        { "a_string: '\\400'", 1, 12, "This octal escape is larger than a byte" },
        { "a_string: '\\u12'", 1, 12, "\\u needs four hexadecimal digits" },
        { "a_string: '\\U0001234'", 1, 12, "\\U needs eight hexadecimal digits" },
        { "a_string: '\\ud800'", 1, 12, "This escape is not a Unicode character" },
        { "a_string: '\\U00110000'", 1, 12, "This escape is not a Unicode character" },
        { "a_string: '\\xff'", 1, 11, "a_string is not text" },
        { "a_string: 'a' '\\0'", 1, 11, "a_string is not text" },
        { "a_int32: 1\na_int32: 2", 2, 1, "a_int32 is given twice, but EveryType has only one" },
        { "child {} child {}", 1, 10, "child is given twice" },
        { "a_int32: [1]", 1, 10, "a_int32 is not repeated, so it cannot be a list" },
        { "child [{}]", 1, 7, "child is not repeated, so it cannot be a list" },
        { "ints: [1 2]", 1, 10, "Expected ',' or ']', found '2'" },
        { "ints: [1,]", 1, 10, "Expected a whole number for the field ints, found ']'" },
        { "ints: [1", 1, 9, "Expected ',' or ']', found the end of the text" },
        { "ints: [[1]]", 1, 8, "Expected a whole number for the field ints, found '['" },
        { "child: 1", 1, 8, "Expected '{', found '1'" },
        { "child", 1, 6, "Expected '{', found the end of the text" },
        { "child {\n  a_int32: 1\n",
          3,
          1,
          "The text ends, but the '{' of line 1, column 7 is not closed" },
        { "child { >", 1, 9, "Expected the name of a field, found '>'" },
        { "child < }", 1, 9, "Expected the name of a field, found '}'" },
        { "}", 1, 1, "Expected the name of a field, found '}'" },
        { "a_int32: 1,, a_bool: 1", 1, 12, "Expected the name of a field, found ','" },
        { "'a': 1", 1, 1, "Expected the name of a field, found 'a'" },
        { "[foo.bar] {}", 1, 1, "Extensions and Any are not supported" },
        { "a_int32: 1 $", 1, 12, "Unexpected character '$'" },
        { "a_int32: 1 \xc3\xbc", 1, 12, "Unexpected byte 0xc3" },
        { "a_int32: 1 \x01", 1, 12, "Unexpected byte 0x01" },
        { "1: 5", 1, 1, "Field 1 of EveryType is known: write a_int32" },
        { "0: 5", 1, 1, "A field number is between 1 and 536870911" },
        { "536870912: 5", 1, 1, "A field number is between 1 and 536870911" },
        { "99999999999999999999: 5", 1, 1, "99999999999999999999 does not fit in 64 bits" },
        { "99: true", 1, 5, "Expected a number, a quoted string or '{', found 'true'" },
        { "99 5", 1, 4, "Expected ':', found '5'" },
        { "99 { a_int32: 1 }", 1, 6, "Expected a field number, because this is inside a field" },
};

START_TEST(test_every_error_says_where_and_what) {
        for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
                _cleanup_(bytes_deinit) Bytes bytes = {};
                ConfigError error;
                int r = parse(&bytes, errors[i].text, &error);

                ck_assert_msg(r == CONFIG_E_INVALID, "%s: not refused", errors[i].text);
                ck_assert_msg(error.line == errors[i].line && error.column == errors[i].column,
                              "%s: at %u:%u: %s",
                              errors[i].text,
                              error.line,
                              error.column,
                              error.message);
                ck_assert_msg(!strncmp(error.message, errors[i].message, strlen(errors[i].message)),
                              "%s: %s",
                              errors[i].text,
                              error.message);
        }
}
END_TEST

START_TEST(test_nesting_is_limited) {
        _cleanup_(bytes_deinit) Bytes text = {}, bytes = {};
        ConfigError error;

        for (int i = 0; i < CONFIG_DEPTH_MAX; i++)
                ck_assert_int_eq(bytes_append(&text, "child{", 6), 0);
        for (int i = 0; i < CONFIG_DEPTH_MAX; i++)
                ck_assert_int_eq(bytes_append(&text, "}", 1), 0);
        ck_assert_int_eq(bytes_append(&text, "", 1), 0);
        ck_assert_int_eq(parse(&bytes, (char *)text.data, &error), 0);

        bytes_clear(&text);
        for (int i = 0; i < CONFIG_DEPTH_MAX; i++)
                ck_assert_int_eq(bytes_append(&text, "child{", 6), 0);
        ck_assert_int_eq(bytes_append(&text, "99 {", 5), 0);
        ck_assert_int_eq(parse(&bytes, (char *)text.data, &error), CONFIG_E_INVALID);
        ck_assert_str_eq(error.message, "Messages are nested deeper than 32");
        ck_assert_uint_eq(error.column, CONFIG_DEPTH_MAX * 6 + 4);
}
END_TEST

START_TEST(test_long_bad_words_are_cut_to_whole_characters) {
        static const uint8_t umlaut[] = { 0xc3, 0xbc };
        _cleanup_(bytes_deinit) Bytes text = {}, bytes = {};
        ConfigError error;

        ck_assert_int_eq(bytes_append(&text, "a_int32: '", 10), 0);
        for (int i = 0; i < 100; i++)
                ck_assert_int_eq(bytes_append(&text, umlaut, 2), 0);
        ck_assert_int_eq(bytes_append(&text, "'", 2), 0);
        ck_assert_int_eq(parse(&bytes, (char *)text.data, &error), CONFIG_E_INVALID);
        ck_assert_ptr_nonnull(strstr(error.message, "found '\xc3\xbc"));
        ck_assert_int_eq(error.message[strlen(error.message) - 1], '?');
}
END_TEST

START_TEST(test_decimal_point_does_not_follow_the_locale) {
        char number[16];

        if (setlocale(LC_ALL, "de_DE.UTF-8")) {
                snprintf(number, sizeof(number), "%.1f", 1.5);
                ck_assert_str_eq(number, "1,5");
        }
        assert_bytes("a_float: 1.5", "\x5d\x00\x00\xc0\x3f", 5);
        setlocale(LC_ALL, "C");
}
END_TEST

TEST_MAIN("text-format",
          test_every_number_is_serialized_as_its_type,
          test_strings_have_all_escapes_and_join,
          test_messages_and_lists_have_all_their_forms,
          test_long_messages_get_long_lengths,
          test_fields_can_be_given_by_number,
          test_every_error_says_where_and_what,
          test_nesting_is_limited,
          test_long_bad_words_are_cut_to_whole_characters,
          test_decimal_point_does_not_follow_the_locale)
