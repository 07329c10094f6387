/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ELF file: the common part of the readers of programs' files
 *
 * The files are whatever a config names, so sizes are checked before libelf, which reads a section as a whole, is asked
 * for it.
 */

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/macro.h"

#define ELF_TABLE_BYTES_MAX \
        (UINT64_C(512) << 20) /* of a symbol table or its names: 20 million symbols */

/* Opens a program's file, and nothing that has side effects when it is opened or read. Returns 0 or PROBE_E_REFUSED. */
int elf_file_open_program(int *ret, const char *path, char **ret_error);

/* `fd` is of a regular file and stays open as long as the result; `path` is for errors. A file with more sections or
 * segments than its header can count is refused: no linker makes such a program. Returns 0, PROBE_E_REFUSED or -EIO. */
int elf_file_open(Elf **ret, int fd, const char *path, char **ret_error);

static inline void elf_endp(Elf **elf) {
        if (*elf)
                elf_end(*elf);
}

/* Whether a section has texts, not too many, of which the last one ends: else libelf would look for its end whenever it
 * is asked for any of them. */
bool elf_texts_are_sane(Elf *elf, size_t section, uint64_t max_bytes);

static inline bool elf_section_is_sane(const GElf_Shdr *header) {
        return header->sh_size <= ELF_TABLE_BYTES_MAX;
}

/* Converts an address in memory to an offset in the file, by the segments that have all of `flags` (PF_X). */
bool elf_file_offset(Elf *elf, uint64_t address, uint32_t flags, uint64_t *ret);
