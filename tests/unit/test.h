/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Every unit test program is a table of test functions: START_TEST … END_TEST, then TEST_MAIN(suite, tests…).
 * Prints TAP for meson. Tests are named after the promise that they hold.
 */

#include <check.h>
#include <stdlib.h>

static inline int test_run(const char *name, const TTest *const tests[], size_t n_tests) {
        Suite *suite = suite_create(name);
        TCase *tcase = tcase_create(name);
        SRunner *runner;
        int n_failed;

        for (size_t i = 0; i < n_tests; i++)
                tcase_add_test(tcase, tests[i]);
        suite_add_tcase(suite, tcase);
        runner = srunner_create(suite);
        srunner_set_tap(runner, "-");
        srunner_run_all(runner, CK_SILENT);
        n_failed = srunner_ntests_failed(runner);
        srunner_free(runner);
        return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define TEST_MAIN(name, ...)                                                    \
        int main(void) {                                                        \
                const TTest *tests[] = { __VA_ARGS__ };                         \
                                                                                \
                return test_run(name, tests, sizeof(tests) / sizeof(tests[0])); \
        }
