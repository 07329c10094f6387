/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <string.h>

#include "packet/pattern.h"
#include "shared/macro.h"
#include "test.h"

static Pattern *pattern(const char *text) {
        char why[PATTERN_WHY_BYTES] = "";
        Pattern *made;

        ck_assert_msg(pattern_new(&made, text, why) == 0, "%s: %s", text, why);
        return made;
}

START_TEST(test_whole_text_has_to_fit) {
        static const struct {
                const char *pattern, *text;
                int fits;
        } cases[] = {
                { "abc", "abc", 1 },     { "abc", "abcd", 0 },
                { "abc", "zabc", 0 },    { "a|ab", "ab", 1 },
                { ".*", "", 1 },         { "com\\.app\\.\\d+", "com.app.17", 1 },
                { "(a+)+b", "aaab", 1 }, { "x{3}", "xxx", 1 },
                { "(.)\\1", "zz", 1 },   { "[^|]*", "a|b", 0 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                Pattern *made = pattern(cases[i].pattern);

                ck_assert_msg(pattern_match(made, cases[i].text, strlen(cases[i].text)) ==
                                      cases[i].fits,
                              "%s on %s",
                              cases[i].pattern,
                              cases[i].text);
                pattern_free(made);
        }
}
END_TEST

START_TEST(test_groups_say_where_they_are) {
        Pattern *made = pattern("B\\|(\\d+)\\|(x)?(.*)");
        const PatternGroup *groups;
        size_t n;

        ck_assert_int_eq(
                pattern_search(made, "B|42|rest", 9, 0, true, PATTERN_STEPS_MAX, &groups, &n), 1);
        ck_assert_uint_eq(n, 4);
        ck_assert_int_eq(groups[1].start, 2);
        ck_assert_int_eq(groups[1].end, 4);
        ck_assert_int_eq(groups[2].start, -1);
        ck_assert_int_eq(groups[3].start, 5);
        ck_assert_int_eq(groups[3].end, 9);
        pattern_free(made);
}
END_TEST

START_TEST(test_refusals_name_the_mistake) {
        static char too_long[PATTERN_BYTES_MAX + 2], many_groups[3 * (PATTERN_GROUPS_MAX + 1) + 1];
        static const char *const broken[] = { "(", "a{2,1}", "[z-a]", "*", "\\C", "(*UTF)x" };
        char why[PATTERN_WHY_BYTES];
        Pattern *made;

        memset(too_long, 'x', sizeof(too_long) - 1);
        for (size_t i = 0; i <= PATTERN_GROUPS_MAX; i++)
                memcpy(many_groups + 3 * i, "(x)", 3);
        for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
                why[0] = 0;
                ck_assert_msg(pattern_new(&made, broken[i], why) == -EINVAL, "%s", broken[i]);
                ck_assert_str_ne(why, "");
        }
        ck_assert_int_eq(pattern_new(&made, too_long, why), -EINVAL);
        ck_assert_ptr_nonnull(strstr(why, "PATTERN_BYTES_MAX"));
        ck_assert_int_eq(pattern_new(&made, many_groups, why), -EINVAL);
        ck_assert_ptr_nonnull(strstr(why, "PATTERN_GROUPS_MAX"));
}
END_TEST

START_TEST(test_matches_are_bounded) {
        static const char *const slow[] = {
                "(a+)+$", "(a|aa)+$", "(.*)(.*)(.*)(.*)(.*)x", "(a*)*b"
        };
        char text[4096];

        memset(text, 'a', sizeof(text));
        text[sizeof(text) - 1] = '!';
        for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
                Pattern *made = pattern(slow[i]);
                int r = pattern_match(made, text, sizeof(text));

                ck_assert_msg(r == -E2BIG || r == 0, "%s: %d", slow[i], r);
                pattern_free(made);
        }
}
END_TEST

START_TEST(test_huge_repetitions_are_refused_or_small) {
        char why[PATTERN_WHY_BYTES];
        Pattern *made = NULL;

        ck_assert_int_eq(pattern_new(&made, "(((a{999}){999}){999})", why), -EINVAL);
        ck_assert_int_eq(pattern_new(&made, "(ab){2000}", why), -EINVAL);
        ck_assert_msg(strstr(why, "PATTERN_COMPILED_BYTES_MAX"), "%s", why);
}
END_TEST

TEST_MAIN("pattern",
          test_whole_text_has_to_fit,
          test_groups_say_where_they_are,
          test_refusals_name_the_mistake,
          test_matches_are_bounded,
          test_huge_repetitions_are_refused_or_small)
