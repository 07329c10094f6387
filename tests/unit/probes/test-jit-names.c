/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "probes/perf/jit-names.h"

static JitNames *parse(const char *text) {
        JitNames *names;

        ck_assert_int_eq(jit_names_new(&names, strdup(text), strlen(text)), 0);
        return names;
}

static void expect(const JitNames *names, uint64_t address, const char *wanted) {
        const JitName *found = jit_names_find(names, address);

        if (wanted)
                ck_assert_str_eq(found ? found->text : "(none)", wanted);
        else
                ck_assert_ptr_null(found);
}

START_TEST(test_code_has_the_name_of_its_line) {
        JitNames *names = parse("7f00 10 LazyCompile:*f /a b.js:1\n0x7f20 0x8 second\n");

        expect(names, 0x7eff, NULL);
        expect(names, 0x7f00, "LazyCompile:*f /a b.js:1");
        expect(names, 0x7f0f, "LazyCompile:*f /a b.js:1");
        expect(names, 0x7f10, NULL);
        expect(names, 0x7f27, "second");
        expect(names, 0x7f28, NULL);
        jit_names_free(names);
}
END_TEST

START_TEST(test_code_that_takes_the_place_of_other_code_has_its_name) {
        JitNames *names = parse("1000 100 old\n3000 10 third\n1000 80 new\n");

        expect(names, 0x1000, "new");
        expect(names, 0x107f, "new");
        expect(names, 0x1080, NULL);
        expect(names, 0x3000, "third");
        jit_names_free(names);
}
END_TEST

START_TEST(test_the_same_name_has_the_same_key) {
        JitNames *names = parse("1000 10 f\n2000 10 f\n3000 10 g\n");
        const uint64_t first = jit_names_find(names, 0x1000)->key;

        ck_assert_uint_eq(first, jit_names_find(names, 0x2000)->key);
        ck_assert_uint_ne(first, jit_names_find(names, 0x3000)->key);
        ck_assert_uint_ne(first, 0);
        jit_names_free(names);
}
END_TEST

START_TEST(test_lines_that_are_none_are_left_out) {
        JitNames *names = parse("\n \n1000\n1000 10\n1000 10 \nx 10 f\n1000 0 nothing\n"
                                "ffffffffffffffff 10 beyond\n-1 10 f\n11111111111111111 1 long\n"
                                "2000 10 good");

        ck_assert_uint_eq(names->n, 1);
        expect(names, 0x2000, "good");
        jit_names_free(names);
}
END_TEST

START_TEST(test_a_name_cannot_drive_a_terminal) {
        JitNames *names = parse("1000 10 a\033[2Jb\tc\xff"
                                "d\n");

        expect(names, 0x1000, "a?[2Jb?c?d");
        jit_names_free(names);
}
END_TEST

START_TEST(test_a_long_name_is_cut) {
        char text[2 * JIT_NAME_BYTES_MAX] = "1000 10 ";
        JitNames *names;

        memset(text + strlen(text), 'x', sizeof(text) - 1 - strlen(text));
        names = parse(text);
        ck_assert_uint_eq(names->names[0].n_text, JIT_NAME_BYTES_MAX);
        jit_names_free(names);
}
END_TEST

START_TEST(test_more_names_than_the_limit_are_left_out) {
        const size_t n_text = (JIT_NAMES_MAX + 10) * 8;
        char *text = malloc(n_text + 1);
        JitNames *names;

        for (unsigned i = 0; i < JIT_NAMES_MAX + 10; i++)
                snprintf(text + (size_t)i * 8, 9, "%03x 1 f\n", i & 0xfff);
        ck_assert_int_eq(jit_names_new(&names, text, n_text), 0);
        ck_assert_uint_eq(names->n, 0x1000);
        ck_assert_uint_le(names->n_bytes,
                          n_text + sizeof(JitName) * JIT_NAMES_MAX + sizeof(JitNames));
        jit_names_free(names);
}
END_TEST

TEST_MAIN("jit-names",
          test_code_has_the_name_of_its_line,
          test_code_that_takes_the_place_of_other_code_has_its_name,
          test_the_same_name_has_the_same_key,
          test_lines_that_are_none_are_left_out,
          test_a_name_cannot_drive_a_terminal,
          test_a_long_name_is_cut,
          test_more_names_than_the_limit_are_left_out)
