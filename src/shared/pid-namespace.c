/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/fd.h"
#include "shared/pid-namespace.h"

#define TASK_LINK_BYTES 64

int pid_namespace_get(uint64_t *ret) {
        struct stat st;

        if (stat("/proc/self/ns/pid", &st) < 0)
                return -errno;
        *ret = st.st_ino;
        return 0;
}

/*
 * Proofs
 */

int pid_proof_new(int *ret, const char *words) {
        const int on = 1;
        int fds[2], r = 0;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
                return -errno;
        /* Must be enabled before the words are sent, or the kernel does not attach the sender. */
        if (setsockopt(fds[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
            send(fds[1], words, strlen(words), MSG_NOSIGNAL) < 0)
                r = -errno;
        fd_close(fds[1]);
        if (r < 0)
                fd_close(fds[0]);
        else
                *ret = fds[0];
        return r;
}

static const struct ucred *find_credentials(struct msghdr *message) {
        for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at))
                if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_CREDENTIALS &&
                    at->cmsg_len == CMSG_LEN(sizeof(struct ucred)))
                        return (const struct ucred *)CMSG_DATA(at);
        return NULL;
}

int pid_proof_take(Identity *ret,
                   int fd,
                   const char *words,
                   int strays[static PID_PROOF_STRAYS_MAX],
                   size_t *ret_n_strays) {
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(sizeof(struct ucred))];
        } control = {};
        char said[PID_PROOF_BYTES_MAX + 1];
        struct iovec part = { .iov_base = said, .iov_len = sizeof(said) };
        struct msghdr message = {
                .msg_iov = &part,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        const struct ucred *credentials;
        ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

        _Static_assert(sizeof(control) / sizeof(int) <= PID_PROOF_STRAYS_MAX,
                       "all strays are told");
        *ret_n_strays = 0;
        if (n < 0)
                return errno == EAGAIN || errno == ENOTSOCK ? -EBADMSG : -errno;
        *ret_n_strays = fd_list_received(&message, strays, PID_PROOF_STRAYS_MAX);
        credentials = find_credentials(&message);
        if ((size_t)n != strlen(words) || memcmp(said, words, (size_t)n) != 0 || !credentials ||
            credentials->pid <= 0)
                return -EBADMSG;
        *ret = (Identity){ .uid = credentials->uid, .pid = credentials->pid };
        return 0;
}

/*
 * Task links
 */

int task_link_open(int *ret) {
        int fd = open("/proc/thread-self", O_PATH | O_NOFOLLOW | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        *ret = fd;
        return 0;
}

/* Reads digits followed by `after`. NULL: the text is different, or the number is no pid. */
static const char *take_pid(const char *at, const char *behind, pid_t *ret) {
        long pid = 0;

        for (; isdigit((unsigned char)*at); at++) {
                pid = 10 * pid + (*at - '0');
                if (pid > INT_MAX)
                        return NULL;
        }
        *ret = (pid_t)pid;
        return pid > 0 && strncmp(at, behind, strlen(behind)) == 0 ? at + strlen(behind) : NULL;
}

int task_link_read(int fd, pid_t *ret_pid, pid_t *ret_tid) {
        char text[TASK_LINK_BYTES];
        const char *at;
        ssize_t n;

        n = readlinkat(fd, "", text, sizeof(text) - 1);
        if (n < 0)
                return -errno;
        text[n] = '\0';
        at = take_pid(text, "/task/", ret_pid);
        if (at)
                at = take_pid(at, "", ret_tid);
        return at && *at == '\0' ? 0 : -EBADMSG;
}
