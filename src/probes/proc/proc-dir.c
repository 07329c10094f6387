/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Walks through the processes of /proc. */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "probes/proc/proc-dir.h"
#include "shared/fd.h"

#define PROC_PATH_BYTES 64
#define PROC_READ_BYTES 4096 /* at once; most files need one read */

int proc_dir_open(ProcDir *ret, const char *path) {
        *ret = (ProcDir){ .fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
        return ret->fd < 0 ? -errno : 0;
}

void proc_dir_close(ProcDir *dir) {
        dir->fd = fd_close(dir->fd);
        bytes_deinit(&dir->text);
}

static bool read_some(int fd, Bytes *text, size_t n_max) {
        bytes_clear(text);
        while (text->n < n_max) {
                size_t n_room = MIN(n_max - text->n, (size_t)PROC_READ_BYTES);
                ssize_t n;

                if (bytes_reserve(text, n_room + 1) < 0)
                        return false;
                n = read(fd, text->data + text->n, n_room);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0) /* ESRCH: it ended between open and read */
                        return false;
                text->n += (size_t)n;
                if ((size_t)n < n_room)
                        break;
        }
        text->data[text->n] = '\0';
        return true;
}

const char *
proc_dir_read_some(ProcDir *dir, pid_t pid, const char *file, size_t n_max, size_t *ret_n) {
        _cleanup_(fd_closep) int fd = -1;
        char path[PROC_PATH_BYTES];

        snprintf(path, sizeof(path), "%d/%s", pid, file);
        fd = openat(dir->fd, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || !read_some(fd, &dir->text, n_max))
                return NULL;
        if (ret_n)
                *ret_n = dir->text.n;
        return (const char *)dir->text.data;
}

const char *proc_dir_read(ProcDir *dir, pid_t pid, const char *file, size_t *ret_n) {
        return proc_dir_read_some(dir, pid, file, PROC_FILE_BYTES_MAX, ret_n);
}

void proc_walk_begin(ProcWalk *walk, ProcDir *dir, pid_t pid) {
        char path[PROC_PATH_BYTES] = ".";
        int fd;

        if (pid > 0)
                snprintf(path, sizeof(path), "%d/task", pid);
        fd = openat(dir->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        walk->dir = fd < 0 ? NULL : fdopendir(fd);
        if (!walk->dir)
                fd_close(fd);
}

pid_t proc_walk_next(ProcWalk *walk) {
        struct dirent *entry;

        while (walk->dir && (entry = readdir(walk->dir)))
                if (isdigit((unsigned char)entry->d_name[0]))
                        return (pid_t)strtol(entry->d_name, NULL, 10);
        return 0;
}

void proc_walk_end(ProcWalk *walk) {
        if (walk->dir)
                closedir(walk->dir);
        walk->dir = NULL;
}
