/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Memory for what threads need to be recorded, that is not the program's heap
 *
 * An event may happen anywhere: in the program's own malloc(), or in a signal handler that has interrupted it. So
 * nothing on the way of an event may call malloc() or free(). Any thread, and any signal handler: one that has
 * interrupted its thread in here is refused. Small pieces come out of larger ones and are kept for the next thread when
 * they are freed, so there is as much as was ever needed at once; large ones are mapped by themselves.
 */

#include <stddef.h>

#define POOL_HEAD_BYTES 16 /* of each piece, whose size is a power of two */

/* NULL: there is none. Keeps errno. pool_new() is zeroed. */
void *pool_take(size_t n_bytes);
void *pool_new(size_t n_bytes);

/* Returns NULL; accepts NULL. Keeps errno. */
void *pool_free(void *memory);

/* In a forked child, where the thread that is in here may not be: what is free is forgotten. Async-signal-safe. */
void pool_after_fork(void);

static inline void pool_freep(void *memory) {
        pool_free(*(void **)memory);
}
