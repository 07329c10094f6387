/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Module: one program or library, and the rows of its functions
 *
 * However many processes have it, it is there once. Its sections for unwinding are copied when it is opened; a
 * function's rows are made when one of its addresses is looked up. Where the bytes come from (a file, a process, one's
 * own memory) is the caller's business: they come through a reader.
 */

#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/elf-image.h"
#include "unwind/frame-index.h"

#define MODULE_HEAD_BYTES  4096u
#define MODULE_NOTES_BYTES 4096u
#define MODULE_SECTION_MAX (64u << 20) /* each of the two; the largest known is 11 MB */

enum {
        _MODULE_E_SUCCESS,
        MODULE_E_NOT_ELF,   /* or of another machine */
        MODULE_E_NO_FRAMES, /* it has no index of frames, or one that cannot be */
};

typedef struct ModuleReader ModuleReader;

struct ModuleReader {
        /* Reads up to n_bytes at an offset of the file: how many it was, fewer only at the end, or a negative errno. */
        int64_t (*read)(ModuleReader *reader, void *buffer, size_t n_bytes, uint64_t offset);
        /* The same without a copy, for sections: the bytes stay where they are for as long as they are looked up in.
         * NULL: they are copied. */
        int64_t (*lend)(ModuleReader *reader, const uint8_t **ret, size_t n_bytes, uint64_t offset);
};

typedef struct Module {
        uint32_t id; /* never given out twice; caches go by it */
        const Architecture *architecture;
        ElfImage image;
        uint8_t build_id[BUILD_ID_MAX];
        size_t n_build_id;
        const uint8_t *index_bytes;
        size_t n_index_bytes;
        FrameIndex index; /* without rows: there is no way to look up an address */
        const uint8_t *section_bytes;
        CfiSection section;
        bool is_lent; /* the bytes are somebody else's */
} Module;

/* Reads the headers and sections: 0, MODULE_E_NOT_ELF or a negative errno, and then there is no module.
 * MODULE_E_NO_FRAMES: there is one, which has no rows. */
int module_new(Module **ret, ModuleReader *reader);
Module *module_free(Module *module);

/* The row of an address as the file counts, of kind ROW_NONE where nothing is known. */
void module_row(const Module *module, UnwindRow *ret, uint64_t address);

/* What it takes up. */
size_t module_bytes(const Module *module);
