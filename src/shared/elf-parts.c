/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one thing to know of an ELF file before libelf reads it. */

#include <elf.h>
#include <unistd.h>

#include "shared/elf-parts.h"

bool elf_has_many_parts(int fd) {
        union {
                unsigned char ident[EI_NIDENT];
                Elf64_Ehdr wide;
                Elf32_Ehdr narrow;
        } head = {};

        if (pread(fd, &head, sizeof(head), 0) < (ssize_t)sizeof(head.narrow))
                return false;
        if (head.ident[EI_CLASS] == ELFCLASS64)
                return head.wide.e_phnum == PN_XNUM || (!head.wide.e_shnum && head.wide.e_shoff);
        return head.narrow.e_phnum == PN_XNUM || (!head.narrow.e_shnum && head.narrow.e_shoff);
}
