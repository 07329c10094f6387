/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Makes listening sockets of addresses, and removes a socket file that a service which is gone has left. */

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "listen-address.h"
#include "shared/fd.h"

const char *listen_address_error(int r) {
        switch (r) {
        case LISTEN_E_FAMILY:
                return "only paths and @abstract names of unix sockets are served";
        case LISTEN_E_LENGTH:
                return "it is too long for the address of a unix socket";
        case LISTEN_E_IN_USE:
                return "somebody else listens there; end that, or name another address";
        default:
                return strerror(-r);
        }
}

bool listen_address_next(const char **at, const char **ret, size_t *ret_n) {
        do {
                *at += strspn(*at, ",");
                *ret = *at;
                *ret_n = strcspn(*at, ",");
                *at += *ret_n;
        } while (*ret_n == 0 && **at);
        return *ret_n > 0;
}

/* "host:port" and "vsock://…" are Perfetto's other families; a path has a slash before any colon. */
static bool is_other_family(const char *address, size_t n) {
        const char *colon = memchr(address, ':', n);
        const char *slash = memchr(address, '/', n);

        return address[0] != '@' && colon && (!slash || colon < slash);
}

static int address_parse(struct sockaddr_un *ret, socklen_t *ret_n, const char *address, size_t n) {
        const bool is_abstract = n > 0 && address[0] == '@';

        if (n == 0)
                return LISTEN_E_LENGTH;
        if (is_other_family(address, n))
                return LISTEN_E_FAMILY;
        /* A path ends with a zero. */
        if (n + !is_abstract > sizeof(ret->sun_path))
                return LISTEN_E_LENGTH;
        *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
        memcpy(ret->sun_path, address, n);
        if (is_abstract)
                ret->sun_path[0] = '\0';
        *ret_n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + !is_abstract);
        return 0;
}

/* Whether the path is a socket that nobody listens on. Anything but a socket is left alone. */
static bool is_left_over(const struct sockaddr_un *address, socklen_t n_address) {
        _cleanup_(fd_closep) int fd = -1;
        struct stat st;

        if (lstat(address->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
                return false;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        return fd >= 0 && connect(fd, (const struct sockaddr *)address, n_address) < 0 &&
               errno == ECONNREFUSED;
}

/* The socket has its permissions from the beginning, so that nobody connects before they are set. */
static int socket_bind(int fd, const struct sockaddr_un *address, socklen_t n, mode_t mode) {
        const mode_t old_mask = umask(0777 & ~mode);
        const int r = bind(fd, (const struct sockaddr *)address, n) < 0 ? -errno : 0;

        umask(old_mask);
        return r;
}

static int socket_bind_again(int fd, const struct sockaddr_un *address, socklen_t n, mode_t mode) {
        if (!address->sun_path[0] || !is_left_over(address, n))
                return LISTEN_E_IN_USE;
        if (unlink(address->sun_path) < 0 && errno != ENOENT)
                return -errno;
        return socket_bind(fd, address, n, mode);
}

int listen_address_open(int *ret_fd,
                        char **ret_path,
                        const char *address,
                        size_t n_address,
                        mode_t mode) {
        _cleanup_(fd_closep) int fd = -1;
        _cleanup_(freep) char *path = NULL;
        struct sockaddr_un parsed;
        socklen_t n_parsed;
        int r;

        r = address_parse(&parsed, &n_parsed, address, n_address);
        if (r)
                return r;
        if (parsed.sun_path[0]) {
                path = strdup(parsed.sun_path);
                if (!path)
                        return -ENOMEM;
        }
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        r = socket_bind(fd, &parsed, n_parsed, mode);
        if (r == -EADDRINUSE)
                r = socket_bind_again(fd, &parsed, n_parsed, mode);
        if (r)
                return r;
        if (listen(fd, SOMAXCONN) < 0)
                return -errno;
        *ret_fd = TAKE_FD(fd);
        *ret_path = TAKE(path);
        return 0;
}
