/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/fd.h"
#include "shared/log-text.h"
#include "shared/log-user.h"
#include "test.h"

static void assert_escaped(const char *text, const char *escaped) {
        char result[256];

        ck_assert_uint_eq(log_escape(result, sizeof(result), text), strlen(escaped));
        ck_assert_str_eq(result, escaped);
}

START_TEST(test_what_a_peer_says_stays_in_its_line) {
        assert_escaped("plain text", "plain text");
        assert_escaped("t\n<0>FORGED", "t\\x0a<0>FORGED");
        assert_escaped("<0>FORGED", "\\x3c0>FORGED");
        assert_escaped("a < b <c>", "a < b <c>");
        assert_escaped("\x1b[31mred\x7f\r\t", "\\x1b[31mred\\x7f\\x0d\\x09");
        assert_escaped("", "");
}
END_TEST

START_TEST(test_only_printable_characters_are_left_as_they_are) {
        assert_escaped("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
        assert_escaped("\xc2\x9b"
                       "31m",
                       "\\xc2\\x9b31m"); /* U+009B is CSI */
        assert_escaped("\xff\xc3", "\\xff\\xc3");
        assert_escaped("\xe2\x80\xae", "\\xe2\\x80\\xae"); /* right-to-left override */
}
END_TEST

START_TEST(test_a_line_is_cut_off_between_characters) {
        char result[8];

        ck_assert_uint_eq(log_escape(result, sizeof(result), "12345\n"), 5);
        ck_assert_str_eq(result, "12345");
        ck_assert_uint_eq(log_escape(result, sizeof(result), "123456\xc3\xbc"), 6);
        ck_assert_uint_eq(log_escape(result, sizeof(result), "1234567890"), 7);
}
END_TEST

static int real_stderr = -1, captured = -1;

static void capture_begin(void) {
        captured = memfd_create("log", MFD_CLOEXEC);
        real_stderr = dup(STDERR_FILENO);
        ck_assert_int_ge(dup2(captured, STDERR_FILENO), 0);
}

static char *capture_end(void) {
        static char text[1 << 16];
        ssize_t n;

        ck_assert_int_ge(dup2(real_stderr, STDERR_FILENO), 0);
        real_stderr = fd_close(real_stderr);
        n = pread(captured, text, sizeof(text) - 1, 0);
        ck_assert_int_ge(n, 0);
        text[n] = 0;
        captured = fd_close(captured);
        return text;
}

static size_t count(const char *text, const char *part) {
        size_t n = 0;

        for (; (text = strstr(text, part)); text += strlen(part))
                n++;
        return n;
}

START_TEST(test_a_line_of_the_log_is_one_line) {
        const char *log;

        capture_begin();
        log_notice("trigger \"%s\"", "t\n<0>FORGED");
        log = capture_end();
        ck_assert_uint_eq(count(log, "\n"), 1);
        ck_assert_ptr_nonnull(strstr(log, "trigger \"t\\x0a<0>FORGED\""));
}
END_TEST

START_TEST(test_one_user_cannot_fill_the_log) {
        const char *log;

        log_users_tick(UINT64_MAX);
        capture_begin();
        for (unsigned i = 0; i < 10 * LOG_USER_LINES_MAX; i++)
                log_user(1000, LOG_NOTICE, "noise");
        log_user(1001, LOG_NOTICE, "of another user");
        ck_assert_uint_lt(log_users_deadline(), UINT64_MAX);
        log_users_tick(UINT64_MAX);
        ck_assert_uint_eq(log_users_deadline(), UINT64_MAX);
        log_user(1000, LOG_NOTICE, "afterwards");
        log = capture_end();
        ck_assert_uint_eq(count(log, "noise"), LOG_USER_LINES_MAX);
        ck_assert_uint_eq(count(log, "more messages of user 1000 are suppressed"), 1);
        ck_assert_uint_eq(count(log, "of another user"), 1);
        ck_assert_uint_eq(count(log, ": 288 messages of user 1000 suppressed"), 1);
        ck_assert_uint_eq(count(log, "afterwards"), 1);
}
END_TEST

static uid_t same_user(void *userdata, uid_t uid) {
        return uid < 100000 ? uid : 1000;
}

START_TEST(test_uids_of_one_user_share_the_limit) {
        const char *log;

        log_users_tick(UINT64_MAX);
        log_users_count_by(same_user, NULL);
        capture_begin();
        for (unsigned i = 0; i < 10 * LOG_USER_LINES_MAX; i++)
                log_user(100000 + i, LOG_NOTICE, "noise");
        log_user(1000, LOG_NOTICE, "noise");
        log_users_tick(UINT64_MAX);
        log = capture_end();
        log_users_count_by(NULL, NULL);
        ck_assert_uint_eq(count(log, "noise"), LOG_USER_LINES_MAX);
        ck_assert_uint_eq(count(log, ": 289 messages of user 1000 suppressed"), 1);
}
END_TEST

START_TEST(test_more_users_than_are_counted_share_the_limit) {
        const char *log;

        log_users_tick(UINT64_MAX);
        capture_begin();
        for (unsigned i = 0; i < 10 * LOG_USERS_MAX * LOG_USER_LINES_MAX; i++)
                log_user((uid_t)(i % (2 * LOG_USERS_MAX)), LOG_NOTICE, "noise");
        log_users_tick(UINT64_MAX);
        log = capture_end();
        ck_assert_uint_le(count(log, "noise"), LOG_USERS_MAX * LOG_USER_LINES_MAX);
}
END_TEST

TEST_MAIN("log",
          test_what_a_peer_says_stays_in_its_line,
          test_only_printable_characters_are_left_as_they_are,
          test_a_line_is_cut_off_between_characters,
          test_a_line_of_the_log_is_one_line,
          test_one_user_cannot_fill_the_log,
          test_uids_of_one_user_share_the_limit,
          test_more_users_than_are_counted_share_the_limit)
