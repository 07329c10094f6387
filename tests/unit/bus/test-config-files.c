/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files of producers, more than are read. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../test.h"
#include "config.h"

#define N (DAEMON_PRODUCER_ENTRIES_MAX + 3)

static char directory[] = "/tmp/desktrace-config-XXXXXX";

static const char *path_of(unsigned i) {
        static char path[128];

        snprintf(path, sizeof(path), "%s/org.example.%04u.conf", directory, i);
        return path;
}

START_TEST(test_producers_beyond_a_number_are_ignored_and_told) {
        DaemonConfig config;
        size_t n_problems;

        ck_assert_ptr_nonnull(mkdtemp(directory));
        for (unsigned i = 0; i < N; i++) {
                FILE *file = fopen(path_of(i), "we");

                ck_assert_ptr_nonnull(file);
                fprintf(file,
                        "[Producer]\nName=n%u\nDataSources=org.example.%u\nSocket=/run/%u.sock\n",
                        i,
                        i,
                        i);
                fclose(file);
        }
        setenv("DESKTRACE_CONFIG", "/nonexistent/desktraced.conf", true);
        setenv("DESKTRACE_PRODUCERS_PATH", directory, true);
        ck_assert_int_eq(daemon_config_load(&config, &n_problems), 0);
        ck_assert_uint_eq(config.n_producers, DAEMON_PRODUCER_ENTRIES_MAX);
        ck_assert_uint_eq(n_problems, 1);
        daemon_config_deinit(&config);
        for (unsigned i = 0; i < N; i++)
                ck_assert_int_eq(unlink(path_of(i)), 0);
        ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

TEST_MAIN("config-files", test_producers_beyond_a_number_are_ignored_and_told)
