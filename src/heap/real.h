/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Real: the allocator that the program would have without us
 *
 * It is the next one in the linker's order: the C library's, or one that the program is linked with. The first call
 * looks it up, so the functions of the table can be called at any time. The lookup itself allocates; that memory comes
 * from a small pool and is never reused.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REAL_POOL_BYTES (64u << 10)

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
        void *(*mmap)(void *, size_t, int, int, int, long);
        void *(*mmap64)(void *, size_t, int, int, int, int64_t);
        int (*munmap)(void *, size_t);
        void *(*mremap)(void *, size_t, size_t, int, ...);
} RealAllocator;

extern RealAllocator real_allocator;
extern uint8_t real_pool[REAL_POOL_BYTES];

/* Up to this size, malloc() and memset() are faster than calloc(), and reuse memory that this thread has freed.
 * Before 2.41, glibc's calloc() does not look there, and takes the lock of all threads instead. 0 with any other
 * allocator. */
extern size_t real_clear_max;

/* Looks the allocator up before the first call. */
void real_find(void);

/* Takes memory from the pool. Returns NULL and sets errno if the pool is used up. */
void *real_pool_take(size_t alignment, size_t n_bytes);

/* How many bytes of the pool follow an address, which is the most that its block can have. 0 if the address is not
 * in the pool. */
static inline size_t real_pool_left(const void *memory) {
        const uintptr_t at = (uintptr_t)memory - (uintptr_t)real_pool;

        return __builtin_expect(at < REAL_POOL_BYTES, 0) ? REAL_POOL_BYTES - at : 0;
}
