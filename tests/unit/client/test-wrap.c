/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client/wrap.h"

#include "shared/macro.h"
#include "test.h"

static void check(const char *text, size_t width, const char *wanted) {
        g_autoptr(GPtrArray) lines = wrap_lines(text, width);
        g_autoptr(GString) joined = g_string_new(NULL);

        for (guint i = 0; i < lines->len; i++)
                g_string_append_printf(
                        joined, "%s%s", i ? "|" : "", (char *)g_ptr_array_index(lines, i));
        ck_assert_str_eq(joined->str, wanted);
}

START_TEST(test_lines_end_at_spaces) {
        check("a few words on lines", 9, "a few|words on|lines");
        check("what fits", 9, "what fits");
        check("what  fits   not", 9, "what|fits|not");
        check("", 9, "");
}
END_TEST

START_TEST(test_a_word_that_is_too_long_is_cut) {
        check("linux.systemd_journald is", 10, "linux.syst|emd_journa|ld is");
        check("ab", 0, "a|b");
}
END_TEST

START_TEST(test_lines_end_at_wide_characters_by_their_width) {
        check("描画フレームの数", 6, "描画フ|レーム|の数");
        check("使用 sudo 运行", 9, "使用 sudo|运行");
        check("内核没有 tracefs 文件系统", 10, "内核没有|tracefs 文|件系统");
}
END_TEST

START_TEST(test_no_line_begins_with_a_punctuation_that_closes) {
        check("没有权限。再试", 8, "没有权|限。再试");
        check("没有（权限）", 6, "没有|（权|限）");
        check("文件(名)", 6, "文件|(名)");
}
END_TEST

START_TEST(test_combining_characters_stay_with_theirs) {
        check("e\u0301e\u0301e\u0301", 2, "e\u0301e\u0301|e\u0301");
        check("か\u3099き\u3099", 2, "か\u3099|き\u3099");
}
END_TEST

TEST_MAIN("wrap",
          test_lines_end_at_spaces,
          test_a_word_that_is_too_long_is_cut,
          test_lines_end_at_wide_characters_by_their_width,
          test_no_line_begins_with_a_punctuation_that_closes,
          test_combining_characters_stay_with_theirs)
