/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Symbol file: the functions that an ELF file names
 *
 * The file is whatever a trace names, and traces come from anywhere: it is opened only if it is a regular file, is read
 * rather than mapped, and must have the build id of what was recorded. Sizes are checked before libelf, which reads a
 * section as a whole, is asked for one.
 */

#include <libelf.h>

#include "shared/macro.h"
#include "symbols/function-table.h"

#define SYMBOL_SECTION_BYTES_MAX (UINT64_C(512) << 20) /* of a symbol table, or its names */
#define SYMBOL_UNPACKED_MAX      (64u << 20)           /* of a table that is packed within a file */
#define SYMBOL_BUILD_ID_MAX      64u

enum {
        _SYMBOL_FILE_E_SUCCESS,
        SYMBOL_FILE_E_NONE,  /* no such file, or not an ELF file */
        SYMBOL_FILE_E_OTHER, /* not the file that was recorded */
};

typedef struct BuildId {
        uint8_t bytes[SYMBOL_BUILD_ID_MAX];
        size_t n;
} BuildId;

typedef struct SymbolFile {
        int fd;
        Elf *elf;
        void *unpacked; /* what is packed within it */
        Elf *packed;
} SymbolFile;

/* 0 or an outcome. */
int symbol_file_open(SymbolFile *ret, const char *path, const BuildId *build_id);
/* Takes the descriptor in any case. */
int symbol_file_open_fd(SymbolFile *ret, int fd, const BuildId *build_id);
void symbol_file_close(SymbolFile *file);

/* Adds its functions, whose names are the file's. Returns whether it has all of them, not only the exported ones. */
bool symbol_file_read(SymbolFile *file, FunctionTable *table);

/* Whether it says which source lines its code is from. */
bool symbol_file_has_lines(const SymbolFile *file);

/* What an xz stream becomes: malloc'ed; NULL if it is none, is too large, or cannot be unpacked by this build. */
void *symbol_unpack(const void *packed, size_t n_packed, size_t *ret_n);
