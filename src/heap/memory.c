/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Memory of our own, apart from the program's heap */

#include <sys/mman.h>

#include "heap/memory.h"

void *heap_memory_map(size_t n_bytes) {
        void *memory = mmap(NULL,
                            n_bytes,
                            PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                            -1,
                            0);

        return memory == MAP_FAILED ? NULL : memory;
}

void heap_memory_unmap(void *memory, size_t n_bytes) {
        if (memory)
                munmap(memory, n_bytes);
}

void *heap_memory_map_own(size_t n_bytes) {
        void *memory = heap_memory_map(n_bytes);

        if (memory && madvise(memory, n_bytes, MADV_WIPEONFORK) != 0) {
                heap_memory_unmap(memory, n_bytes);
                return NULL;
        }
        return memory;
}
