/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "shared/dbus-frame.h"
#include "test.h"
#include "world.h"

#define ROOM 1024

START_TEST(test_length_is_that_of_header_and_body) {
        uint8_t message[ROOM];
        size_t n = make_message(message, 100, 0, ":1.2");
        Frame frame;

        ck_assert_int_eq(frame_read(&frame, message), 0);
        ck_assert_uint_eq(frame.n_bytes, n);
        ck_assert_uint_eq(frame.n_header_bytes, n - 100);
}
END_TEST

START_TEST(test_length_does_not_overflow) {
        uint8_t message[FRAME_HEAD_BYTES];
        Frame frame;

        memset(message, 0xff, sizeof(message));
        ck_assert_int_eq(frame_read(&frame, message), -EBADMSG);
        message[0] = 'l';
        ck_assert_int_eq(frame_read(&frame, message), 0);
        ck_assert_uint_gt(frame.n_bytes, UINT64_C(1) << 32);
        message[0] = 'B';
        ck_assert_int_eq(frame_read(&frame, message), 0);
        ck_assert_uint_gt(frame.n_bytes, UINT64_C(1) << 32);
}
END_TEST

START_TEST(test_fields_are_found) {
        uint8_t message[ROOM];
        size_t n = make_message(message, 8, 3, ":1.42");
        FrameFields fields;

        ck_assert_int_eq(frame_read_fields(&fields, message, n), 0);
        ck_assert_uint_eq(fields.n_fds, 3);
        ck_assert_str_eq(fields.sender, ":1.42");
        n = make_message(message, 8, 0, NULL);
        ck_assert_int_eq(frame_read_fields(&fields, message, n), 0);
        ck_assert_uint_eq(fields.n_fds, 0);
        ck_assert_str_eq(fields.sender, "");
}
END_TEST

START_TEST(test_header_says_all_of_a_call) {
        /* Ping of org.a.B at /p, serial 7, from :1.2 to x.y, with a body of one text. */
        static const uint8_t fields[] = "\1\1o\0\2\0\0\0/p\0\0\0\0\0\0"
                                        "\2\1s\0\7\0\0\0org.a.B\0"
                                        "\3\1s\0\4\0\0\0Ping\0\0\0\0"
                                        "\6\1s\0\3\0\0\0x.y\0\0\0\0\0"
                                        "\7\1s\0\4\0\0\0:1.2\0\0\0\0";
        static const uint8_t body[] = "\2\0\0\0hi";
        uint8_t message[ROOM] = { 'l', 1, 1, 1, sizeof(body), 0, 0, 0, 7, 0, 0, 0 };
        const char *text;
        FrameFields header;
        size_t n = 16;

        memcpy(message + n, fields, sizeof(fields) - 1);
        message[12] = sizeof(fields) - 1 - 3; /* without what comes before the body */
        n = ALIGN_UP(n + sizeof(fields) - 1, 8);
        memcpy(message + n, body, sizeof(body));
        n += sizeof(body);
        ck_assert_int_eq(frame_read_fields(&header, message, n), 0);
        ck_assert_uint_eq(header.type, FRAME_METHOD_CALL);
        ck_assert_uint_eq(header.flags, FRAME_NO_REPLY_EXPECTED);
        ck_assert_uint_eq(header.serial, 7);
        ck_assert_str_eq(header.path, "/p");
        ck_assert_str_eq(header.interface, "org.a.B");
        ck_assert_str_eq(header.member, "Ping");
        ck_assert_str_eq(header.destination, "x.y");
        ck_assert_str_eq(header.sender, ":1.2");
        ck_assert_str_eq(header.error, "");
        ck_assert_int_eq(frame_read_texts(&text, 1, message, n), 0);
        ck_assert_str_eq(text, "hi");
        ck_assert_int_eq(frame_read_texts(&text, 1, message, n - 1), -EBADMSG);
        message[n - 1] = 'x'; /* the NUL */
        ck_assert_int_eq(frame_read_texts(&text, 1, message, n), -EBADMSG);
}
END_TEST

START_TEST(test_header_that_is_not_there_is_not_read) {
        uint8_t message[ROOM];
        const size_t n_header = make_message(message, 0, 3, ":1.42");
        FrameFields fields;

        for (size_t n = 0; n < n_header; n++) {
                uint8_t *part = malloc(n); /* of its own, for the sanitizer */

                memcpy(part, message, n);
                ck_assert_int_eq(frame_read_fields(&fields, part, n), -EBADMSG);
                free(part);
        }
}
END_TEST

/* Puts a field with this signature and value in front of the number of descriptors. */
static int read_behind(const char *signature, const void *value, size_t n_value, FrameFields *ret) {
        uint8_t message[ROOM] = { 'l', 1, 0, 1 };
        const size_t n_signature = strlen(signature);
        const uint8_t n_fds[] = { 9, 1, 'u', 0, 5, 0, 0, 0 };
        uint32_t n_fields;
        size_t n = 16;

        message[n++] = 200;
        message[n++] = (uint8_t)n_signature;
        memcpy(message + n, signature, n_signature);
        n += n_signature + 1;
        memcpy(message + n, value, n_value);
        n = ALIGN_UP(n + n_value, 8);
        memcpy(message + n, n_fds, sizeof(n_fds));
        n += sizeof(n_fds);
        n_fields = (uint32_t)(n - 16);
        memcpy(message + 12, &n_fields, sizeof(n_fields));
        return frame_read_fields(ret, message, ALIGN_UP(n, 8));
}

START_TEST(test_unknown_fields_are_skipped) {
        FrameFields fields;

        ck_assert_int_eq(read_behind("y", "\1", 1, &fields), 0);
        ck_assert_uint_eq(fields.n_fds, 5);
        ck_assert_int_eq(read_behind("g", "\2ss\0", 4, &fields), 0);
        ck_assert_uint_eq(fields.n_fds, 5);
        /* Behind code and signature "ay" the next multiple of 4 is at 24: the length comes after 3 bytes. */
        ck_assert_int_eq(read_behind("ay", "\0\0\0\3\0\0\0abc", 10, &fields), 0);
        ck_assert_uint_eq(fields.n_fds, 5);
        ck_assert_int_eq(read_behind("v", "\1y\0\7", 4, &fields), 0);
        ck_assert_uint_eq(fields.n_fds, 5);
        ck_assert_int_eq(read_behind("(yy)", "\0\1\2", 3, &fields), 0);
        ck_assert_uint_eq(fields.n_fds, 5);
}
END_TEST

START_TEST(test_nonsense_is_refused) {
        uint8_t variants[200];
        FrameFields fields;

        ck_assert_int_eq(read_behind("", "", 0, &fields), -EBADMSG);
        ck_assert_int_eq(read_behind("Z", "", 0, &fields), -EBADMSG);
        ck_assert_int_eq(read_behind("(y", "\0\1", 2, &fields), -EBADMSG);
        ck_assert_int_eq(read_behind("a", "", 0, &fields), -EBADMSG);
        ck_assert_int_eq(read_behind("ay", "\0\0\0\xff\xff\xff\xff", 7, &fields), -EBADMSG);
        ck_assert_int_eq(read_behind("s", "\xff\xff\xff\xff", 4, &fields), -EBADMSG);
        /* Variants in variants, deeper than any message may be. */
        for (size_t i = 0; i < sizeof(variants); i++)
                variants[i] = "\1v"[i % 3] * (i % 3 < 2);
        ck_assert_int_eq(read_behind("v", variants, sizeof(variants), &fields), -EBADMSG);
}
END_TEST

TEST_MAIN("gate-frame",
          test_length_is_that_of_header_and_body,
          test_length_does_not_overflow,
          test_fields_are_found,
          test_header_says_all_of_a_call,
          test_header_that_is_not_there_is_not_read,
          test_unknown_fields_are_skipped,
          test_nonsense_is_refused)
