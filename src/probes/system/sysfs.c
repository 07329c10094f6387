/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads small files of /sys. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/system/sysfs.h"
#include "shared/fd.h"

int sysfs_read(char *ret, size_t size, int dir_fd, const char *path) {
        _cleanup_(fd_closep) int fd = -1;
        ssize_t n;

        ret[0] = '\0';
        /* Opened without blocking: if a pipe is in its place, nobody may ever write to it. */
        fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
                return -errno;
        do
                n = read(fd, ret, size - 1);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        ret[n] = '\0';
        ret[strcspn(ret, "\n")] = '\0';
        return 0;
}

bool sysfs_read_int(int64_t *ret, int dir_fd, const char *path) {
        char text[32], *end;

        if (sysfs_read(text, sizeof(text), dir_fd, path) < 0)
                return false;
        errno = 0;
        *ret = strtoll(text, &end, 10);
        return errno == 0 && end > text && *end == '\0';
}

bool sysfs_read_uint(uint64_t *ret, int dir_fd, const char *path) {
        char text[32], *end;

        if (sysfs_read(text, sizeof(text), dir_fd, path) < 0)
                return false;
        errno = 0;
        *ret = strtoull(text, &end, 10);
        return errno == 0 && end > text && *end == '\0' && text[0] != '-';
}

static void closedirp(DIR **dir) {
        if (*dir)
                closedir(*dir);
}

int sysfs_list(int dir_fd, const char *path, SysfsName *each, void *userdata) {
        _cleanup_(closedirp) DIR *dir = NULL;
        const struct dirent *entry;
        int fd;

        fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        dir = fdopendir(fd);
        if (!dir) {
                fd_close(fd);
                return -ENOMEM;
        }
        while ((entry = readdir(dir)))
                if (entry->d_name[0] != '.' && !each(entry->d_name, userdata))
                        break;
        return 0;
}
