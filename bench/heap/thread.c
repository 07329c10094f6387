/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A library that starts a thread and does nothing, for heap.py: glibc's malloc() is faster in programs without a second
 * thread, which any library that has one takes away
 */

#include <pthread.h>
#include <unistd.h>

static void *wait_for_ever(void *userdata) {
        for (;;)
                pause();
        return userdata;
}

__attribute__((__constructor__)) static void load(void) {
        pthread_t thread;

        (void)pthread_create(&thread, NULL, wait_for_ever, NULL);
}
