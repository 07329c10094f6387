/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Own threads: what libdesktrace's thread allocates is not the program's
 *
 * That library starts its thread when we offer our data sources to it. A thread started while our code runs belongs to
 * us from its first instruction to its last. All other threads start as they would without us.
 */

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "heap/thread-state.h"
#include "shared/macro.h"

typedef int (*CreateThread)(pthread_t *ret,
                            const pthread_attr_t *attributes,
                            void *(*run)(void *userdata),
                            void *userdata);

typedef struct OwnThread {
        void *(*run)(void *userdata);
        void *userdata;
} OwnThread;

/* NULL where the C library has threads in a library of its own, and the program has not loaded that */
static CreateThread find_real(void) {
        static _Atomic(CreateThread) real;
        CreateThread found = real;
        void *symbol;

        if (found)
                return found;
        symbol = dlsym(RTLD_NEXT, "pthread_create");
        memcpy(&found, &symbol, sizeof(found));
        real = found;
        return found;
}

static void *run_own(void *userdata) {
        OwnThread own;

        heap_thread.is_inside = true;
        memcpy(&own, userdata, sizeof(own));
        free(userdata);
        return own.run(own.userdata);
}

static int create_own(CreateThread real,
                      pthread_t *ret,
                      const pthread_attr_t *attributes,
                      void *(*run)(void *userdata),
                      void *userdata) {
        OwnThread *own = malloc(sizeof(*own));
        int r;

        if (!own)
                return EAGAIN;
        *own = (OwnThread){ run, userdata };
        r = real(ret, attributes, run_own, own);
        if (r)
                free(own);
        return r;
}

_public_ int pthread_create(pthread_t *ret,
                            const pthread_attr_t *attributes,
                            void *(*run)(void *userdata),
                            void *userdata) {
        CreateThread real = find_real();

        if (!real)
                return EAGAIN;
        return heap_thread.is_inside ? create_own(real, ret, attributes, run, userdata)
                                     : real(ret, attributes, run, userdata);
}
