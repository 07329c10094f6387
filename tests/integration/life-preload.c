/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * To be preloaded into any program: starts the library there, and emits an event in each malloc(), under a lock that
 * no thread can take twice.
 */

#include <dlfcn.h>
#include <stdlib.h>

#include <desktrace/track-event.h>

DT_CATEGORY(heap, "life.memory", "Each malloc()");

static volatile char lock;

/* Of the C library: dlsym() would call malloc() itself. */
void *__libc_malloc(size_t n_bytes);

__attribute__((__visibility__("default"))) void *malloc(size_t n_bytes) {
        void *memory;

        while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
                ;
        DT_INSTANT(heap, "malloc", DT_UINT("bytes", n_bytes));
        memory = __libc_malloc(n_bytes);
        __atomic_clear(&lock, __ATOMIC_RELEASE);
        return memory;
}

static __attribute__((__constructor__)) void start(void) {
        dt_init(NULL);
}
