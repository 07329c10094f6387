/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Hooks: the functions of malloc() that programs call instead of the C library's
 *
 * Each hook calls the real function and counts bytes. Once in many thousands of bytes it records where it was called
 * from. An address is forgotten before the real free(), because another thread may be given it right afterwards, and is
 * remembered only after the real malloc().
 */

#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "heap/profile.h"
#include "heap/real.h"
#include "shared/macro.h"

#define HOOK _public_ __attribute__((__noinline__, __noclone__))

/* Whether this call is to be looked at. The hook asks before the real call: if there is nothing to do afterwards,
 * the real call can be its last act, and the hook is only a few instructions and a jump. */
static inline __attribute__((__always_inline__)) bool is_due(size_t n_bytes) {
        return UNLIKELY(profile_is_due(n_bytes));
}

/* Inlined into the hook, because the recorded stack begins there. */
static inline __attribute__((__always_inline__)) void allocated(void *memory, size_t n_bytes) {
        WalkStart start;

        walk_capture(&start);
        profile_allocated(PROFILE_HEAP_MALLOC, memory, n_bytes, &start);
        __asm__ volatile("" ::: "memory"); /* keeps the hook's frame alive until here */
}

HOOK void *malloc(size_t n_bytes) {
        void *memory;

        if (!is_due(n_bytes))
                return real_allocator.malloc(n_bytes);
        memory = real_allocator.malloc(n_bytes);
        allocated(memory, n_bytes);
        return memory;
}

/* The pool never reuses memory, so there is nothing to free. No table has NULL in it. */
HOOK void free(void *memory) {
        if (UNLIKELY(real_pool_left(memory) > 0))
                return;
        if (UNLIKELY(profile_may_have(PROFILE_HEAP_MALLOC, memory)))
                profile_freed(PROFILE_HEAP_MALLOC, memory);
        real_allocator.free(memory);
}

static inline __attribute__((__always_inline__)) void *
clear(size_t n, size_t n_bytes, size_t n_all) {
        void *memory;

        if (n_all > real_clear_max)
                return real_allocator.calloc(n, n_bytes);
        memory = real_allocator.malloc(n_all);
        return LIKELY(memory) ? memset(memory, 0, n_all) : NULL;
}

HOOK void *calloc(size_t n, size_t n_bytes) {
        void *memory;
        size_t n_all;

        if (UNLIKELY(__builtin_mul_overflow(n, n_bytes, &n_all))) {
                errno = ENOMEM;
                return NULL;
        }
        if (!is_due(n_all))
                return clear(n, n_bytes, n_all);
        memory = clear(n, n_bytes, n_all);
        allocated(memory, n_all);
        return memory;
}

/* Copies a block out of the pool. Its size is not known, so this copies every byte that may belong to it. */
static void *move_out_of_pool(void *memory, size_t n_bytes) {
        void *copy = real_allocator.malloc(n_bytes);

        if (copy)
                memcpy(copy, memory, MIN(real_pool_left(memory), n_bytes));
        return copy;
}

/* A block whose size changes counts as one freed and another allocated, even if it does not move. */
static void *reallocate_sample(void *old, size_t n_bytes) {
        AddressEntry entry;
        void *memory;
        bool is_sample;
        int saved_errno;

        is_sample = profile_take(old, &entry);
        memory = real_allocator.realloc(old, n_bytes);
        if (!is_sample)
                return memory;
        saved_errno = errno;
        if (memory || n_bytes == 0)
                profile_count_freed(&entry);
        else
                profile_put_back(&entry);
        errno = saved_errno;
        return memory;
}

static inline __attribute__((__always_inline__)) void *reallocate(void *old, size_t n_bytes) {
        if (UNLIKELY(profile_may_have(PROFILE_HEAP_MALLOC, old)))
                return reallocate_sample(old, n_bytes);
        return real_allocator.realloc(old, n_bytes);
}

static inline __attribute__((__always_inline__)) void *reallocate_hook(void *old, size_t n_bytes) {
        void *memory;

        if (UNLIKELY(real_pool_left(old) > 0))
                return move_out_of_pool(old, n_bytes);
        if (!is_due(n_bytes))
                return reallocate(old, n_bytes);
        memory = reallocate(old, n_bytes);
        if (memory)
                allocated(memory, n_bytes);
        return memory;
}

HOOK void *realloc(void *old, size_t n_bytes) {
        return reallocate_hook(old, n_bytes);
}

HOOK void *reallocarray(void *old, size_t n, size_t n_bytes) {
        size_t n_all;

        if (UNLIKELY(__builtin_mul_overflow(n, n_bytes, &n_all))) {
                errno = ENOMEM;
                return NULL;
        }
        return reallocate_hook(old, n_all);
}

HOOK void *memalign(size_t alignment, size_t n_bytes) {
        void *memory = real_allocator.memalign(alignment, n_bytes);

        if (is_due(n_bytes))
                allocated(memory, n_bytes);
        return memory;
}

HOOK void *aligned_alloc(size_t alignment, size_t n_bytes) {
        void *memory = real_allocator.aligned_alloc(alignment, n_bytes);

        if (is_due(n_bytes))
                allocated(memory, n_bytes);
        return memory;
}

HOOK int posix_memalign(void **ret, size_t alignment, size_t n_bytes) {
        const int r = real_allocator.posix_memalign(ret, alignment, n_bytes);

        if (r == 0 && is_due(n_bytes))
                allocated(*ret, n_bytes);
        return r;
}

HOOK void *valloc(size_t n_bytes) {
        void *memory = real_allocator.valloc(n_bytes);

        if (is_due(n_bytes))
                allocated(memory, n_bytes);
        return memory;
}

HOOK void *pvalloc(size_t n_bytes) {
        void *memory = real_allocator.pvalloc(n_bytes);

        if (is_due(n_bytes))
                allocated(memory, n_bytes);
        return memory;
}

/* New in C23. If the C library lacks these functions, no program calls them. */
HOOK void free_sized(void *memory, size_t n_bytes);
HOOK void free_sized(void *memory, size_t n_bytes _unused_) {
        free(memory);
}

HOOK void free_aligned_sized(void *memory, size_t alignment, size_t n_bytes);
HOOK void free_aligned_sized(void *memory, size_t alignment _unused_, size_t n_bytes _unused_) {
        free(memory);
}

/* Only old programs call this. */
HOOK void cfree(void *memory);
HOOK void cfree(void *memory) {
        free(memory);
}
