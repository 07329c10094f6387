/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Real: the allocator that the program has without us
 *
 * It is the next one that the linker finds: that of the C library, or one that the program is linked to. What is
 * asked for before it has been found (finding it allocates) comes from a small pool, which nothing is ever given
 * back to.
 */

#include <stdbool.h>
#include <stddef.h>

typedef struct RealAllocator {
        void *(*malloc)(size_t);
        void (*free)(void *);
        void *(*calloc)(size_t, size_t);
        void *(*realloc)(void *, size_t);
        void *(*memalign)(size_t, size_t);
        void *(*aligned_alloc)(size_t, size_t);
        int (*posix_memalign)(void **, size_t, size_t);
        void *(*valloc)(size_t);
        void *(*pvalloc)(size_t);
} RealAllocator;

extern RealAllocator real_allocator;

/* Finds it. While it is being found `malloc` is NULL. */
void real_find(void);

static inline bool real_is_found(void) {
        return __atomic_load_n(&real_allocator.malloc, __ATOMIC_ACQUIRE) != NULL;
}

/* Of the pool. NULL: it is used up. */
void *real_pool_take(size_t alignment, size_t n_bytes);
/* Whether it is of the pool, and at most how many bytes of it. */
bool real_pool_has(const void *memory, size_t *ret_n_bytes);
