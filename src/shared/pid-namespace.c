/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Pid namespace: how a program in a sandbox and a service outside of it agree on who is who */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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

bool pid_namespace_is_initial(void) {
        uint64_t number = 0;

        return pid_namespace_get(&number) < 0 || number == PID_NAMESPACE_INITIAL;
}

/*
 * Proofs
 */

/* The address is abstract and has a random part, as all programs share such names. The words come last. */
static const char proof_prefix[] = "\0desktrace-proof/0123456789abcdef/";

#define PREFIX_BYTES (sizeof(proof_prefix) - 1)
#define RANDOM_AT    (PREFIX_BYTES - 17)

static int bind_words(int fd, const char *words) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const size_t n = strlen(words);
        uint64_t random;
        char digits[17];

        _Static_assert(PREFIX_BYTES + PID_PROOF_BYTES_MAX <= sizeof(address.sun_path), "fits");
        if (n > PID_PROOF_BYTES_MAX)
                return -ENAMETOOLONG;
        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
                return -errno;
        snprintf(digits, sizeof(digits), "%016" PRIx64, random);
        memcpy(address.sun_path, proof_prefix, PREFIX_BYTES);
        memcpy(address.sun_path + RANDOM_AT, digits, 16);
        memcpy(address.sun_path + PREFIX_BYTES, words, n);
        return bind(fd,
                    (struct sockaddr *)&address,
                    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + PREFIX_BYTES + n)) < 0
                       ? -errno
                       : 0;
}

/* Services before 0.2 read the words. */
static int send_words(int reader, int writer, const char *words) {
        const int on = 1;

        /* Must be enabled before the words are sent, or the kernel does not attach the sender. */
        if (setsockopt(reader, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
            send(writer, words, strlen(words), MSG_NOSIGNAL) < 0)
                return -errno;
        return 0;
}

int pid_proof_new(int *ret, const char *words) {
        int fds[2], r;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
                return -errno;
        r = bind_words(fds[1], words);
        if (r == 0)
                r = send_words(fds[0], fds[1], words);
        fd_close(fds[1]);
        if (r < 0)
                fd_close(fds[0]);
        else
                *ret = fds[0];
        return r;
}

static bool is_unix_socket(int fd) {
        socklen_t n = sizeof(int);
        int domain = -1;

        return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == 0 && domain == AF_UNIX;
}

/* recvmsg() would wait for a lock that anybody with the socket could hold; nothing here does. */
static bool peer_is_named(int fd, const char *words) {
        struct sockaddr_un address;
        socklen_t n = sizeof(address);
        const size_t n_words = strlen(words);

        if (!is_unix_socket(fd) || getpeername(fd, (struct sockaddr *)&address, &n) < 0)
                return false;
        return n == offsetof(struct sockaddr_un, sun_path) + PREFIX_BYTES + n_words &&
               memcmp(address.sun_path, proof_prefix, RANDOM_AT) == 0 &&
               memcmp(address.sun_path + PREFIX_BYTES, words, n_words) == 0;
}

int pid_proof_take(Identity *ret, int fd, const char *words) {
        Identity identity;
        int r;

        if (!peer_is_named(fd, words))
                return -EBADMSG;
        r = fd_peer_credentials(fd, &identity.uid, &identity.pid);
        if (r < 0)
                return r;
        if (identity.pid <= 0)
                return -EBADMSG;
        *ret = identity;
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

/* Reads digits followed by `after`. Returns NULL if the text is different, or the number is no pid. */
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
