/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads one control group for its packet. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "probes/system/cgroup-reader.h"
#include "probes/system/cgroup-tree.h"
#include "shared/fd.h"

#define FDS_SHARE 4 /* of the process's descriptors, one in this many may be used */

static size_t n_fds; /* kept open */

void cgroup_reader_init(CgroupReader *reader, int root, uint32_t wanted) {
        struct rlimit limit = {};

        (void)getrlimit(RLIMIT_NOFILE, &limit);
        reader->root = root;
        reader->wanted = wanted;
        reader->n_fds_max = (size_t)MIN(limit.rlim_cur / FDS_SHARE, (rlim_t)CGROUP_FDS_MAX);
        reader->round = 0;
}

void cgroup_fds_init(CgroupFds *fds) {
        for (size_t i = 0; i < _CGROUP_FILE_N; i++)
                fds->fds[i] = -1;
        fds->missing = 0;
}

static void close_kept(int *fd) {
        if (*fd < 0)
                return;
        *fd = fd_close(*fd);
        n_fds--;
}

void cgroup_fds_close(CgroupFds *fds) {
        for (size_t i = 0; i < _CGROUP_FILE_N; i++)
                close_kept(&fds->fds[i]);
}

static int open_file(const CgroupReader *reader, const char *path, CgroupFile file) {
        char name[CGROUP_PATH_BYTES_MAX + 32];

        snprintf(name, sizeof(name), "%s/%s", path, cgroup_files[file].name);
        return openat(reader->root, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
}

/* A single read gets everything: the kernel writes such a file as a whole, and would do so again for a second read. */
static ssize_t read_text(CgroupReader *reader, int fd) {
        ssize_t n;

        do
                n = pread(fd, reader->text, sizeof(reader->text), 0);
        while (n < 0 && errno == EINTR);
        return n;
}

/* Keeps the descriptor if it was good and there is room for it. */
static void keep(const CgroupReader *reader, int *kept, int fd, bool is_good) {
        if (fd == *kept) {
                if (!is_good)
                        close_kept(kept);
        } else if (is_good && n_fds < reader->n_fds_max) {
                *kept = fd;
                n_fds++;
        } else {
                fd_close(fd);
        }
}

static void read_file(CgroupReader *reader,
                      CgroupFds *fds,
                      const char *path,
                      CgroupFile file,
                      CgroupReading *ret) {
        int fd = fds->fds[file];
        ssize_t n;

        if (fd < 0) {
                if (fds->missing & 1u << file && reader->round % CGROUP_RETRY_ROUNDS != 0)
                        return;
                fd = open_file(reader, path, file);
                fds->missing &= ~(1u << file);
        }
        if (fd < 0) {
                fds->missing |= 1u << file;
                return;
        }
        n = read_text(reader, fd);
        if (n >= 0)
                cgroup_reading_add(ret, file, reader->text, (size_t)n);
        keep(reader, &fds->fds[file], fd, n >= 0);
}

void cgroup_reader_read(CgroupReader *reader,
                        CgroupFds *fds,
                        const char *path,
                        CgroupReading *ret) {
        cgroup_reading_init(ret);
        for (CgroupFile file = 0; file < _CGROUP_FILE_N; file++)
                if (reader->wanted & 1u << file)
                        read_file(reader, fds, path, file, ret);
}
