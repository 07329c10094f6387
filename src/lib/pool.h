/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Pool: memory for the threads' own data, apart from the program's heap
 *
 * An event may happen anywhere: in the program's own malloc(), or in a signal handler that has interrupted it. So
 * nothing on the path of an event may call malloc() or free(). Any thread, and any signal handler: a handler that
 * has interrupted its thread inside the pool is refused. Small pieces are cut from larger blocks and are kept for
 * the next thread when they are freed, so the pool is as large as its highest use; large pieces are mapped
 * separately.
 */

#include <stddef.h>

#define POOL_HEAD_BYTES 16 /* of each piece, whose size is a power of two */

/* Returns NULL if the pool is empty. Keeps errno. pool_new() is zeroed. */
void *pool_take(size_t n_bytes);
void *pool_new(size_t n_bytes);

/* Returns NULL; accepts NULL. Keeps errno. */
void *pool_free(void *memory);

/* For a forked child, where a thread that was inside the pool no longer exists: forgets all free pieces.
 * Async-signal-safe. */
void pool_after_fork(void);

static inline void pool_freep(void *memory) {
        pool_free(*(void **)memory);
}
