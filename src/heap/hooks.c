/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Hooks: the functions of malloc() that programs call instead of the C library's
 *
 * Each hook calls the real function and counts bytes; once in many thousands of bytes it records where it was called
 * from. An address is forgotten before the real free(), because another thread may be given it right afterwards, and
 * remembered after the real malloc().
 */

#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "heap/profile.h"
#include "heap/real.h"
#include "shared/macro.h"

#define HOOK _public_ __attribute__((__noinline__, __noclone__))

/* Whether this call shall be looked at. It is asked before the real call, of which then nothing is left to do, so that
 * it is the hook's last: a hook that looks at nothing is a few instructions and a jump. */
static inline __attribute__((__always_inline__)) bool is_due(size_t n_bytes) {
        return UNLIKELY(profile_is_due(n_bytes));
}

/* Inlined into the hook, where the recorded stack begins. */
static inline __attribute__((__always_inline__)) void allocated(void *memory, size_t n_bytes) {
        WalkStart start;

        walk_capture(&start);
        profile_allocated(PROFILE_HEAP_MALLOC, memory, n_bytes, &start);
        __asm__ volatile("" ::: "memory"); /* keeps the hook's frame until then */
}

HOOK void *malloc(size_t n_bytes) {
        void *memory;

        if (!is_due(n_bytes))
                return real_allocator.malloc(n_bytes);
        memory = real_allocator.malloc(n_bytes);
        allocated(memory, n_bytes);
        return memory;
}

/* Memory of the pool is never reused. NULL is in no table. */
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

/* Copies a block out of the pool. Its size is not known, so all bytes that may belong to it are copied. */
static void *move_out_of_pool(void *memory, size_t n_bytes) {
        void *copy = real_allocator.malloc(n_bytes);

        if (copy)
                memcpy(copy, memory, MIN(real_pool_left(memory), n_bytes));
        return copy;
}

/* A block that changes its size counts as one that is freed and another that is allocated, even if it does not move. */
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

/* New in C23. If the C library lacks them, no program calls them. */
HOOK void free_sized(void *memory, size_t n_bytes);
HOOK void free_sized(void *memory, size_t n_bytes _unused_) {
        free(memory);
}

HOOK void free_aligned_sized(void *memory, size_t alignment, size_t n_bytes);
HOOK void free_aligned_sized(void *memory, size_t alignment _unused_, size_t n_bytes _unused_) {
        free(memory);
}

/* Only old programs call it. */
HOOK void cfree(void *memory);
HOOK void cfree(void *memory) {
        free(memory);
}
