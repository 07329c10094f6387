/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Hooks: the functions of malloc() that programs call instead of the C library's
 *
 * Each calls the real one and counts bytes; once in many thousands of bytes it looks where it was called from. An
 * address is forgotten before the real free(), as another thread may get it right afterwards, and remembered after
 * the real malloc().
 */

#include <errno.h>
#include <malloc.h>
#include <unistd.h>

#include "heap/profile.h"
#include "heap/real.h"
#include "shared/macro.h"

#define HOOK _public_ __attribute__((__noinline__, __noclone__))

/* Part of the hook itself: the stack begins there. */
static inline __attribute__((__always_inline__)) void allocated(void *memory, size_t n_bytes) {
        if (profile_is_due(n_bytes)) {
                WalkStart start;

                walk_capture(&start);
                profile_allocated(memory, n_bytes, &start);
                __asm__ volatile("" ::: "memory"); /* the hook's frame stays until then */
        }
}

static inline bool find_real(void) {
        if (UNLIKELY(!real_is_found()))
                real_find();
        return LIKELY(real_is_found());
}

static void *pool_or_fail(size_t alignment, size_t n_bytes) {
        void *memory = real_pool_take(alignment, n_bytes);

        if (!memory)
                errno = ENOMEM;
        return memory;
}

HOOK void *malloc(size_t n_bytes) {
        void *memory;

        if (!find_real())
                return pool_or_fail(1, n_bytes);
        memory = real_allocator.malloc(n_bytes);
        allocated(memory, n_bytes);
        return memory;
}

HOOK void free(void *memory) {
        if (!memory || UNLIKELY(real_pool_has(memory, NULL)))
                return;
        if (UNLIKELY(profile_may_have(memory)))
                profile_freed(memory);
        if (find_real())
                real_allocator.free(memory);
}

HOOK void *calloc(size_t n, size_t n_bytes) {
        void *memory;
        size_t n_all;

        if (UNLIKELY(__builtin_mul_overflow(n, n_bytes, &n_all))) {
                errno = ENOMEM;
                return NULL;
        }
        if (!find_real())
                return pool_or_fail(1, n_all); /* nothing of it was ever used */
        memory = real_allocator.calloc(n, n_bytes);
        allocated(memory, n_all);
        return memory;
}

/* Out of the pool: it is copied with all that may be its. */
static void *move_out_of_pool(void *memory, size_t n_bytes) {
        size_t n_old;
        void *copy;

        (void)real_pool_has(memory, &n_old);
        copy = find_real() ? real_allocator.malloc(n_bytes) : pool_or_fail(1, n_bytes);
        if (copy)
                memcpy(copy, memory, MIN(n_old, n_bytes));
        return copy;
}

/* A block that changes its size is a block that is freed and one that is allocated, wherever it lies. */
static inline __attribute__((__always_inline__)) void *reallocate(void *old, size_t n_bytes) {
        AddressEntry entry;
        void *memory;
        bool is_sample;

        is_sample = UNLIKELY(profile_may_have(old)) && profile_take(old, &entry);
        memory = real_allocator.realloc(old, n_bytes);
        if (UNLIKELY(is_sample)) {
                const int saved_errno = errno;

                if (memory || n_bytes == 0)
                        profile_count_freed(&entry);
                else
                        profile_put_back(&entry);
                errno = saved_errno;
        }
        if (memory)
                allocated(memory, n_bytes);
        return memory;
}

HOOK void *realloc(void *old, size_t n_bytes) {
        if (old && UNLIKELY(real_pool_has(old, NULL)))
                return move_out_of_pool(old, n_bytes);
        if (!find_real())
                return pool_or_fail(1, n_bytes);
        return reallocate(old, n_bytes);
}

HOOK void *reallocarray(void *old, size_t n, size_t n_bytes) {
        size_t n_all;

        if (UNLIKELY(__builtin_mul_overflow(n, n_bytes, &n_all))) {
                errno = ENOMEM;
                return NULL;
        }
        if (old && UNLIKELY(real_pool_has(old, NULL)))
                return move_out_of_pool(old, n_all);
        if (!find_real())
                return pool_or_fail(1, n_all);
        return reallocate(old, n_all);
}

HOOK void *memalign(size_t alignment, size_t n_bytes) {
        void *memory;

        if (!find_real())
                return pool_or_fail(alignment, n_bytes);
        memory = real_allocator.memalign(alignment, n_bytes);
        allocated(memory, n_bytes);
        return memory;
}

HOOK void *aligned_alloc(size_t alignment, size_t n_bytes) {
        void *memory;

        if (!find_real())
                return pool_or_fail(alignment, n_bytes);
        memory = real_allocator.aligned_alloc(alignment, n_bytes);
        allocated(memory, n_bytes);
        return memory;
}

HOOK int posix_memalign(void **ret, size_t alignment, size_t n_bytes) {
        int r;

        if (!find_real())
                return ENOMEM;
        r = real_allocator.posix_memalign(ret, alignment, n_bytes);
        if (r == 0)
                allocated(*ret, n_bytes);
        return r;
}

HOOK void *valloc(size_t n_bytes) {
        void *memory;

        if (!find_real())
                return pool_or_fail((size_t)getpagesize(), n_bytes);
        memory = real_allocator.valloc(n_bytes);
        allocated(memory, n_bytes);
        return memory;
}

HOOK void *pvalloc(size_t n_bytes) {
        void *memory;

        if (!find_real())
                return NULL;
        memory = real_allocator.pvalloc(n_bytes);
        allocated(memory, n_bytes);
        return memory;
}

/* Of C23. Where the C library has none, no program calls them. */
HOOK void free_sized(void *memory, size_t n_bytes);
HOOK void free_sized(void *memory, size_t n_bytes _unused_) {
        free(memory);
}

HOOK void free_aligned_sized(void *memory, size_t alignment, size_t n_bytes);
HOOK void free_aligned_sized(void *memory, size_t alignment _unused_, size_t n_bytes _unused_) {
        free(memory);
}

/* Of old programs. */
HOOK void cfree(void *memory);
HOOK void cfree(void *memory) {
        free(memory);
}
