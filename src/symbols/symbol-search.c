/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Symbol search: where the names of a module's functions are */

#include "symbols/symbol-search.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/fd.h"

#define ROOTS_MAX      64u
#define PATH_BYTES_MAX 4096u

/* Where distributions and developers keep debug information. */
static const char *const root_patterns[] = { "/usr/lib/debug", "~/.debug" };

static int add_roots(SymbolSearch *search) {
        glob_t found = { 0 };
        size_t n;

        for (size_t i = 0; i < ARRAY_SIZE(root_patterns); i++)
                (void)glob(root_patterns[i],
                           GLOB_NOSORT | GLOB_TILDE | (i > 0 ? GLOB_APPEND : 0),
                           NULL,
                           &found);
        n = MIN(found.gl_pathc, (size_t)ROOTS_MAX);
        search->roots = calloc(n + 1, sizeof(*search->roots));
        for (size_t i = 0; search->roots && i < n; i++)
                search->roots[i] = strdup(found.gl_pathv[i]);
        globfree(&found);
        return search->roots ? 0 : -ENOMEM;
}

int symbol_search_init(SymbolSearch *search, bool uses_debuginfod) {
        int r;

        *search = (SymbolSearch){ .uses_debuginfod = uses_debuginfod };
        r = add_roots(search);
        return r < 0 ? r : flatpak_files_init(&search->flatpak);
}

/*
 * debuginfod
 */

typedef struct debuginfod_client DebuginfodClient;

/* Of libdebuginfod.so.1: it brings a library for HTTP along, so it is loaded only when it is wanted. */
static struct {
        DebuginfodClient *(*begin)(void);
        int (*find)(DebuginfodClient *client, const unsigned char *id, int n_id, char **path);
        void (*end)(DebuginfodClient *client);
} debuginfod;

static bool find_function(void *library, const char *name, void *ret) {
        void *function = dlsym(library, name);

        memcpy(ret, &function, sizeof(function));
        return function;
}

static DebuginfodClient *begin_asking(SymbolSearch *search) {
        void *library;

        if (search->has_asked)
                return search->debuginfod;
        search->has_asked = true;
        library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);
        if (library && find_function(library, "debuginfod_begin", &debuginfod.begin) &&
            find_function(library, "debuginfod_find_debuginfo", &debuginfod.find) &&
            find_function(library, "debuginfod_end", &debuginfod.end))
                search->debuginfod = debuginfod.begin();
        return search->debuginfod;
}

static int ask_debuginfod(SymbolSearch *search, SymbolFile *ret, const BuildId *build_id) {
        DebuginfodClient *client = search->uses_debuginfod ? begin_asking(search) : NULL;
        int fd;

        if (!client)
                return SYMBOL_FILE_E_NONE;
        fd = debuginfod.find(client, build_id->bytes, (int)build_id->n, NULL);
        return fd < 0 ? SYMBOL_FILE_E_NONE : symbol_file_open_fd(ret, fd, build_id);
}

void symbol_search_deinit(SymbolSearch *search) {
        if (search->debuginfod)
                debuginfod.end(search->debuginfod);
        for (char **root = search->roots; root && *root; root++)
                free(*root);
        free(search->roots);
        flatpak_files_deinit(&search->flatpak);
}

/*
 * Modules
 */

static void add_file(ModuleFunctions *functions, const SymbolFile *file) {
        SymbolFile *ours = &functions->files[functions->n_files++];

        *ours = *file;
        functions->has_locals |= symbol_file_read(ours, &functions->table);
        if (functions->lines_fd < 0 && symbol_file_has_lines(ours))
                functions->lines_fd = ours->fd;
}

/* ROOT/.build-id/ab/cdef….debug */
static void add_separate(ModuleFunctions *functions, const char *root, const BuildId *build_id) {
        char path[PATH_BYTES_MAX], id[2 * SYMBOL_BUILD_ID_MAX + 1];
        SymbolFile file;

        for (size_t i = 0; i < build_id->n; i++)
                snprintf(id + 2 * i, 3, "%02x", build_id->bytes[i]);
        if (snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", root, id, id + 2) >=
            (int)sizeof(path))
                return;
        if (symbol_file_open(&file, path, build_id) == 0)
                add_file(functions, &file);
}

static void add_any_separate(ModuleFunctions *functions,
                             SymbolSearch *search,
                             const char *path,
                             const BuildId *build_id) {
        const FlatpakFiles *flatpak = &search->flatpak;
        SymbolFile file;

        for (char **root = search->roots; *root && functions->n_files == 0; root++)
                add_separate(functions, *root, build_id);
        for (size_t i = 0; i < flatpak->n_folders && functions->n_files == 0; i++)
                if (flatpak->folders[i].is_debug)
                        add_separate(functions, flatpak->folders[i].path, build_id);
        if (functions->n_files == 0 &&
            flatpak_files_open_debug(&search->flatpak, &file, path, build_id) == 0)
                add_file(functions, &file);
}

/* The system's own files have other names in a sandbox. */
static int open_outside(SymbolFile *ret, const char *path, const BuildId *build_id) {
        static const char shown_at[] = "/run/host/";

        if (strncmp(path, shown_at, strlen(shown_at)) != 0)
                return SYMBOL_FILE_E_NONE;
        return symbol_file_open(ret, path + strlen(shown_at) - 1, build_id);
}

/* The kernel marks the name of a file that was replaced while it ran. */
static void add_module(ModuleFunctions *functions,
                       SymbolSearch *search,
                       const char *path,
                       const BuildId *build_id) {
        static const char deleted[] = " (deleted)";
        const size_t n = strlen(path), n_mark = sizeof(deleted) - 1;
        char plain[PATH_BYTES_MAX];
        SymbolFile file;

        if (path[0] != '/' || n >= sizeof(plain))
                return;
        memcpy(plain, path, n + 1);
        if (n > n_mark && streq(path + n - n_mark, deleted))
                plain[n - n_mark] = '\0';
        if (symbol_file_open(&file, plain, build_id) == 0 ||
            open_outside(&file, plain, build_id) == 0 ||
            flatpak_files_open(&search->flatpak, &file, plain, build_id) == 0)
                add_file(functions, &file);
}

static bool has_all(const ModuleFunctions *functions, const SymbolSearch *search) {
        return functions->has_locals && (!search->wants_lines || functions->lines_fd >= 0);
}

void module_functions_load(ModuleFunctions *ret,
                           SymbolSearch *search,
                           const char *path,
                           const BuildId *build_id) {
        SymbolFile file;

        *ret = (ModuleFunctions){ .lines_fd = -1 };
        if (build_id->n < 2)
                return;
        add_any_separate(ret, search, path, build_id);
        if (!has_all(ret, search))
                add_module(ret, search, path, build_id);
        if (!has_all(ret, search) && ask_debuginfod(search, &file, build_id) == 0)
                add_file(ret, &file);
}

void module_functions_deinit(ModuleFunctions *functions) {
        function_table_deinit(&functions->table);
        for (size_t i = 0; i < functions->n_files; i++)
                symbol_file_close(&functions->files[i]);
}
