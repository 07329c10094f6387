/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <dlfcn.h>
#include <stdint.h>

#include "heap/real.h"
#include "shared/macro.h"

#define POOL_BYTES (64u << 10)

RealAllocator real_allocator;

static _Alignas(64) uint8_t pool[POOL_BYTES];
static size_t n_taken;

/* `malloc` last: a thread that sees it sees the others. Two threads may find the same. */
void real_find(void) {
        static _Atomic bool is_finding;
        static const struct {
                const char *name;
                size_t at;
        } others[] = {
                { "free", offsetof(RealAllocator, free) },
                { "calloc", offsetof(RealAllocator, calloc) },
                { "realloc", offsetof(RealAllocator, realloc) },
                { "memalign", offsetof(RealAllocator, memalign) },
                { "aligned_alloc", offsetof(RealAllocator, aligned_alloc) },
                { "posix_memalign", offsetof(RealAllocator, posix_memalign) },
                { "valloc", offsetof(RealAllocator, valloc) },
                { "pvalloc", offsetof(RealAllocator, pvalloc) },
        };
        void *found;

        if (is_finding)
                return;
        is_finding = true;
        for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
                found = dlsym(RTLD_NEXT, others[i].name);
                memcpy((uint8_t *)&real_allocator + others[i].at, &found, sizeof(found));
        }
        found = dlsym(RTLD_NEXT, "malloc");
        __atomic_store_n((void **)&real_allocator.malloc, found, __ATOMIC_RELEASE);
        is_finding = false;
}

void *real_pool_take(size_t alignment, size_t n_bytes) {
        size_t begin = __atomic_load_n(&n_taken, __ATOMIC_RELAXED), at;

        alignment = MAX(alignment, _Alignof(max_align_t));
        do {
                at = ALIGN_UP(begin, alignment);
                if (at > POOL_BYTES || n_bytes > POOL_BYTES - at)
                        return NULL;
        } while (!__atomic_compare_exchange_n(
                &n_taken, &begin, at + n_bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
        return pool + at;
}

bool real_pool_has(const void *memory, size_t *ret_n_bytes) {
        const uintptr_t at = (uintptr_t)memory - (uintptr_t)pool;

        if (at >= POOL_BYTES)
                return false;
        if (ret_n_bytes)
                *ret_n_bytes = POOL_BYTES - at;
        return true;
}
