/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "../test.h"
#include "lib/track-wait.h"

START_TEST(test_the_variable_is_a_number_of_milliseconds_with_a_bound) {
        static const struct {
                const char *text;
                unsigned ms;
        } cases[] = {
                { "1000", 1000 },
                { "0", 0 },
                { "10000", TRACK_WAIT_MAX_MS },
                { "10001", TRACK_WAIT_MAX_MS },
                { "99999999999999999999999", TRACK_WAIT_MAX_MS },
                { NULL, 0 },
                { "", 0 },
                { "-1", 0 },
                { "1s", 0 },
                { " 1", 0 },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                ck_assert_uint_eq(track_wait_ms(cases[i].text), cases[i].ms);
}
END_TEST

/* Before a session has started: first in the table, for those who do not fork. */
START_TEST(test_nobody_waits_longer_than_told) {
        track_wait(0);
        track_wait(1);
}
END_TEST

static atomic_bool has_started;

static void *start_later(void *userdata) {
        usleep(20000);
        atomic_store(&has_started, true);
        track_wait_end();
        return NULL;
}

START_TEST(test_the_start_of_a_session_ends_the_wait_and_all_later_ones) {
        pthread_t thread;

        ck_assert_int_eq(pthread_create(&thread, NULL, start_later, NULL), 0);
        track_wait(TRACK_WAIT_MAX_MS);
        ck_assert(atomic_load(&has_started));
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        for (unsigned i = 0; i < 10; i++) /* else longer than a test may last */
                track_wait(TRACK_WAIT_MAX_MS);
}
END_TEST

TEST_MAIN("track-wait",
          test_the_variable_is_a_number_of_milliseconds_with_a_bound,
          test_nobody_waits_longer_than_told,
          test_the_start_of_a_session_ends_the_wait_and_all_later_ones)
