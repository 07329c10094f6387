/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Thread: one that leaves signals to the main thread */

#include <signal.h>

#include "shared/thread.h"

int thread_start(pthread_t *ret,
                 const pthread_attr_t *attributes,
                 void *(*run)(void *userdata),
                 void *userdata) {
        sigset_t all, before;
        int r;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(ret, attributes, run, userdata);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return -r;
}
