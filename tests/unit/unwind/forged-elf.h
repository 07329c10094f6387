/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A program's file of one segment, made byte by byte: an index of frames, common data and functions
 *
 * Functions are called FORGED_BYTES apart, from FORGED_START on, and are FORGED_BYTES long.
 */

#include <elf.h>
#include <string.h>

#include "unwind/module.h"

#define FORGED_START   0x1000u
#define FORGED_BYTES   0x100u
#define FORGED_INDEX   0x200u
#define FORGED_SECTION 0x400u
#define FORGED_SIZE    0x4000u

typedef struct ForgedElf {
        ModuleReader reader;
        uint8_t bytes[FORGED_SIZE];
        size_t n_section; /* bytes of .eh_frame so far */
        size_t n_functions;
} ForgedElf;

static inline int64_t
forged_read(ModuleReader *reader, void *buffer, size_t n_bytes, uint64_t offset) {
        const ForgedElf *elf = (ForgedElf *)reader;

        if (offset >= sizeof(elf->bytes))
                return 0;
        if (n_bytes > sizeof(elf->bytes) - offset)
                n_bytes = sizeof(elf->bytes) - offset;
        memcpy(buffer, elf->bytes + offset, n_bytes);
        return (int64_t)n_bytes;
}

static inline void forged_number(ForgedElf *elf, size_t at, uint64_t value, size_t n_bytes) {
        for (size_t i = 0; i < n_bytes; i++)
                elf->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

static inline void
forged_segment(ForgedElf *elf, size_t i, uint32_t type, uint64_t offset, uint64_t n) {
        const size_t at = sizeof(Elf64_Ehdr) + i * sizeof(Elf64_Phdr);

        forged_number(elf, at, type, 4);
        forged_number(elf, at + 4, PF_R | PF_X, 4);
        forged_number(elf, at + 8, offset, 8);
        forged_number(elf, at + 16, offset, 8);
        forged_number(elf, at + 32, n, 8);
        forged_number(elf, at + 40, n, 8);
}

/* A record with its length, padded: where it begins. */
static inline size_t forged_record(ForgedElf *elf, const uint8_t *body, size_t n_bytes) {
        const size_t at = elf->n_section, n = (n_bytes + 3) / 4 * 4;

        forged_number(elf, FORGED_SECTION + at, n, 4);
        memcpy(elf->bytes + FORGED_SECTION + at + 4, body, n_bytes);
        elf->n_section += 4 + n;
        return at;
}

/* Version 1, "zR", code in steps of 1, data of -8, the return address's column 16, addresses of 4 bytes from where they
 * stand. `program`: how functions begin. */
static inline void forged_begin(ForgedElf *elf, const uint8_t *program, size_t n_program) {
        static const uint8_t magic[] = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB };
        uint8_t body[64] = { 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b };

        *elf = (ForgedElf){ .reader.read = forged_read };
        memcpy(elf->bytes, magic, sizeof(magic));
        forged_number(elf, offsetof(Elf64_Ehdr, e_machine), EM_X86_64, 2);
        forged_number(elf, offsetof(Elf64_Ehdr, e_phoff), sizeof(Elf64_Ehdr), 8);
        forged_number(elf, offsetof(Elf64_Ehdr, e_phentsize), sizeof(Elf64_Phdr), 2);
        forged_number(elf, offsetof(Elf64_Ehdr, e_phnum), 2, 2);
        forged_segment(elf, 0, PT_LOAD, 0, FORGED_SIZE);
        forged_segment(elf, 1, PT_GNU_EH_FRAME, FORGED_INDEX, FORGED_SECTION - FORGED_INDEX);
        memcpy(elf->bytes + FORGED_INDEX, "\x01\x1b\x03\x3b", 4);
        forged_number(elf, FORGED_INDEX + 4, FORGED_SECTION - FORGED_INDEX - 4, 4);
        if (n_program > 0)
                memcpy(body + 13, program, n_program);
        forged_record(elf, body, 13 + n_program);
}

/* One more function: its address. */
static inline uint64_t forged_function(ForgedElf *elf, const uint8_t *program, size_t n_program) {
        const uint64_t start = FORGED_START + elf->n_functions * FORGED_BYTES;
        const size_t row = FORGED_INDEX + 12 + elf->n_functions * 8;
        uint8_t body[256] = {};
        size_t at;

        if (n_program > 0)
                memcpy(body + 13, program, n_program);
        at = forged_record(elf, body, 13 + n_program);
        forged_number(elf, FORGED_SECTION + at + 4, at + 4, 4); /* back to the common data */
        forged_number(elf, FORGED_SECTION + at + 8, start - (FORGED_SECTION + at + 8), 4);
        forged_number(elf, FORGED_SECTION + at + 12, FORGED_BYTES, 4);
        forged_number(elf, row, start - FORGED_INDEX, 4);
        forged_number(elf, row + 4, FORGED_SECTION + at - FORGED_INDEX, 4);
        elf->n_functions++;
        forged_number(elf, FORGED_INDEX + 8, elf->n_functions, 4);
        return start;
}
