/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ELF parts: facts about an ELF file that libelf does not check or know */

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

static bool is_go_letter(uint8_t byte) {
        return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
               (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
}

bool go_build_id_shorten(const uint8_t **content, size_t *n_content) {
        const uint8_t *last;

        if (*n_content <= GO_ID_BYTES)
                return false;
        last = *content + *n_content - GO_ID_BYTES;
        for (size_t i = 0; i < GO_ID_BYTES; i++)
                if (!is_go_letter(last[i]))
                        return false;
        if (last[-1] != '/')
                return false;
        *content = last;
        *n_content = GO_ID_BYTES;
        return true;
}
