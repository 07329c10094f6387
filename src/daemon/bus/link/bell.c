/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Bells wake producers
 *
 * A bell is a pair of datagram sockets. An eventfd would not do: both sides would share one open file description, and
 * with it O_NONBLOCK and the counter, so a producer could fill the counter and make the service's next write() wait
 * for ever. Here each side has a description that only it can change, and send(MSG_DONTWAIT) never waits whatever the
 * flags of either are. Datagrams rather than a stream: the producer sees no hang-up when the service gives the memory
 * back and closes its side.
 */

#include <errno.h>
#include <sys/socket.h>

#include "bus/link/bell.h"
#include "shared/fd.h"

/* The kernel rounds the size up to what a few datagrams take. Waiting datagrams are charged to the service. */
#define BELL_QUEUE_BYTES 1

int bell_open(int *ret, int *ret_theirs) {
        _cleanup_(fd_closep) int ours = -1, theirs = -1;
        const int n_bytes = BELL_QUEUE_BYTES;
        int fds[2];

        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
                return -errno;
        ours = fds[0];
        theirs = fds[1];
        /* Nothing is ever read from this side, so the peer may not send: bytes would stay in the queue, and
         * descriptors would be released on the main thread. */
        if (shutdown(ours, SHUT_RD) < 0 ||
            setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &n_bytes, sizeof(n_bytes)) < 0)
                return -errno;
        *ret = TAKE_FD(ours);
        *ret_theirs = TAKE_FD(theirs);
        return 0;
}

void bell_ring(int fd) {
        /* If the queue is full the producer has been woken already; if it has closed its side, it needs no waking. */
        while (send(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EINTR)
                ;
}
