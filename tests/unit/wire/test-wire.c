/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "test.h"
#include "wire/wire-reader.h"
#include "wire/wire-writer.h"

START_TEST(test_what_is_written_is_read) {
        uint8_t memory[512];
        WireWriter writer;
        WireReader reader, nested;
        WireField field;
        size_t begin;

        wire_writer_init(&writer, memory, sizeof(memory));
        wire_put_uint(&writer, 1, 300);
        wire_put_int(&writer, 2, -1);
        begin = wire_begin(&writer, 3);
        wire_put_string(&writer, 1, "abc");
        wire_end(&writer, begin);
        wire_put_fixed64(&writer, 536870911, UINT64_MAX - 1);
        ck_assert(!wire_writer_failed(&writer));

        wire_reader_init(&reader, memory, wire_writer_size(&writer));
        ck_assert_int_eq(wire_read(&reader, &field), 1);
        ck_assert_uint_eq(field.number, 1);
        ck_assert_uint_eq(field.value, 300);
        ck_assert_uint_eq(field.n_raw, 3);
        ck_assert_int_eq(wire_read(&reader, &field), 1);
        ck_assert_int_eq((int64_t)field.value, -1);
        ck_assert_int_eq(wire_read(&reader, &field), 1);
        wire_reader_init_field(&nested, &field);
        ck_assert_int_eq(wire_read(&nested, &field), 1);
        ck_assert_uint_eq(field.n_bytes, 3);
        ck_assert_int_eq(memcmp(field.data, "abc", 3), 0);
        ck_assert_int_eq(wire_read(&nested, &field), 0);
        ck_assert_int_eq(wire_read(&reader, &field), 1);
        ck_assert_uint_eq(field.number, 536870911);
        ck_assert_uint_eq(field.value, UINT64_MAX - 1);
        ck_assert_int_eq(wire_read(&reader, &field), 0);
}
END_TEST

START_TEST(test_long_nested_messages_move_up) {
        static uint8_t memory[70000];
        static const size_t sizes[] = { 0, 127, 128, 16383, 16384, 65000 };
        static uint8_t body[65000];

        memset(body, 0x5a, sizeof(body));
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                WireWriter writer;
                WireReader reader;
                WireField field;
                size_t begin;

                wire_writer_init(&writer, memory, sizeof(memory));
                begin = wire_begin(&writer, 1);
                wire_put_raw(&writer, body, sizes[i]);
                wire_end(&writer, begin);
                wire_put_uint(&writer, 2, 9);
                ck_assert(!wire_writer_failed(&writer));

                wire_reader_init(&reader, memory, wire_writer_size(&writer));
                ck_assert_int_eq(wire_read(&reader, &field), 1);
                ck_assert_uint_eq(field.n_bytes, sizes[i]);
                ck_assert_int_eq(memcmp(field.data, body, sizes[i]), 0);
                ck_assert_int_eq(wire_read(&reader, &field), 1);
                ck_assert_uint_eq(field.value, 9);
        }
}
END_TEST

START_TEST(test_full_writer_fails_for_good_and_stays_inside) {
        uint8_t memory[64];
        WireWriter writer;

        memset(memory, 0xee, sizeof(memory));
        wire_writer_init(&writer, memory, 32);
        wire_put_bytes(&writer, 1, "0123456789012345678901234567890123456789", 40);
        ck_assert(wire_writer_failed(&writer));
        wire_put_uint(&writer, 1, 1);
        ck_assert_uint_eq(wire_writer_size(&writer), 0);
        for (size_t i = 32; i < sizeof(memory); i++)
                ck_assert_int_eq(memory[i], 0xee);
}
END_TEST

START_TEST(test_bad_bytes_are_refused) {
        static const struct {
                const char *bytes;
                size_t n;
        } cases[] = {
                { "\x08", 1 },     /* value missing */
                { "\x00\x01", 2 }, /* field number 0 */
                { "\x0a\x05"
                  "abc",
                  5 },                 /* longer than the rest */
                { "\x0b", 1 },         /* a group */
                { "\x09\x01\x02", 3 }, /* fixed64 cut off */
                { "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12 }, /* 11-byte varint */
                { "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 },     /* length 2^64 - 1 */
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                WireReader reader;
                WireField field;

                wire_reader_init(&reader, cases[i].bytes, cases[i].n);
                ck_assert_msg(wire_read(&reader, &field) == -EBADMSG, "case %zu", i);
        }
}
END_TEST

/* Bytes that look like messages: tags of low numbers, and more continued varints than chance would give. */
static void fill_like_a_message(uint8_t *bytes, size_t n, uint32_t *seed) {
        for (size_t i = 0; i < n; i++) {
                *seed = *seed * 1664525 + 1013904223;
                bytes[i] = (uint8_t)(*seed >> 24);
                if ((*seed >> 16 & 7) < 3)
                        bytes[i] |= 0x80;
                if ((*seed >> 19 & 7) == 0)
                        bytes[i] &= 0x1a;
        }
}

/* All of `bytes`, by both readers, which say the same of each field and stop at the same place. */
static void read_by_both(const uint8_t *bytes, size_t n) {
        WireReader slow, fast;
        WireField x, y;
        int r;

        wire_reader_init(&slow, bytes, n);
        fast = slow;
        do {
                r = wire_read(&slow, &x);
                ck_assert_int_eq(wire_read_fast(&fast, &y), r);
                if (r <= 0)
                        break;
                ck_assert_ptr_eq(fast.at, slow.at);
                ck_assert_uint_eq(y.number, x.number);
                ck_assert_uint_eq(y.type, x.type);
                if (x.type == WIRE_BYTES) {
                        ck_assert_ptr_eq(y.data, x.data);
                        ck_assert_uint_eq(y.n_bytes, x.n_bytes);
                } else {
                        ck_assert_uint_eq(y.value, x.value);
                }
        } while (r > 0);
}

START_TEST(test_both_readers_say_the_same) {
        uint32_t seed = 4711;

        for (unsigned i = 0; i < 50000; i++) {
                uint8_t whole[24];
                size_t n = i % (sizeof(whole) + 1);

                fill_like_a_message(whole, n, &seed);
                read_by_both(whole, n);
        }
        /* The longest varint, one that is too long, and each of both at the end of a message. */
        read_by_both((const uint8_t *)"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11);
        read_by_both((const uint8_t *)"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x08\x01", 13);
        read_by_both((const uint8_t *)"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x08", 13);
}
END_TEST

TEST_MAIN("wire",
          test_what_is_written_is_read,
          test_long_nested_messages_move_up,
          test_full_writer_fails_for_good_and_stays_inside,
          test_bad_bytes_are_refused,
          test_both_readers_say_the_same)
