/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Mapping: memory that is mapped rather than allocated, so that pages never touched cost nothing */

#include <errno.h>
#include <sys/mman.h>

#include "buffer/mapping.h"

#define HUGE_PAGE_BYTES (2u << 20)

int mapping_new(void **ret, size_t n_bytes, int fd, uint64_t offset) {
        const int kind = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
        void *memory;

        memory = mmap(
                NULL, n_bytes, PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, fd, (off_t)offset);
        if (memory == MAP_FAILED)
                return -ENOMEM;
        *ret = memory;
        return 0;
}

void mapping_free(void *memory, size_t n_bytes) {
        if (memory)
                munmap(memory, n_bytes);
}

int mapping_replace(void *memory, void *by, size_t n_bytes) {
        return mremap(by, n_bytes, n_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, memory) == MAP_FAILED
                       ? -ENOMEM
                       : 0;
}

void mapping_advise(void *memory, size_t n_bytes) {
        /* Where there are no huge pages, small ones are used. */
        if (n_bytes >= HUGE_PAGE_BYTES)
                madvise(memory, n_bytes, MADV_HUGEPAGE);
}
