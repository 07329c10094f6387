/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Real: the allocator that the program would have without us */

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap/real.h"
#include "shared/macro.h"

#define CACHED_BYTES_MAX 1032 /* the largest block that glibc caches for each thread */
#define MMAP2_BYTES      4096 /* the unit of the offset that it takes */

_Alignas(64) uint8_t real_pool[REAL_POOL_BYTES];
size_t real_clear_max;

static size_t n_taken;

void *real_pool_take(size_t alignment, size_t n_bytes) {
        size_t begin = __atomic_load_n(&n_taken, __ATOMIC_RELAXED), at;

        alignment = MAX(alignment, _Alignof(max_align_t));
        do {
                at = ALIGN_UP(begin, alignment);
                if (at > REAL_POOL_BYTES || n_bytes > REAL_POOL_BYTES - at) {
                        errno = ENOMEM;
                        return NULL;
                }
        } while (!__atomic_compare_exchange_n(
                &n_taken, &begin, at + n_bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
        return real_pool + at;
}

/*
 * These stand in until the real functions are found. One that is still unknown after real_find() does not exist, or
 * this thread or another is just looking it up.
 */

static void *first_malloc(size_t n_bytes) {
        real_find();
        if (real_allocator.malloc == first_malloc)
                return real_pool_take(1, n_bytes);
        return real_allocator.malloc(n_bytes);
}

static void first_free(void *memory) {
        real_find();
        if (real_allocator.free != first_free)
                real_allocator.free(memory);
}

/* The pool never reuses memory, so all of it is still zero. The hook has checked that the product does not overflow. */
static void *first_calloc(size_t n, size_t n_bytes) {
        real_find();
        if (real_allocator.calloc == first_calloc)
                return real_pool_take(1, n * n_bytes);
        return real_allocator.calloc(n, n_bytes);
}

/* `old` is not from the pool: the hook handles that case. */
static void *first_realloc(void *old, size_t n_bytes) {
        real_find();
        if (real_allocator.realloc == first_realloc)
                return real_pool_take(1, n_bytes);
        return real_allocator.realloc(old, n_bytes);
}

static void *first_memalign(size_t alignment, size_t n_bytes) {
        real_find();
        if (real_allocator.memalign == first_memalign)
                return real_pool_take(alignment, n_bytes);
        return real_allocator.memalign(alignment, n_bytes);
}

static void *first_aligned_alloc(size_t alignment, size_t n_bytes) {
        real_find();
        if (real_allocator.aligned_alloc == first_aligned_alloc)
                return real_pool_take(alignment, n_bytes);
        return real_allocator.aligned_alloc(alignment, n_bytes);
}

static int first_posix_memalign(void **ret, size_t alignment, size_t n_bytes) {
        real_find();
        if (real_allocator.posix_memalign == first_posix_memalign)
                return ENOMEM;
        return real_allocator.posix_memalign(ret, alignment, n_bytes);
}

static void *first_valloc(size_t n_bytes) {
        real_find();
        if (real_allocator.valloc == first_valloc)
                return real_pool_take((size_t)getpagesize(), n_bytes);
        return real_allocator.valloc(n_bytes);
}

static void *first_pvalloc(size_t n_bytes) {
        real_find();
        if (real_allocator.pvalloc == first_pvalloc)
                return NULL;
        return real_allocator.pvalloc(n_bytes);
}

/* Memory can be mapped without the C library. */

static void *
first_mmap64(void *at, size_t n_bytes, int protection, int flags, int fd, int64_t offset) {
        real_find();
        if (real_allocator.mmap64 != first_mmap64)
                return real_allocator.mmap64(at, n_bytes, protection, flags, fd, offset);
#ifdef SYS_mmap2
        return (void *)syscall(
                SYS_mmap2, at, n_bytes, protection, flags, fd, (long)(offset / MMAP2_BYTES));
#else
        return (void *)syscall(SYS_mmap, at, n_bytes, protection, flags, fd, offset);
#endif
}

static void *first_mmap(void *at, size_t n_bytes, int protection, int flags, int fd, long offset) {
        real_find();
        if (real_allocator.mmap == first_mmap)
                return first_mmap64(at, n_bytes, protection, flags, fd, offset);
        return real_allocator.mmap(at, n_bytes, protection, flags, fd, offset);
}

static int first_munmap(void *memory, size_t n_bytes) {
        real_find();
        if (real_allocator.munmap == first_munmap)
                return (int)syscall(SYS_munmap, memory, n_bytes);
        return real_allocator.munmap(memory, n_bytes);
}

/* The hook always passes all five arguments. */
static void *first_mremap(void *old, size_t n_old, size_t n_bytes, int flags, ...) {
        __builtin_va_list arguments;
        void *at;

        __builtin_va_start(arguments, flags);
        at = __builtin_va_arg(arguments, void *);
        __builtin_va_end(arguments);
        real_find();
        if (real_allocator.mremap == first_mremap)
                return (void *)syscall(SYS_mremap, old, n_old, n_bytes, flags, at);
        return real_allocator.mremap(old, n_old, n_bytes, flags, at);
}

RealAllocator real_allocator = {
        .malloc = first_malloc,
        .free = first_free,
        .calloc = first_calloc,
        .realloc = first_realloc,
        .memalign = first_memalign,
        .aligned_alloc = first_aligned_alloc,
        .posix_memalign = first_posix_memalign,
        .valloc = first_valloc,
        .pvalloc = first_pvalloc,
        .mmap = first_mmap,
        .mmap64 = first_mmap64,
        .munmap = first_munmap,
        .mremap = first_mremap,
};

/* This is known only of the C library's allocator. */
static size_t find_clear_max(const void *found) {
        void *get_version = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
        Dl_info of_malloc, of_library;
        const char *(*call)(void);
        const char *version;

        if (!get_version || !dladdr(found, &of_malloc) || !dladdr(get_version, &of_library) ||
            of_malloc.dli_fbase != of_library.dli_fbase)
                return 0;
        memcpy(&call, &get_version, sizeof(call));
        version = call();
        return strncmp(version, "2.", 2) == 0 && strverscmp(version, "2.41") < 0 ? CACHED_BYTES_MAX
                                                                                 : 0;
}

/* Whether the function is in another file than this one. A program that is not position-independent has entries of
 * its own for the functions that it calls. The linker finds those first, and they lead back to us. */
static bool is_elsewhere(const void *function) {
        const ElfW(Sym) *symbol = NULL;
        Dl_info of_function, of_us;

        return dladdr1(function, &of_function, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
               symbol->st_shndx != SHN_UNDEF && dladdr(real_pool, &of_us) &&
               of_function.dli_fbase != of_us.dli_fbase;
}

/* A program with a malloc() of its own usually lacks some functions of the family. What reaches us through those is
 * about memory that only the program's own functions know. */
static void *find_next(const char *name, bool is_first) {
        void *found = is_first ? NULL : dlsym(RTLD_DEFAULT, name);

        return found && is_elsewhere(found) ? found : dlsym(RTLD_NEXT, name);
}

/* Two threads may do this at the same time. Both find the same functions. */
void real_find(void) {
        static _Atomic bool is_finding;
        static const struct {
                const char *name;
                size_t at;
        } all[] = {
                { "free", offsetof(RealAllocator, free) },
                { "calloc", offsetof(RealAllocator, calloc) },
                { "realloc", offsetof(RealAllocator, realloc) },
                { "memalign", offsetof(RealAllocator, memalign) },
                { "aligned_alloc", offsetof(RealAllocator, aligned_alloc) },
                { "posix_memalign", offsetof(RealAllocator, posix_memalign) },
                { "valloc", offsetof(RealAllocator, valloc) },
                { "pvalloc", offsetof(RealAllocator, pvalloc) },
                { "mmap", offsetof(RealAllocator, mmap) },
                { "mmap64", offsetof(RealAllocator, mmap64) },
                { "munmap", offsetof(RealAllocator, munmap) },
                { "mremap", offsetof(RealAllocator, mremap) },
                { "malloc", offsetof(RealAllocator, malloc) },
        };

        void *first;
        bool is_first;

        if (is_finding)
                return;
        is_finding = true;
        first = dlsym(RTLD_DEFAULT, "malloc");
        is_first = !first || !is_elsewhere(first);
        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                void *found = find_next(all[i].name, is_first);

                if (found)
                        __atomic_store_n((void **)((uint8_t *)&real_allocator + all[i].at),
                                         found,
                                         __ATOMIC_RELEASE);
                if (found && all[i].at == offsetof(RealAllocator, malloc))
                        real_clear_max = find_clear_max(found);
        }
        is_finding = false;
}
