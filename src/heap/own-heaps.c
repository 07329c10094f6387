/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Own heaps: what programs report about their own allocators (desktrace/heap.h)
 *
 * A dt_heap pointer is the heap's number and is never followed.
 */

#include <errno.h>

#include "desktrace/heap.h"
#include "heap/profile.h"

#define HOOK _public_ __attribute__((__noinline__, __noclone__))

_Static_assert(DT_HEAP_NAME_MAX == PROFILE_HEAP_NAME_MAX, "");

static uint8_t number_of(const dt_heap *heap) {
        return (uint8_t)(uintptr_t)heap;
}

/* The first two numbers are the C library's heap and mapped memory. */
HOOK int dt_heap_register(dt_heap **ret, const char *name) {
        const int r = profile_heap_find(name);

        *ret = NULL;
        if (r < 0)
                return r;
        if (r < _PROFILE_HEAPS_N)
                return -EINVAL;
        *ret = (dt_heap *)(uintptr_t)r;
        return 0;
}

HOOK void dt_heap_allocated(dt_heap *heap, const void *address, size_t n_bytes) {
        if (heap && address && UNLIKELY(profile_is_due(n_bytes))) {
                WalkStart start;

                walk_capture(&start);
                profile_allocated(number_of(heap), address, n_bytes, &start);
                __asm__ volatile("" ::: "memory"); /* keeps the hook's frame alive until here */
        }
}

HOOK void dt_heap_freed(dt_heap *heap, const void *address) {
        if (heap && UNLIKELY(profile_may_have(number_of(heap), address)))
                profile_freed(number_of(heap), address);
}

HOOK void dt_heap_freed_range(dt_heap *heap, const void *start, size_t n_bytes) {
        if (heap)
                profile_freed_range(number_of(heap), start, n_bytes);
}
