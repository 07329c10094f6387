/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config/text-format.h"
#include "every-type.pb-c.h"
#include "test.h"

static char *print(const Bytes *bytes) {
        Test__EveryType *message = test__every_type__unpack(NULL, bytes->n, bytes->data);
        char *text;

        ck_assert_ptr_nonnull(message);
        ck_assert_int_eq(text_format_print(&text, &message->base), 0);
        test__every_type__free_unpacked(message, NULL);
        return text;
}

static void parse(Bytes *out, const char *text) {
        ConfigError error;
        int r = text_format_parse(out, &test__every_type__descriptor, text, &error);

        ck_assert_msg(r == 0, "%s: %u:%u: %s", text, error.line, error.column, error.message);
}

/* In the order and with the spelling of the printer. */
static const char every_field[] = "a_int32: -2147483648\n"
                                  "a_int64: -9223372036854775808\n"
                                  "a_uint32: 4294967295\n"
                                  "a_uint64: 18446744073709551615\n"
                                  "a_sint32: -7\n"
                                  "a_sint64: -8\n"
                                  "a_fixed32: 9\n"
                                  "a_fixed64: 10\n"
                                  "a_sfixed32: -11\n"
                                  "a_sfixed64: -12\n"
                                  "a_float: 0.1\n"
                                  "a_double: 0.10000000000000001\n"
                                  "a_bool: true\n"
                                  "a_string: \"gr\xc3\xbc\xc3\x9f \\\"x\\\" \\\\ \\n\\t\\001\"\n"
                                  "a_bytes: \"\\000\\377a\"\n"
                                  "a_color: COLOR_COLD\n"
                                  "child {\n"
                                  "  a_bool: false\n"
                                  "  child {\n"
                                  "  }\n"
                                  "}\n"
                                  "ints: 1\n"
                                  "ints: -2\n"
                                  "strings: \"\"\n"
                                  "strings: \"b\"\n"
                                  "children {\n"
                                  "  a_int32: 0\n"
                                  "}\n"
                                  "children {\n"
                                  "}\n"
                                  "colors: COLOR_RED\n"
                                  "colors: COLOR_COLD\n"
                                  "bools: true\n"
                                  "bools: false\n"
                                  "blobs: \"\"\n"
                                  "blobs: \"\\200\"\n"
                                  "doubles: inf\n"
                                  "doubles: -inf\n"
                                  "doubles: nan\n"
                                  "doubles: -0\n"
                                  "doubles: 1e+300\n"
                                  "99: 300\n"
                                  "99: 0x00000007\n"
                                  "99: 0x0000000000000007\n"
                                  "99: \"\\010\\007\\377\"\n"
                                  "99: \"\"\n";

START_TEST(test_what_is_printed_is_read_back) {
        _cleanup_(bytes_deinit) Bytes bytes = {}, again = {};
        _cleanup_(freep) char *text = NULL;
        char *expected = strdup(every_field), *exact;

        parse(&bytes, every_field);
        text = print(&bytes);

        /* a double needs no more digits than it takes to read it back */
        exact = strstr(expected, "0.10000000000000001");
        memmove(exact + 3, exact + 19, strlen(exact + 19) + 1);
        ck_assert_str_eq(text, expected);
        free(expected);

        parse(&again, text);
        ck_assert_uint_eq(again.n, bytes.n);
        ck_assert_int_eq(memcmp(again.data, bytes.data, bytes.n), 0);
}
END_TEST

START_TEST(test_nothing_is_printed_as_nothing) {
        Bytes bytes = { .data = (uint8_t *)"", .n = 0 };
        _cleanup_(freep) char *text = print(&bytes);

        ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(test_unknown_enum_value_is_printed_by_number) {
        Bytes bytes = { .data = (uint8_t *)"\x80\x01\x63", .n = 3 };
        _cleanup_(freep) char *text = print(&bytes);

        ck_assert_str_eq(text, "a_color: 99\n");
}
END_TEST

START_TEST(test_packed_and_plain_arrays_print_alike) {
        Bytes packed = { .data = (uint8_t *)"\x92\x01\x02\x01\x02", .n = 5 };
        Bytes plain = { .data = (uint8_t *)"\x90\x01\x01\x90\x01\x02", .n = 6 };
        _cleanup_(freep) char *a = print(&packed), *b = print(&plain);

        ck_assert_str_eq(a, "ints: 1\nints: 2\n");
        ck_assert_str_eq(a, b);
}
END_TEST

TEST_MAIN("text-printer",
          test_what_is_printed_is_read_back,
          test_nothing_is_printed_as_nothing,
          test_unknown_enum_value_is_printed_by_number,
          test_packed_and_plain_arrays_print_alike)
