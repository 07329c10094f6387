/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Descriptors: made CLOEXEC, sealed, read, written, marked and closed */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/fd.h"

#define MEMFD_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

int fd_close(int fd) {
        int saved_errno = errno;

        if (fd >= 0)
                close(fd);
        errno = saved_errno;
        return -1;
}

int fd_new_sealed_memfd(int *ret, const char *name, size_t n_bytes) {
        _cleanup_(fd_closep) int fd = -1;

        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
                return -errno;
        if (ftruncate(fd, (off_t)n_bytes) < 0)
                return -errno;
        if (fcntl(fd, F_ADD_SEALS, MEMFD_SEALS) < 0)
                return -errno;

        *ret = TAKE_FD(fd);
        return 0;
}

int fd_check_sealed_memfd(int fd, size_t n_bytes) {
        struct stat st;
        int seals;

        /* The seals come first: only the kernel's own memory has any, and only that is sure to answer the calls
         * below. */
        seals = fcntl(fd, F_GET_SEALS);
        if (seals < 0 || (seals & MEMFD_SEALS) != MEMFD_SEALS)
                return -EINVAL;
        if (fstat(fd, &st) < 0 || st.st_size < 0 || (size_t)st.st_size < n_bytes)
                return -EINVAL;
        return 0;
}

int fd_new_growing_memfd(int *ret, const char *name) {
        _cleanup_(fd_closep) int fd = -1;

        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
                return -errno;
        *ret = TAKE_FD(fd);
        return 0;
}

int fd_check_growing_memfd(int fd, uint64_t *ret_n_bytes) {
        struct stat st;
        int seals;

        seals = fcntl(fd, F_GET_SEALS);
        if (seals < 0 || (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != F_SEAL_SHRINK ||
            fstat(fd, &st) < 0 || st.st_size < 0)
                return -EINVAL;
        *ret_n_bytes = (uint64_t)st.st_size;
        return 0;
}

int fd_grow_memfd(int fd, uint64_t n_bytes) {
        return ftruncate(fd, (off_t)n_bytes) < 0 ? -errno : 0;
}

void fd_punch_memfd(int fd, uint64_t offset, uint64_t n_bytes) {
        fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)n_bytes);
}

int fd_write_all(int fd, const void *data, size_t n_bytes) {
        const char *at = data;

        while (n_bytes > 0) {
                ssize_t n = write(fd, at, n_bytes);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                at += n;
                n_bytes -= (size_t)n;
        }
        return 0;
}

int fd_read_all(char **ret, size_t *ret_n, int fd, size_t max_bytes) {
        _cleanup_(freep) char *data = NULL;
        size_t n = 0, n_allocated = 0;

        for (;;) {
                ssize_t m;

                if (n_allocated - n < 2) {
                        char *bigger;

                        if (n > max_bytes)
                                return -EFBIG;
                        n_allocated = n_allocated ? n_allocated * 2 : 4096;
                        bigger = realloc(data, n_allocated);
                        if (!bigger)
                                return -ENOMEM;
                        data = bigger;
                }

                m = read(fd, data + n, n_allocated - n - 1);
                if (m < 0 && errno == EINTR)
                        continue;
                if (m < 0)
                        return -errno;
                if (m == 0)
                        break;
                n += (size_t)m;
        }
        if (n > max_bytes)
                return -EFBIG;

        data[n] = 0;
        if (ret_n)
                *ret_n = n;
        *ret = TAKE(data);
        return 0;
}

int fd_read_file(char **ret, size_t *ret_n, int dir_fd, const char *path, size_t max_bytes) {
        _cleanup_(fd_closep) int fd = -1;

        fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return -errno;
        return fd_read_all(ret, ret_n, fd, max_bytes);
}

int fd_raise_limit(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return -errno;
        limit.rlim_cur = limit.rlim_max;
        return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : 0;
}

/* The signal for O_ASYNC, which is never enabled here: it serves as a number that the kernel keeps with the open
 * file. */
#define MARK SIGURG

static _Atomic bool marks_are_unknown;

void fd_mark(int fd) {
        if (fcntl(fd, F_SETSIG, MARK) < 0 && errno != EBADF)
                marks_are_unknown = true;
}

bool fd_is_marked(int fd) {
        int saved_errno = errno;
        bool is_marked;

        is_marked = fd >= 0 &&
                    (marks_are_unknown ? fcntl(fd, F_GETFD) >= 0 : fcntl(fd, F_GETSIG) == MARK);
        errno = saved_errno;
        return is_marked;
}

int fd_close_marked(int fd) {
        int saved_errno = errno;

        if (fd_is_marked(fd))
                syscall(SYS_close, fd);
        errno = saved_errno;
        return -1;
}

bool fd_ring_marked(int fd) {
        int saved_errno = errno;
        uint64_t one = 1;

        if (!fd_is_marked(fd))
                return false;
        while (syscall(SYS_write, fd, &one, sizeof(one)) < 0 && errno == EINTR)
                ;
        errno = saved_errno;
        return true;
}

size_t fd_list_received(struct msghdr *message, int *fds, size_t max) {
        struct cmsghdr *header;
        size_t n = 0;

        if (message->msg_controllen == 0)
                return 0;
        for (header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
                if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
                        continue;
                for (size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len && n < max;
                     at += sizeof(int))
                        memcpy(&fds[n++], (const uint8_t *)header + at, sizeof(int));
        }
        return n;
}

int fd_peer_credentials(int fd, uid_t *ret_uid, pid_t *ret_pid) {
        struct ucred credentials;
        socklen_t n = sizeof(credentials);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &n) < 0)
                return -errno;
        *ret_uid = credentials.uid;
        *ret_pid = credentials.pid;
        return 0;
}

/* Newer than the headers of some C libraries. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int fd_peer_pidfd(int fd) {
        socklen_t n = sizeof(int);
        int pidfd;

        return getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n) < 0 ? -1 : pidfd;
}
