/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Point folders: all files of points.d */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build-config.h"
#include "probes/points/point-folders.h"
#include "shared/fd.h"

#define PATH_ENV    "DESKTRACE_POINTS_PATH"
#define PATH        CONFIG_DIR "/points.d:" POINTS_DIR
#define FILE_SUFFIX ".conf"

typedef struct FileNames {
        char *names[POINT_FILES_MAX]; /* of the files that were read in all folders */
        size_t n;
} FileNames;

static void file_names_deinit(FileNames *names) {
        for (size_t i = 0; i < names->n; i++)
                free(names->names[i]);
}

static bool has_name(const FileNames *names, const char *name) {
        for (size_t i = 0; i < names->n; i++)
                if (streq(names->names[i], name))
                        return true;
        return false;
}

/* A user who runs the probes without being root can harm only himself. */
static bool is_trusted(int fd) {
        struct stat st;

        return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
               (st.st_uid == 0 || st.st_uid == geteuid()) &&
               (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int read_file(PointTable *table,
                     int folder_fd,
                     const char *folder,
                     const char *name,
                     ProbeNotes *notes) {
        _cleanup_(freep) char *text = NULL, *path = NULL;
        _cleanup_(fd_closep) int fd = -1;
        size_t n;
        int r;

        if (asprintf(&path, "%s/%s", folder, name) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        if (fd < 0 || !is_trusted(fd)) {
                probe_note(
                        notes,
                        "%s is passed over: it has to be a file of root that nobody else can write",
                        path);
                return 0;
        }
        r = fd_read_all(&text, &n, fd, POINT_FILE_BYTES_MAX);
        if (r == -ENOMEM)
                return r;
        if (r < 0 || strlen(text) != n) {
                probe_note(notes,
                           "%s is passed over: it is no text of at most %d bytes",
                           path,
                           POINT_FILE_BYTES_MAX);
                return 0;
        }
        return point_file_parse(table, path, text, notes);
}

static int is_points_file(const struct dirent *entry) {
        size_t n = strlen(entry->d_name);

        return *entry->d_name != '.' && n > strlen(FILE_SUFFIX) &&
               streq(entry->d_name + n - strlen(FILE_SUFFIX), FILE_SUFFIX);
}

static int read_entry(PointTable *table,
                      FileNames *seen,
                      int folder_fd,
                      const char *folder,
                      const char *name,
                      ProbeNotes *notes) {
        if (has_name(seen, name))
                return 0;
        if (seen->n == POINT_FILES_MAX) {
                probe_note(notes,
                           "%s/%s is passed over: at most %d files are read",
                           folder,
                           name,
                           POINT_FILES_MAX);
                return 0;
        }
        seen->names[seen->n] = strdup(name);
        if (!seen->names[seen->n])
                return -ENOMEM;
        seen->n++;
        return read_file(table, folder_fd, folder, name, notes);
}

static int read_folder(PointTable *table, FileNames *seen, const char *folder, ProbeNotes *notes) {
        _cleanup_(fd_closep) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct dirent **entries = NULL;
        int r = 0, n;

        n = fd < 0 ? 0 : scandirat(fd, ".", &entries, is_points_file, alphasort);
        for (int i = 0; i < n; i++) {
                if (r == 0)
                        r = read_entry(table, seen, fd, folder, entries[i]->d_name, notes);
                free(entries[i]);
        }
        free(entries);
        return r;
}

int point_folders_read(PointTable *ret, ProbeNotes *notes) {
        const char *env = secure_getenv(PATH_ENV), *path = env && *env ? env : PATH;
        _cleanup_(file_names_deinit) FileNames seen = {};
        PointTable table = {};
        int r = 0;

        while (r == 0 && *path) {
                size_t n = strcspn(path, ":");
                _cleanup_(freep) char *folder = strndup(path, n);

                r = folder ? read_folder(&table, &seen, folder, notes) : -ENOMEM;
                path += n + (path[n] == ':');
        }
        if (r < 0)
                point_table_deinit(&table);
        else
                *ret = table;
        return r;
}
