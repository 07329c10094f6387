/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Flatpak files: where the files of a sandbox are */

#include "symbols/flatpak-files.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* INSTALLATION/KIND/ID/ARCH/BRANCH/COMMIT, seen from KIND. */
#define COMMIT_LEVEL   4
#define PATH_BYTES_MAX 4096u

/*
 * Folders
 */

static int add_folder(FlatpakFiles *files, const char *commit) {
        FlatpakFolder *folders =
                reallocarray(files->folders, files->n_folders + 1, sizeof(*folders));

        if (!folders)
                return -ENOMEM;
        files->folders = folders;
        folders[files->n_folders].is_debug = strstr(commit, ".Debug/");
        if (asprintf(&folders[files->n_folders].path, "%s/files", commit) < 0)
                return -ENOMEM;
        files->n_folders++;
        return 0;
}

static bool has_room(const FlatpakFiles *files) {
        return files->n_folders < FLATPAK_FOLDERS_MAX && files->n_entries < FLATPAK_ENTRIES_MAX;
}

/* Links are not followed: what "active" and "current" name is found anyway. In glibc, a tree that is closed before
 * anything was read from it leaks. */
static int add_folders(FlatpakFiles *files, char *top) {
        char *const tops[] = { top, NULL };
        FTSENT *entry;
        FTS *tree;
        int r = 0;

        if (!has_room(files))
                return 0;
        tree = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
        if (!tree)
                return errno == ENOMEM ? -ENOMEM : 0;
        while (r == 0 && has_room(files) && (entry = fts_read(tree))) {
                files->n_entries++;
                if (entry->fts_info != FTS_D || entry->fts_level < COMMIT_LEVEL)
                        continue;
                r = add_folder(files, entry->fts_path);
                (void)fts_set(tree, entry, FTS_SKIP);
        }
        (void)fts_close(tree);
        return r;
}

int flatpak_files_add(FlatpakFiles *files, const char *installation) {
        static const char *const kinds[] = { "app", "runtime" };

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                _cleanup_(freep) char *top = NULL;
                int r = asprintf(&top, "%s/%s", installation, kinds[i]) < 0
                                ? -ENOMEM
                                : add_folders(files, top);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* NULL: no memory. */
static char *find_users_own(void) {
        const char *own = getenv("FLATPAK_USER_DIR"), *data = getenv("XDG_DATA_HOME");
        const char *home = getenv("HOME");
        char *found = NULL;
        int n;

        if (own)
                n = asprintf(&found, "%s", own);
        else if (data && *data)
                n = asprintf(&found, "%s/flatpak", data);
        else
                n = asprintf(&found, "%s/.local/share/flatpak", home ? home : "");
        return n < 0 ? NULL : found;
}

int flatpak_files_init(FlatpakFiles *ret) {
        const char *system = getenv("FLATPAK_SYSTEM_DIR");
        _cleanup_(freep) char *own = find_users_own();
        int r;

        *ret = (FlatpakFiles){ 0 };
        r = own ? flatpak_files_add(ret, own) : -ENOMEM;
        return r < 0 ? r : flatpak_files_add(ret, system ? system : "/var/lib/flatpak");
}

void flatpak_files_deinit(FlatpakFiles *files) {
        for (size_t i = 0; i < files->n_folders; i++)
                free(files->folders[i].path);
        free(files->folders);
}

/*
 * Files
 */

/* The next files are probably in the same folder. */
static void move_to_front(FlatpakFiles *files, size_t i) {
        const FlatpakFolder folder = files->folders[i];

        memmove(files->folders + 1, files->folders, i * sizeof(folder));
        files->folders[0] = folder;
}

/* A file that is looked for. */
typedef struct Wanted {
        const BuildId *build_id;
        const char *suffix;
        bool is_debug;
} Wanted;

static int
open_in(const FlatpakFolder *folder, SymbolFile *ret, const char *end, const Wanted *wanted) {
        char path[PATH_BYTES_MAX];
        int n = snprintf(path, sizeof(path), "%s/%s%s", folder->path, end, wanted->suffix);

        return n < (int)sizeof(path) ? symbol_file_open(ret, path, wanted->build_id)
                                     : SYMBOL_FILE_E_NONE;
}

static int
open_in_any(FlatpakFiles *files, SymbolFile *ret, const char *end, const Wanted *wanted) {
        for (size_t i = 0; i < files->n_folders; i++) {
                if (files->folders[i].is_debug != wanted->is_debug)
                        continue;
                if (files->n_tried >= FLATPAK_FILES_TRIED_MAX)
                        break;
                files->n_tried++;
                if (open_in(&files->folders[i], ret, end, wanted) == 0) {
                        move_to_front(files, i);
                        return 0;
                }
        }
        return SYMBOL_FILE_E_NONE;
}

/* A folder is shown at /app, at /usr, or, of an extension, anywhere below. */
static int
open_by_end(FlatpakFiles *files, SymbolFile *ret, const char *path, const Wanted *wanted) {
        const char *slash = strchr(path, '/');

        for (size_t i = 0; slash && i < FLATPAK_DEPTH_MAX; i++) {
                if (open_in_any(files, ret, slash + 1, wanted) == 0)
                        return 0;
                slash = strchr(slash + 1, '/');
        }
        return SYMBOL_FILE_E_NONE;
}

int flatpak_files_open(FlatpakFiles *files,
                       SymbolFile *ret,
                       const char *path,
                       const BuildId *build_id) {
        return open_by_end(files, ret, path, &(Wanted){ .build_id = build_id, .suffix = "" });
}

int flatpak_files_open_debug(FlatpakFiles *files,
                             SymbolFile *ret,
                             const char *path,
                             const BuildId *build_id) {
        return open_by_end(files,
                           ret,
                           path,
                           &(Wanted){ .build_id = build_id, .suffix = ".debug", .is_debug = true });
}
