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

#define SYMBOL_SECTION_BYTES_MAX (UINT64_C(512) << 20) /* of a symbol table, or of its names */
#define SYMBOL_UNPACKED_MAX      (64u << 20)           /* of a table compressed within a file */
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
        void *unpacked; /* the file that was compressed within it */
        Elf *packed;
} SymbolFile;

/* Returns 0 or an outcome. */
int symbol_file_open(SymbolFile *ret, const char *path, const BuildId *build_id);
/* Always takes over the descriptor. */
int symbol_file_open_fd(SymbolFile *ret, int fd, const BuildId *build_id);
void symbol_file_close(SymbolFile *file);

/* Adds its functions, whose names belong to the file. Returns whether it has all of them, not only the exported
 * ones. */
bool symbol_file_read(SymbolFile *file, FunctionTable *table);

/* Whether it has line numbers of its code. */
bool symbol_file_has_lines(const SymbolFile *file);

/* Unpacks an xz stream; malloc'ed. Returns NULL if it is not one, is too large, or this build cannot unpack it. */
void *symbol_unpack(const void *packed, size_t n_packed, size_t *ret_n);
