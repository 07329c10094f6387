/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Module: one program or library, and the rows of its functions
 *
 * All processes that map a file share one module. The sections for unwinding are copied when the module is made; a row
 * is made when its address is looked up. The bytes come through a reader, so the caller decides what they are read
 * from: a file, another process, or its own memory.
 */

#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/elf-image.h"
#include "unwind/frame-index.h"
#include "unwind/frame-list.h"

#define MODULE_HEAD_BYTES  4096u
#define MODULE_NOTES_BYTES 4096u
#define MODULE_SECTION_MAX \
        (64u << 20) /* for each of the two sections; the largest known has 11 MB */

enum {
        _MODULE_E_SUCCESS,
        MODULE_E_NOT_ELF,   /* or for another machine */
        MODULE_E_NO_FRAMES, /* no .eh_frame, or an invalid .eh_frame_hdr */
};

typedef struct ModuleReader ModuleReader;

struct ModuleReader {
        /* Reads up to n_bytes at an offset of the file, fewer only at its end: how many, or a negative errno. */
        int64_t (*read)(ModuleReader *reader, void *buffer, size_t n_bytes, uint64_t offset);
        /* The same without a copy, for sections: the bytes stay where they are for as long as they are looked up in.
         * NULL: they are copied. */
        int64_t (*lend)(ModuleReader *reader, const uint8_t **ret, size_t n_bytes, uint64_t offset);
};

typedef struct Module {
        uint32_t id; /* never reused; a key for caches */
        const Architecture *architecture;
        ElfImage image;
        ElfSections sections;
        uint8_t build_id[BUILD_ID_MAX];
        size_t n_build_id;
        const uint8_t *index_bytes;
        size_t n_index_bytes;
        FrameIndex index; /* empty: no address can be looked up */
        const uint8_t *section_bytes;
        CfiSection section;
        bool is_lent; /* the bytes belong to the reader */
} Module;

/* Reads the headers and sections. MODULE_E_NO_FRAMES still makes a module, but one without rows; MODULE_E_NOT_ELF and
 * a negative errno make none. */
int module_new(Module **ret, ModuleReader *reader);
Module *module_free(Module *module);

/* The row of an address in the file's address space; ROW_NONE if it is unknown. */
void module_row(const Module *module, UnwindRow *ret, uint64_t address);

/* How much memory the module uses. */
size_t module_bytes(const Module *module);
