/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An installation is made of copies of this program, some of which have another build id. */

#include "symbols/flatpak-files.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/fd.h"
#include "symbols/own-program.h"
#include "symbols/symbol-search.h"
#include "test.h"

#define APP      "app/org.example.App/x86_64/1/"
#define PLATFORM "runtime/org.example.Platform/x86_64/1/"
#define DRIVER   "runtime/org.example.Platform.GL.mesa/x86_64/1/"

typedef struct Installation {
        char path[32];
        Program program;
        FlatpakFiles files;
} Installation;

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *at) {
        (void)status;
        (void)kind;
        (void)at;
        return remove(path);
}

static void installation_deinit(Installation *installation) {
        flatpak_files_deinit(&installation->files);
        program_deinit(&installation->program);
        nftw(installation->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void installation_init(Installation *installation) {
        strcpy(installation->path, "/tmp/test-flatpak-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(installation->path));
        ck_assert_int_eq(setenv("FLATPAK_USER_DIR", installation->path, 1), 0);
        ck_assert_int_eq(setenv("FLATPAK_SYSTEM_DIR", "/nonexistent", 1), 0);
}

static void find_folders(Installation *installation) {
        ck_assert_int_eq(flatpak_files_init(&installation->files), 0);
}

/* The folders above it are made, too. */
static void
add_file(const Installation *installation, const char *name, const char *bytes, size_t n) {
        char path[4096];
        int fd;

        ck_assert_int_lt(snprintf(path, sizeof(path), "%s/%s", installation->path, name),
                         (int)sizeof(path));
        for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                (void)mkdir(path, 0755);
                *slash = '/';
        }
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fd_write_all(fd, bytes, n), 0);
        fd_close(fd);
}

static void add_program(const Installation *installation, const char *name) {
        add_file(installation, name, installation->program.bytes, installation->program.n);
}

static void add_other_program(const Installation *installation, const char *name) {
        const Program *program = &installation->program;
        char *id = memmem(program->bytes, program->n, program->build_id.bytes, program->build_id.n);

        ck_assert_ptr_nonnull(id);
        id[0] ^= 1;
        add_program(installation, name);
        id[0] ^= 1;
}

typedef int Open(FlatpakFiles *, SymbolFile *, const char *, const BuildId *);

static int open_as(Installation *installation, Open *function, const char *path) {
        SymbolFile file;
        int r = function(&installation->files, &file, path, &installation->program.build_id);

        if (r == 0)
                symbol_file_close(&file);
        return r;
}

START_TEST(test_a_file_of_a_sandbox_is_found_in_the_version_that_ran) {
        _cleanup_(installation_deinit) Installation installation = {};

        installation_init(&installation);
        if (!program_init(&installation.program))
                return;
        add_other_program(&installation, APP "new/files/bin/app");
        add_program(&installation, APP "old/files/bin/app");
        add_other_program(&installation, PLATFORM "new/files/bin/app");
        add_program(&installation, PLATFORM "new/files/lib/libc.so.6");
        add_program(&installation, DRIVER "new/files/lib/libGL.so");
        find_folders(&installation);
        ck_assert_uint_eq(installation.files.n_folders, 4);
        ck_assert_int_eq(open_as(&installation, flatpak_files_open, "/app/bin/app"), 0);
        ck_assert_int_eq(open_as(&installation, flatpak_files_open, "/usr/lib/libc.so.6"), 0);
        ck_assert_int_eq(open_as(&installation,
                                 flatpak_files_open,
                                 "/usr/lib/x86_64-linux-gnu/GL/mesa/lib/libGL.so"),
                         0);
        ck_assert_int_eq(open_as(&installation, flatpak_files_open, "/app/bin/other"),
                         SYMBOL_FILE_E_NONE);
        ck_assert_int_eq(open_as(&installation, flatpak_files_open, "/"), SYMBOL_FILE_E_NONE);
        ck_assert_int_eq(open_as(&installation, flatpak_files_open, "app"), SYMBOL_FILE_E_NONE);
        installation.program.build_id.bytes[1] ^= 1;
        ck_assert_int_eq(open_as(&installation, flatpak_files_open, "/app/bin/app"),
                         SYMBOL_FILE_E_NONE);
}
END_TEST

START_TEST(test_debug_information_is_found_by_the_path_of_what_it_is_for) {
        _cleanup_(installation_deinit) Installation installation = {};

        installation_init(&installation);
        if (!program_init(&installation.program))
                return;
        add_program(&installation, APP "new/files/bin/app.debug");
        add_program(&installation, "runtime/org.example.App.Debug/x86_64/1/new/files/bin/it.debug");
        add_program(&installation,
                    "runtime/org.example.Platform.Debug/x86_64/1/new/files/usr/lib/libit.so.debug");
        find_folders(&installation);
        ck_assert_int_eq(open_as(&installation, flatpak_files_open_debug, "/app/bin/it"), 0);
        ck_assert_int_eq(open_as(&installation, flatpak_files_open_debug, "/usr/lib/libit.so"), 0);
        ck_assert_int_eq(open_as(&installation, flatpak_files_open_debug, "/app/bin/app"),
                         SYMBOL_FILE_E_NONE);
        ck_assert_int_eq(open_as(&installation, flatpak_files_open, "/app/bin/it.debug"),
                         SYMBOL_FILE_E_NONE);
}
END_TEST

/* What "active" and "current" name is not a version of its own, and a file is no folder. */
START_TEST(test_links_and_files_are_no_folders) {
        _cleanup_(installation_deinit) Installation installation = {};
        char link[128];

        installation_init(&installation);
        add_file(&installation, APP "one/files/bin/app", "", 0);
        add_file(&installation, APP "a file", "", 0);
        snprintf(link, sizeof(link), "%s/" APP "active", installation.path);
        ck_assert_int_eq(symlink("one", link), 0);
        find_folders(&installation);
        ck_assert_uint_eq(installation.files.n_folders, 1);
}
END_TEST

/* As if others had been there before. */
static void add_folders_before(FlatpakFiles *files, size_t n) {
        files->folders = calloc(n, sizeof(*files->folders));
        ck_assert_ptr_nonnull(files->folders);
        files->n_folders = n;
}

START_TEST(test_large_installations_are_looked_at_up_to_a_limit) {
        _cleanup_(installation_deinit) Installation installation = {};
        FlatpakFiles *files = &installation.files;

        installation_init(&installation);
        add_file(&installation, APP "one/files/bin/app", "", 0);
        add_file(&installation, APP "two/files/bin/app", "", 0);
        add_folders_before(files, FLATPAK_FOLDERS_MAX - 1);
        ck_assert_int_eq(flatpak_files_add(files, installation.path), 0);
        ck_assert_uint_eq(files->n_folders, FLATPAK_FOLDERS_MAX);
        ck_assert_int_eq(flatpak_files_add(files, installation.path), 0);
        ck_assert_uint_eq(files->n_folders, FLATPAK_FOLDERS_MAX);
}
END_TEST

/* It is four levels below "app". */
START_TEST(test_folders_without_an_end_are_left_alone) {
        _cleanup_(installation_deinit) Installation installation = {};
        FlatpakFiles *files = &installation.files;

        installation_init(&installation);
        add_file(&installation, APP "one/files/bin/app", "", 0);
        files->n_entries = FLATPAK_ENTRIES_MAX - 4;
        ck_assert_int_eq(flatpak_files_add(files, installation.path), 0);
        ck_assert_uint_eq(files->n_folders, 0);
        ck_assert_uint_eq(files->n_entries, FLATPAK_ENTRIES_MAX);
        files->n_entries = FLATPAK_ENTRIES_MAX - 5;
        ck_assert_int_eq(flatpak_files_add(files, installation.path), 0);
        ck_assert_uint_eq(files->n_folders, 1);
}
END_TEST

START_TEST(test_no_more_files_are_tried_than_the_limit_says) {
        _cleanup_(installation_deinit) Installation installation = {};

        installation_init(&installation);
        if (!program_init(&installation.program))
                return;
        add_program(&installation, APP "one/files/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o");
        find_folders(&installation);
#define LONG "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o"
        ck_assert_int_eq(open_as(&installation, flatpak_files_open, "/app" LONG), 0);
        ck_assert_int_eq(open_as(&installation, flatpak_files_open, LONG "/p/q" LONG),
                         SYMBOL_FILE_E_NONE);
        installation.files.n_tried = FLATPAK_FILES_TRIED_MAX - 1;
        ck_assert_int_eq(open_as(&installation, flatpak_files_open, LONG), 0);
        ck_assert_int_eq(open_as(&installation, flatpak_files_open, LONG), SYMBOL_FILE_E_NONE);
        ck_assert_uint_eq(installation.files.n_tried, FLATPAK_FILES_TRIED_MAX);
}
END_TEST

/* This test's own functions, from a file that is there only inside of a sandbox. */
START_TEST(test_functions_of_an_app_have_names) {
        _cleanup_(installation_deinit) Installation installation = {};
        ModuleFunctions functions;
        SymbolSearch search;

        installation_init(&installation);
        if (!program_init(&installation.program))
                return;
        add_program(&installation, APP "one/files/bin/app");
        ck_assert_int_eq(symbol_search_init(&search, false), 0);
        module_functions_load(
                &functions, &search, "/app/bin/app (deleted)", &installation.program.build_id);
        ck_assert_uint_eq(functions.n_files, 1);
        ck_assert(functions.has_locals);
        ck_assert_uint_gt(functions.table.n, 0);
        module_functions_deinit(&functions);
        module_functions_load(
                &functions, &search, "/run/host/proc/self/exe", &installation.program.build_id);
        ck_assert_uint_eq(functions.n_files, 1);
        module_functions_deinit(&functions);
        symbol_search_deinit(&search);
}
END_TEST

TEST_MAIN("symbols-flatpak-files",
          test_a_file_of_a_sandbox_is_found_in_the_version_that_ran,
          test_debug_information_is_found_by_the_path_of_what_it_is_for,
          test_links_and_files_are_no_folders,
          test_large_installations_are_looked_at_up_to_a_limit,
          test_folders_without_an_end_are_left_alone,
          test_no_more_files_are_tried_than_the_limit_says,
          test_functions_of_an_app_have_names)
