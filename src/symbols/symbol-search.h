/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Symbol search: where the names of a module's functions are
 *
 * First in the separate file with its debug information, by its build id; then in the module itself, which may be a
 * file of a sandbox. Only if neither names all of its functions are the servers of $DEBUGINFOD_URLS asked, and only if
 * that is wanted.
 */

#include "symbols/flatpak-files.h"

#define SYMBOL_FILES_MAX 3u /* of one module */

typedef struct SymbolSearch {
        bool uses_debuginfod;
        bool wants_lines; /* of source lines as well */
        bool lacks_tool;  /* set while searching */
        char **roots;     /* directories that contain .build-id, NULL-terminated */
        FlatpakFiles flatpak;
        struct debuginfod_client *debuginfod;
        bool has_asked; /* whether the library for it is there */
} SymbolSearch;

/* The functions of one module, and the files that they are from. */
typedef struct ModuleFunctions {
        FunctionTable table;
        SymbolFile files[SYMBOL_FILES_MAX];
        size_t n_files;
        bool has_locals; /* not only the exported ones */
        int lines_fd;    /* the descriptor of the file with line numbers; borrowed; -1: none */
} ModuleFunctions;

/* Returns 0 or -ENOMEM. */
int symbol_search_init(SymbolSearch *search, bool uses_debuginfod);
void symbol_search_deinit(SymbolSearch *search);

void module_functions_load(ModuleFunctions *ret,
                           SymbolSearch *search,
                           const char *path,
                           const BuildId *build_id);
void module_functions_deinit(ModuleFunctions *functions);
