/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The files of linux.sys_stats, which stay open from one look to the next. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/proc/line.h"
#include "probes/proc/sys-files.h"
#include "probes/system/sysfs.h"
#include "shared/fd.h"

#define NUMBER_DIGITS_MAX 9
#define READ_BYTES        16384

/* The path so far, and the numbers in it. */
typedef struct Walk {
        SysFiles *files;
        size_t pattern;
        char path[SYS_FILE_PATH_BYTES];
        uint32_t numbers[SYS_FILE_NUMBERS_MAX];
        bool is_blind; /* a directory exists, but could not be listed */
        int r;
} Walk;

/* A directory that is being listed. */
typedef struct WalkLevel {
        Walk *walk;
        size_t n_path, n_numbers; /* of the directory */
        const char *component;    /* of the pattern: what its names must match */
} WalkLevel;

void sys_files_init(SysFiles *files, int root, const char *const *patterns, SysFileAccept *accept) {
        *files = (SysFiles){ .root = root, .patterns = patterns, .accept = accept };
}

static void file_deinit(SysFile *file) {
        file->fd = fd_close(file->fd);
        free(file->path);
        free(file->label);
}

void sys_files_deinit(SysFiles *files) {
        for (size_t i = 0; i < files->n; i++)
                file_deinit(&files->files[i]);
        free(files->files);
        bytes_deinit(&files->text);
        *files = (SysFiles){};
}

/*
 * Finding files
 */

static int compare_files(const void *a, const void *b) {
        return strverscmp(((const SysFile *)a)->path, ((const SysFile *)b)->path);
}

static SysFile *find_known(const SysFiles *files, char *path) {
        const SysFile key = { .path = path };

        return files->n_sorted == 0
                       ? NULL
                       : bsearch(&key, files->files, files->n_sorted, sizeof(key), compare_files);
}

static int open_file(SysFiles *files, const char *path) {
        /* Opened without blocking: if a pipe is in its place, nobody may ever write to it. */
        int fd = openat(files->root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

        if (fd >= 0)
                return fd;
        if (errno != ENOENT && errno != ENOTDIR)
                files->error = -errno;
        return -1;
}

static int reserve_file(SysFiles *files) {
        size_t n = files->n_allocated ? 2 * files->n_allocated : 4;
        SysFile *more;

        if (files->n < files->n_allocated)
                return 0;
        more = reallocarray(files->files, n, sizeof(*more));
        if (!more)
                return -ENOMEM;
        files->files = more;
        files->n_allocated = n;
        return 0;
}

static int add_file(Walk *walk, int file_fd) {
        _cleanup_(fd_closep) int fd = file_fd;
        SysFiles *files = walk->files;
        SysFile file = { .pattern = walk->pattern, .is_listed = true };

        if (reserve_file(files) < 0)
                return -ENOMEM;
        file.path = strdup(walk->path);
        if (!file.path)
                return -ENOMEM;
        memcpy(file.numbers, walk->numbers, sizeof(file.numbers));
        file.fd = TAKE_FD(fd);
        if (files->accept && !files->accept(&file, files->root))
                file_deinit(&file);
        else
                files->files[files->n++] = file;
        return 0;
}

static void walk_found(Walk *walk) {
        SysFile *known = find_known(walk->files, walk->path);
        int fd;

        if (known && known->fd >= 0) {
                /* If a CPU is off, only its directory stays, and our descriptor may lead to another CPU's file. */
                known->is_listed = faccessat(walk->files->root, walk->path, F_OK, AT_EACCESS) == 0;
                return;
        }
        /* A device that has gone and come back is another device: the scan drops the old one. */
        fd = walk->files->n < SYS_FILES_MAX ? open_file(walk->files, walk->path) : -1;
        if (fd >= 0)
                walk->r = add_file(walk, fd);
}

/* "12" -> 12; false when that is not all of it. */
static bool parse_number(const char *text, size_t n, uint32_t *ret) {
        *ret = 0;
        for (size_t i = 0; i < n; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return false;
                *ret = *ret * 10 + (uint32_t)(text[i] - '0');
        }
        return n > 0 && n <= NUMBER_DIGITS_MAX;
}

/* Whether a name matches a component of a pattern, of n bytes. */
static bool match_name(WalkLevel *level, const char *name, size_t n, size_t *n_numbers) {
        const char *component = level->component;
        size_t n_prefix = strcspn(component, "*#"), n_name = strlen(name);
        size_t n_suffix = n - n_prefix - 1;
        Walk *walk = level->walk;

        *n_numbers = level->n_numbers;
        if (n_name < n_prefix + n_suffix || strncmp(name, component, n_prefix) != 0 ||
            strncmp(name + n_name - n_suffix, component + n_prefix + 1, n_suffix) != 0)
                return false;
        if (component[n_prefix] == '*')
                return true;
        return *n_numbers < SYS_FILE_NUMBERS_MAX && parse_number(name + n_prefix,
                                                                 n_name - n_prefix - n_suffix,
                                                                 &walk->numbers[(*n_numbers)++]);
}

static void walk_on(Walk *walk, size_t n_path, size_t n_numbers, const char *pattern);

static bool walk_name(const char *name, void *userdata) {
        WalkLevel *level = userdata;
        size_t n = strcspn(level->component, "/"), n_name = strlen(name), n_numbers;
        Walk *walk = level->walk;

        if (!match_name(level, name, n, &n_numbers))
                return true;
        if (level->n_path + n_name >= sizeof(walk->path))
                return true;
        memcpy(walk->path + level->n_path, name, n_name + 1);
        walk_on(walk, level->n_path + n_name, n_numbers, level->component + n);
        return walk->r == 0;
}

/* Appends the literal part of the pattern, and lists the directory where that ends. */
static void walk_on(Walk *walk, size_t n_path, size_t n_numbers, const char *pattern) {
        size_t n = strcspn(pattern, "*#");
        bool is_whole = pattern[n] == '\0';
        WalkLevel level;
        int r;

        while (!is_whole && n > 0 && pattern[n - 1] != '/')
                n--;
        if (n_path + n >= sizeof(walk->path))
                return;
        memcpy(walk->path + n_path, pattern, n);
        walk->path[n_path + n] = '\0';
        if (is_whole) {
                walk_found(walk);
                return;
        }
        level = (WalkLevel){ walk, n_path + n, n_numbers, pattern + n };
        r = sysfs_list(walk->files->root, walk->path, walk_name, &level);
        if (r < 0 && r != -ENOENT && r != -ENOTDIR) {
                walk->files->error = r;
                walk->is_blind = true;
        }
}

/* Forgets what has gone, and what the scan did not list, unless that means nothing. */
static void drop_unlisted(SysFiles *files, bool is_blind) {
        size_t n = 0;

        for (size_t i = 0; i < files->n; i++)
                if (files->files[i].is_listed || (is_blind && files->files[i].fd >= 0))
                        files->files[n++] = files->files[i];
                else
                        file_deinit(&files->files[i]);
        files->n = n;
}

int sys_files_scan(SysFiles *files) {
        bool is_blind = false;
        int r = 0;

        files->error = 0;
        files->lost_one = false;
        files->n_sorted = files->n;
        for (size_t i = 0; i < files->n; i++)
                files->files[i].is_listed = false;
        for (size_t i = 0; r == 0 && files->patterns[i]; i++) {
                Walk walk = { .files = files, .pattern = i };

                walk_on(&walk, 0, 0, files->patterns[i]);
                is_blind = is_blind || walk.is_blind;
                r = walk.r;
        }
        drop_unlisted(files, is_blind || r < 0);
        if (files->n > 0)
                qsort(files->files, files->n, sizeof(*files->files), compare_files);
        else if (files->error == 0)
                files->error = -ENOENT;
        return r;
}

/*
 * Reading them
 */

static int read_text(SysFiles *files, int fd) {
        Bytes *text = &files->text;
        ssize_t n;

        bytes_clear(text);
        do {
                if (text->n > SYS_FILE_BYTES_MAX || bytes_reserve(text, READ_BYTES) < 0)
                        return -EFBIG;
                n = pread(fd, text->data + text->n, READ_BYTES - 1, (off_t)text->n);
                if (n < 0 && errno != EINTR)
                        return -errno;
                text->n += (size_t)MAX(n, (ssize_t)0);
        } while (n < 0 || (n > 0 && !files->are_values));
        text->data[text->n] = '\0';
        return 0;
}

const char *sys_files_read(SysFiles *files, SysFile *file) {
        int r;

        if (file->fd < 0)
                return NULL;
        r = read_text(files, file->fd);
        if (r == -ENODEV || r == -ENXIO || r == -ENOENT) {
                file->fd = fd_close(file->fd);
                files->lost_one = true;
        }
        return r == 0 ? (const char *)files->text.data : NULL;
}

void sys_file_directory(const SysFile *file, char ret[static SYS_FILE_PATH_BYTES]) {
        const char *end = strrchr(file->path, '/') ?: file->path, *start = end;

        while (start > file->path && start[-1] != '/')
                start--;
        snprintf(ret, SYS_FILE_PATH_BYTES, "%.*s", (int)(end - start), start);
        line_clean(ret);
}

void sys_file_beside(const SysFile *file, int root, const char *name, char *ret, size_t size) {
        char path[2 * SYS_FILE_PATH_BYTES];
        const char *end = strrchr(file->path, '/') ?: file->path;

        snprintf(path, sizeof(path), "%.*s/%s", (int)(end - file->path), file->path, name);
        (void)sysfs_read(ret, size, root, path);
        line_clean(ret);
}
