/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Own allocator: whether the program is linked with one whose work we cannot see, because it calls no malloc() */

#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "heap/own-allocator.h"
#include "shared/macro.h"

/* Words from the allocators' messages. A program has them only if the allocator's code is in it, not if it is linked
 * to a library. */
static const char *find_word(const void *data, size_t n) {
        static const struct {
                const char *word, *allocator;
        } all[] = {
                { "<jemalloc>: ", "jemalloc" },
                { "mimalloc: ", "mimalloc" },
                { "tcmalloc: ", "tcmalloc" },
                { "PartitionAlloc", "PartitionAlloc" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                if (memmem(data, n, all[i].word, strlen(all[i].word)))
                        return all[i].allocator;
        return NULL;
}

const char *own_allocator_find(void) {
        const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR);
        const size_t n = headers ? getauxval(AT_PHNUM) : 0;
        const char *found = NULL;
        uintptr_t base = 0;

        for (size_t i = 0; i < n; i++)
                if (headers[i].p_type == PT_PHDR)
                        base = (uintptr_t)headers - headers[i].p_vaddr;
        for (size_t i = 0; i < n && !found; i++)
                if (headers[i].p_type == PT_LOAD && headers[i].p_flags == PF_R)
                        found = find_word((const void *)(base + headers[i].p_vaddr),
                                          headers[i].p_filesz);
        return found;
}
