/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Flatpak files: where the files of a sandbox are
 *
 * An app of Flatpak runs as /app/bin/NAME with libraries in /usr, and a trace has these paths. Outside of the sandbox
 * the files are in an installation, in the folder of an app, a runtime or an extension, each of which may be there in
 * several versions. All of them are looked through for the end of the path. What is found has to have the build id of
 * what was recorded, so it does not matter whose folder it is in.
 */

#include "symbols/symbol-file.h"

#define FLATPAK_ENTRIES_MAX     16384u /* in installations, that are looked at to find folders */
#define FLATPAK_FOLDERS_MAX     1024u  /* of apps, runtimes and extensions */
#define FLATPAK_DEPTH_MAX       16u    /* ends of a path that are tried */
#define FLATPAK_FILES_TRIED_MAX (1u << 20) /* of all paths together */

typedef struct FlatpakFolder {
        char *path;
        bool is_debug; /* an extension with debug information */
} FlatpakFolder;

/* Those with what is looked for come first, in the order of what was found last. */
typedef struct FlatpakFiles {
        FlatpakFolder *folders;
        size_t n_folders, n_entries, n_tried;
} FlatpakFiles;

/* Looks through the user's installation and the system's. Returns 0 or -ENOMEM. */
int flatpak_files_init(FlatpakFiles *ret);
/* Looks through another one. */
int flatpak_files_add(FlatpakFiles *files, const char *installation);
void flatpak_files_deinit(FlatpakFiles *files);

/* Opens the file that has this path in a sandbox, or its separate file with debug information. Returns 0 or
 * SYMBOL_FILE_E_NONE. */
int flatpak_files_open(FlatpakFiles *files,
                       SymbolFile *ret,
                       const char *path,
                       const BuildId *build_id);
int flatpak_files_open_debug(FlatpakFiles *files,
                             SymbolFile *ret,
                             const char *path,
                             const BuildId *build_id);
