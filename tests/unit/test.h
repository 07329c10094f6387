/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Every unit test program is a table of test functions: START_TEST … END_TEST, then TEST_MAIN(suite, tests…).
 * Prints TAP for meson. Tests are named after the promise that they hold.
 */

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* A test that cannot run here gives the reason, in one line, and returns. libcheck knows no skipped tests and says that
 * it has passed; tests/report.py takes this line for what is true. */
#define test_skip(format, ...) printf("# skipped: " format "\n", ##__VA_ARGS__)

static inline int test_run_fork(const char *name,
                                const TTest *const tests[],
                                size_t n_tests,
                                enum fork_status fork_status) {
        Suite *suite = suite_create(name);
        TCase *tcase = tcase_create(name);
        SRunner *runner;
        int n_failed;

        for (size_t i = 0; i < n_tests; i++)
                tcase_add_test(tcase, tests[i]);
        suite_add_tcase(suite, tcase);
        runner = srunner_create(suite);
        srunner_set_tap(runner, "-");
        srunner_set_fork_status(runner, fork_status);
        srunner_run_all(runner, CK_SILENT);
        n_failed = srunner_ntests_failed(runner);
        srunner_free(runner);
        return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Each test is a process of its own, unless $CK_FORK says "no". */
static inline int test_run(const char *name, const TTest *const tests[], size_t n_tests) {
        return test_run_fork(name, tests, n_tests, CK_FORK_GETENV);
}

#define TEST_MAIN(name, ...) TEST_MAIN_FORK(CK_FORK_GETENV, name, __VA_ARGS__)

/* For what happens once in a process: each test is one, whatever is said. */
#define TEST_MAIN_FORKED(name, ...) TEST_MAIN_FORK(CK_FORK, name, __VA_ARGS__)

#define TEST_MAIN_FORK(fork_status, name, ...)                                                    \
        int main(void) {                                                                          \
                const TTest *tests[] = { __VA_ARGS__ };                                           \
                                                                                                  \
                return test_run_fork(name, tests, sizeof(tests) / sizeof(tests[0]), fork_status); \
        }
