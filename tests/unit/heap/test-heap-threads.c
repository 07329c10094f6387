/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Threads that allocate and free at the same time, while sessions begin, are copied and end
 */

#include "heap/churn.h"

#define N_ROUNDS   20000
#define INTERVAL   4096u
#define N_SESSIONS 20

static _Atomic bool is_over;

static void *allocate_and_free(void *thread) {
        churn((unsigned)(uintptr_t)thread, N_ROUNDS);
        return NULL;
}

static void *map_and_unmap(void *userdata _unused_) {
        while (!is_over) {
                WalkStart start;

                walk_capture(&start);
                if (profile_wants_maps())
                        profile_mapped((const void *)0x40000000, 1u << 20, &start);
                (void)profile_unmapped((const void *)0x40000000, 1u << 19);
                (void)profile_unmapped((const void *)0x40000000, 1u << 20);
        }
        return NULL;
}

/* Recordings that come and go beside the one that is looked at. */
static void *record(void *userdata _unused_) {
        ProfileCopy copy = {};
        ProfileLosses losses;
        unsigned session;

        for (unsigned i = 0; i < N_SESSIONS; i++) {
                ck_assert_int_eq(profile_start(&session, i % 2 ? 1024 : INTERVAL * 4), 0);
                ck_assert_int_eq(profile_copy(&copy, session), 0);
                profile_losses(&losses);
                ck_assert_int_ge(profile_heap_find("pool"), _PROFILE_HEAPS_N);
                profile_stop(session);
        }
        profile_copy_deinit(&copy);
        return NULL;
}

START_TEST(test_nothing_is_left_of_what_was_freed) {
        pthread_t threads[CHURN_THREADS], mapper, recorder;
        ProfileCopy copy = {};
        uint64_t allocated = 0;
        unsigned session;

        ck_assert_int_eq(profile_init(), 0);
        ck_assert_int_eq(profile_start(&session, INTERVAL), 0);
        ck_assert_int_eq(pthread_create(&mapper, NULL, map_and_unmap, NULL), 0);
        ck_assert_int_eq(pthread_create(&recorder, NULL, record, NULL), 0);
        churn_start(threads, allocate_and_free);
        churn_join(threads);
        ck_assert_int_eq(pthread_join(recorder, NULL), 0);
        is_over = true;
        ck_assert_int_eq(pthread_join(mapper, NULL), 0);

        ck_assert_int_eq(profile_copy(&copy, session), 0);
        for (uint32_t i = 0; i < copy.n_sites; i++) {
                ck_assert_uint_eq(copy.counts[i].allocated, copy.counts[i].freed);
                ck_assert_uint_eq(copy.counts[i].n_allocated, copy.counts[i].n_freed);
                allocated += copy.counts[i].allocated;
        }
        ck_assert_uint_gt(allocated, 0);
        ck_assert_uint_eq(copy.heaps[PROFILE_HEAP_MALLOC].live, 0);
        ck_assert_uint_eq(copy.heaps[PROFILE_HEAP_MMAP].live, 0);
        profile_copy_deinit(&copy);
        profile_stop(session);
}
END_TEST

TEST_MAIN("heap-threads", test_nothing_is_left_of_what_was_freed)
