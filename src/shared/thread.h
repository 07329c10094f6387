/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Thread: one that leaves signals to the main thread
 */

#include <pthread.h>

/* Starts a thread with all signals blocked; the caller's own signals stay as they are. The attributes may be NULL.
 * Returns 0 or a negative errno. */
int thread_start(pthread_t *ret,
                 const pthread_attr_t *attributes,
                 void *(*run)(void *userdata),
                 void *userdata);
