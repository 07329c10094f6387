/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Map hooks: memory that programs map for themselves, for example in an allocator of their own
 *
 * The C library maps memory for malloc() without calling these functions, so nothing is counted twice. Small mappings
 * are not counted. Neither are mappings that nobody may read or write yet, because they only reserve address space.
 */

/* Where offsets have 32 bits, mmap() and mmap64() are two functions. This file has no times, so it does not need the
 * 64-bit times that would bring 64-bit offsets with them. */
#undef _FILE_OFFSET_BITS
#undef _TIME_BITS

#include <sys/mman.h>

#include "heap/profile.h"
#include "heap/real.h"

#define HOOK      _public_ __attribute__((__noinline__, __noclone__))
#define BYTES_MIN (128u << 10)

static bool is_counted(size_t n_bytes, int protection, int flags) {
        return n_bytes >= BYTES_MIN && flags & MAP_ANONYMOUS &&
               protection & (PROT_READ | PROT_WRITE) && profile_wants_maps();
}

/* Inlined into the hook, because the recorded stack begins there. */
static inline __attribute__((__always_inline__)) void mapped(void *memory, size_t n_bytes) {
        WalkStart start;

        if (memory == MAP_FAILED)
                return;
        walk_capture(&start);
        profile_mapped(memory, n_bytes, &start);
        __asm__ volatile("" ::: "memory"); /* keeps the hook's frame alive until here */
}

/* MAP_FIXED replaces whatever was mapped at the address before. */
static void replaced(void *memory, size_t n_bytes, int flags) {
        if (flags & MAP_FIXED && profile_wants_maps())
                (void)profile_unmapped(memory, n_bytes);
}

HOOK void *mmap(void *at, size_t n_bytes, int protection, int flags, int fd, off_t offset) {
        void *memory;

        replaced(at, n_bytes, flags);
        if (!is_counted(n_bytes, protection, flags))
                return real_allocator.mmap(at, n_bytes, protection, flags, fd, offset);
        memory = real_allocator.mmap(at, n_bytes, protection, flags, fd, offset);
        mapped(memory, n_bytes);
        return memory;
}

HOOK void *mmap64(void *at, size_t n_bytes, int protection, int flags, int fd, off64_t offset) {
        void *memory;

        replaced(at, n_bytes, flags);
        if (!is_counted(n_bytes, protection, flags))
                return real_allocator.mmap64(at, n_bytes, protection, flags, fd, offset);
        memory = real_allocator.mmap64(at, n_bytes, protection, flags, fd, offset);
        mapped(memory, n_bytes);
        return memory;
}

/* Counted before the call, because another thread may map the same address right after it. */
HOOK int munmap(void *memory, size_t n_bytes) {
        if (profile_wants_maps())
                (void)profile_unmapped(memory, n_bytes);
        return real_allocator.munmap(memory, n_bytes);
}

/* If the call fails, the memory counts as unmapped and mapped again. */
HOOK void *mremap(void *old, size_t n_old, size_t n_bytes, int flags, ...) {
        void *memory, *at = NULL;
        uint64_t n_counted = 0;

        if (flags & MREMAP_FIXED) {
                __builtin_va_list arguments;

                __builtin_va_start(arguments, flags);
                at = __builtin_va_arg(arguments, void *);
                __builtin_va_end(arguments);
                replaced(at, n_bytes, MAP_FIXED);
        }
        if (profile_wants_maps())
                n_counted = profile_unmapped(old, n_old);
        memory = real_allocator.mremap(old, n_old, n_bytes, flags, at);
        if (n_counted > 0 && memory == MAP_FAILED)
                mapped(old, n_old);
        else if (n_counted > 0)
                mapped(memory, n_bytes);
        return memory;
}
