/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "desktrace/proto.h"
#include "test.h"
#include "wire/wire-reader.h"
#include "wire/wire-writer.h"

/* Everything that there is, by the public header and by our own writer. */
START_TEST(test_fields_are_as_the_wire_format_has_them) {
        uint8_t memory[1024], expected[1024], inner[300];
        size_t begin, nested;
        WireWriter wire;
        dt_proto proto;

        memset(inner, 7, sizeof(inner));
        dt_proto_init(&proto, memory, sizeof(memory));
        wire_writer_init(&wire, expected, sizeof(expected));
        dt_proto_uint(&proto, 1, UINT64_MAX);
        wire_put_uint(&wire, 1, UINT64_MAX);
        dt_proto_int(&proto, 1000, -3);
        wire_put_int(&wire, 1000, -3);
        dt_proto_sint(&proto, 3, -3);
        wire_put_uint(&wire, 3, 5);
        dt_proto_sint(&proto, 3, INT64_MAX);
        wire_put_uint(&wire, 3, UINT64_MAX - 1);
        dt_proto_bool(&proto, 4, true);
        wire_put_bool(&wire, 4, true);
        dt_proto_fixed64(&proto, 5, 0x0123456789abcdef);
        wire_put_fixed64(&wire, 5, 0x0123456789abcdef);
        dt_proto_double(&proto, 6, 0.5);
        wire_put_double(&wire, 6, 0.5);
        dt_proto_string(&proto, 7, "text");
        wire_put_string(&wire, 7, "text");
        begin = dt_proto_begin(&proto, DT_PROTO_FIELD_MAX);
        nested = dt_proto_begin(&proto, 1);
        dt_proto_bytes(&proto, 2, inner, sizeof(inner));
        dt_proto_end(&proto, nested);
        dt_proto_varint(&proto, 300);
        dt_proto_end(&proto, begin);
        begin = wire_begin(&wire, DT_PROTO_FIELD_MAX);
        nested = wire_begin(&wire, 1);
        wire_put_bytes(&wire, 2, inner, sizeof(inner));
        wire_end(&wire, nested);
        wire_put_varint(&wire, 300);
        wire_end(&wire, begin);
        dt_proto_end(&proto, dt_proto_begin(&proto, 8));
        wire_put_bytes(&wire, 8, NULL, 0);
        dt_proto_raw(&proto, "\x08\x01", 2);
        wire_put_raw(&wire, "\x08\x01", 2);

        ck_assert(!dt_proto_failed(&proto));
        ck_assert_uint_eq(dt_proto_size(&proto), wire_writer_size(&wire));
        ck_assert_mem_eq(memory, expected, wire_writer_size(&wire));
}
END_TEST

START_TEST(test_fields_of_four_bytes_are_little_endian) {
        const uint8_t expected[] = { 0x0d, 4, 3, 2, 1, 0x15, 0, 0, 0, 0x3f };
        uint8_t memory[16];
        dt_proto proto;

        dt_proto_init(&proto, memory, sizeof(memory));
        dt_proto_fixed32(&proto, 1, 0x01020304);
        dt_proto_float(&proto, 2, 0.5f);
        ck_assert_uint_eq(dt_proto_size(&proto), sizeof(expected));
        ck_assert_mem_eq(memory, expected, sizeof(expected));
}
END_TEST

/* Every size of memory, down to none: it fails, or what is there is whole. */
START_TEST(test_what_does_not_fit_fails_and_writes_nothing_behind_the_end) {
        for (size_t n = 0; n < 200; n++) {
                uint8_t *memory = malloc(n ?: 1);
                dt_proto proto;
                size_t begin;

                dt_proto_init(&proto, n ? memory : NULL, n);
                begin = dt_proto_begin(&proto, 3);
                for (unsigned i = 0; i < 10; i++)
                        dt_proto_fixed64(&proto, 1, i);
                dt_proto_string(&proto, 2, "fifty bytes of text, or a few more, to make it long");
                dt_proto_end(&proto, begin);
                ck_assert_int_eq(dt_proto_failed(&proto), n < 146);
                ck_assert_uint_le(dt_proto_size(&proto), n);
                free(memory);
        }
}
END_TEST

START_TEST(test_fields_that_cannot_be_fail) {
        const uint32_t numbers[] = { 0, DT_PROTO_FIELD_MAX + 1, UINT32_MAX };

        for (unsigned i = 0; i < 3; i++) {
                uint8_t memory[64];
                dt_proto proto;

                dt_proto_init(&proto, memory, sizeof(memory));
                dt_proto_uint(&proto, numbers[i], 1);
                ck_assert(dt_proto_failed(&proto));
                dt_proto_uint(&proto, 1, 1);
                ck_assert_uint_eq(dt_proto_size(&proto), 0);
        }
}
END_TEST

TEST_MAIN("lib-proto",
          test_fields_are_as_the_wire_format_has_them,
          test_fields_of_four_bytes_are_little_endian,
          test_what_does_not_fit_fails_and_writes_nothing_behind_the_end,
          test_fields_that_cannot_be_fail)
