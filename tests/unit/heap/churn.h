/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Threads that allocate and free all the time: what the hooks call, without the hooks, so that sanitizers can watch it,
 * whose own malloc() has to be the first. The addresses are of no memory, as the profile never looks at it.
 */

#include <pthread.h>
#include <stdint.h>

#include "heap/profile.h"
#include "test.h"

#define CHURN_THREADS 4
#define CHURN_LIVE    64
#define CHURN_BYTES   512u

/* Each thread has a range of addresses. */
static const void *churn_address(unsigned thread, unsigned number) {
        return (const void *)(uintptr_t)(0x100000u * (thread + 1) + 64 * (number + 1));
}

__attribute__((__noinline__)) static void churn_allocate(const void *memory) {
        WalkStart start;

        if (!profile_is_due(CHURN_BYTES))
                return;
        walk_capture(&start);
        profile_allocated(PROFILE_HEAP_MALLOC, memory, CHURN_BYTES, &start);
        __asm__ volatile("" ::: "memory");
}

static void churn_release(const void *memory) {
        if (profile_may_have(PROFILE_HEAP_MALLOC, memory))
                profile_freed(PROFILE_HEAP_MALLOC, memory);
}

/* Leaves nothing. */
static void churn(unsigned thread, unsigned n_rounds) {
        for (unsigned round = 0; round < n_rounds; round++) {
                if (round >= CHURN_LIVE)
                        churn_release(churn_address(thread, round % CHURN_LIVE));
                churn_allocate(churn_address(thread, round % CHURN_LIVE));
        }
        for (unsigned i = 0; i < CHURN_LIVE; i++)
                churn_release(churn_address(thread, i));
}

static void churn_start(pthread_t threads[static CHURN_THREADS], void *(*run)(void *thread)) {
        for (unsigned i = 0; i < CHURN_THREADS; i++)
                ck_assert_int_eq(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i), 0);
}

static void churn_join(const pthread_t threads[static CHURN_THREADS]) {
        for (unsigned i = 0; i < CHURN_THREADS; i++)
                ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}
