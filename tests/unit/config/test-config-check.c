/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config/config-check.h"
#include "every-type.pb-c.h"
#include "shared/bytes.h"
#include "test.h"

static int check(const void *bytes, size_t n_bytes, ConfigError *error) {
        memset(error, 0, sizeof(*error));
        return config_check_bytes(&test__every_type__descriptor, bytes, n_bytes, error);
}

/* Sizes include the literal's NUL. */
#define BYTES(x) x, sizeof(x)

static const struct {
        const char *bytes;
        size_t n_with_nul;
        const char *message;
} refusals[] = {
        { BYTES("\x08"), "Not a serialized test.EveryType: broken framing" },
        { BYTES("\x00\x01"), "Not a serialized test.EveryType: broken framing" },
        { BYTES("\x03"), "Not a serialized test.EveryType: broken framing" },
        { BYTES("\x3d\x01\x02\x03"), "Not a serialized test.EveryType: broken framing" },
        { BYTES("\x41\x01\x02\x03\x04\x05\x06\x07"),
          "Not a serialized test.EveryType: broken framing" },
        { BYTES("\x72\x05"
                "abcd"),
          "Not a serialized test.EveryType: broken framing" },
        { BYTES("\x72\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
          "Not a serialized test.EveryType: broken framing" },
        { BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
          "Not a serialized test.EveryType: broken framing" },
        { BYTES("\xff\xff\xff\xff\xff\x01\x01"),
          "Not a serialized test.EveryType: broken framing" },
        { BYTES("\x88\x80\x80\x80\x80\x00\x01"),
          "Not a serialized test.EveryType: broken framing" },
        { BYTES("\x72\x81\x80\x80\x80\x80\x00"
                "a"),
          "Not a serialized test.EveryType: broken framing" },
        { BYTES("\x8a\x01\x01\x08"), "Not a serialized test.EveryType: broken framing" },
        { BYTES("\x0d\x01\x02\x03\x04"), "EveryType.a_int32 has a value of the wrong type" },
        { BYTES("\x0a\x01\x01"), "EveryType.a_int32 has a value of the wrong type" },
        { BYTES("\x70\x01"), "EveryType.a_string has a value of the wrong type" },
        { BYTES("\x88\x01\x01"), "EveryType.child has a value of the wrong type" },
        { BYTES("\x92\x01\x01\x80"), "EveryType.ints has a value of the wrong type" },
        { BYTES("\xc2\x01\x07"
                "1234567"),
          "EveryType.doubles has a value of the wrong type" },
        { BYTES("\x72\x01\xff"), "EveryType.a_string is not text (UTF-8 without NUL)" },
        { BYTES("\x72\x01\x00"), "EveryType.a_string is not text (UTF-8 without NUL)" },
        { BYTES("\x72\x02\xc0\x80"), "EveryType.a_string is not text (UTF-8 without NUL)" },
        { BYTES("\x72\x03\xed\xa0\x80"), "EveryType.a_string is not text (UTF-8 without NUL)" },
        { BYTES("\x72\x03\xe0\x80\x80"), "EveryType.a_string is not text (UTF-8 without NUL)" },
        { BYTES("\x72\x04\xf0\x80\x80\x80"), "EveryType.a_string is not text (UTF-8 without NUL)" },
        { BYTES("\x72\x04\xf4\x90\x80\x80"), "EveryType.a_string is not text (UTF-8 without NUL)" },
        { BYTES("\x72\x01\xc3"), "EveryType.a_string is not text (UTF-8 without NUL)" },
        { BYTES("\x72\x03\xe2\x82"
                "a"),
          "EveryType.a_string is not text (UTF-8 without NUL)" },
        { BYTES("\xa2\x01\x03\x72\x01\x80"), "EveryType.a_string is not text (UTF-8 without NUL)" },
        { BYTES("\x8a\x01\x00\x8a\x01\x00"), "EveryType.child is given more than once" },
};

START_TEST(test_bad_bytes_are_refused_by_name) {
        for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
                ConfigError error;
                int r = check(refusals[i].bytes, refusals[i].n_with_nul - 1, &error);

                ck_assert_msg(r == CONFIG_E_INVALID, "case %zu: not refused", i);
                ck_assert_str_eq(error.message, refusals[i].message);
                ck_assert_uint_eq(error.line, 0);
        }
}
END_TEST

START_TEST(test_what_protobuf_allows_is_allowed) {
        static const struct {
                const char *bytes;
                size_t n_with_nul;
        } cases[] = {
                { BYTES("") },
                { BYTES("\x08\x01\x08\x02") }, /* a number twice: the last one counts */
                { BYTES("\x88\x00\x01") },     /* a tag longer than need be */
                { BYTES("\x92\x01\x02\x01\x02\x90\x01\x03") }, /* packed and not packed */
                { BYTES("\xa2\x01\x00\xa2\x01\x00") },         /* a repeated message */
                { BYTES("\x72\x09\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80") },
                { BYTES("\x9a\x06\x02\x03\xff") }, /* anything in an unknown field */
                { BYTES("\xa8\x01\x63") },         /* an unknown value of an enum */
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                Test__EveryType *message;
                ConfigError error;
                int r = check(cases[i].bytes, cases[i].n_with_nul - 1, &error);

                ck_assert_msg(r == 0, "case %zu: %s", i, error.message);
                message = test__every_type__unpack(
                        NULL, cases[i].n_with_nul - 1, (const uint8_t *)cases[i].bytes);
                ck_assert_ptr_nonnull(message);
                test__every_type__free_unpacked(message, NULL);
        }
}
END_TEST

/* `depth` messages inside each other. */
static void nest(Bytes *ret, unsigned depth) {
        bytes_clear(ret);
        for (unsigned i = 0; i < depth; i++) {
                unsigned n = (unsigned)ret->n;
                uint8_t head[4] = { 0x8a, 0x01, (uint8_t)(n | 0x80), (uint8_t)(n >> 7) };

                ck_assert_int_eq(bytes_reserve(ret, sizeof(head)), 0);
                memmove(ret->data + sizeof(head), ret->data, ret->n);
                memcpy(ret->data, head, sizeof(head));
                ret->n += sizeof(head);
        }
}

START_TEST(test_nesting_is_limited) {
        _cleanup_(bytes_deinit) Bytes bytes = {};
        ConfigError error;

        nest(&bytes, CONFIG_DEPTH_MAX);
        ck_assert_int_eq(check(bytes.data, bytes.n, &error), 0);
        nest(&bytes, CONFIG_DEPTH_MAX + 1);
        ck_assert_int_eq(check(bytes.data, bytes.n, &error), CONFIG_E_INVALID);
        ck_assert_str_eq(error.message, "Messages are nested deeper than 32 in EveryType.child");
}
END_TEST

START_TEST(test_number_of_fields_is_limited) {
        static uint8_t bytes[2 * (CONFIG_FIELDS_MAX + 1)];
        ConfigError error;

        for (size_t i = 0; i < sizeof(bytes); i += 2)
                bytes[i] = 0x08;
        ck_assert_int_eq(check(bytes, sizeof(bytes) - 2, &error), 0);
        ck_assert_int_eq(check(bytes, sizeof(bytes), &error), CONFIG_E_INVALID);
        ck_assert_str_eq(error.message,
                         "The config has more than 65536 fields (CONFIG_FIELDS_MAX)");
}
END_TEST

TEST_MAIN("config-check",
          test_bad_bytes_are_refused_by_name,
          test_what_protobuf_allows_is_allowed,
          test_nesting_is_limited,
          test_number_of_fields_is_limited)
