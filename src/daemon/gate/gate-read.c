/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Epoll reports edges only. So each flow remembers whether there may be something to read, or room to write
 * (gate-write.c), until a call finds that there is not.
 */

#include <errno.h>
#include <sys/socket.h>

#include "closer/closer.h"
#include "gate/gate-private.h"
#include "shared/fd.h"

void flow_drop_fd(GateFlow *flow, int fd) {
        if (flow->is_from_peer)
                closer_close(flow->fds_user, fd);
        else
                fd_close(fd);
}

void flow_drop_fds(GateFlow *flow) {
        while (flow->n_fds > 0)
                flow_drop_fd(flow, flow->fds[--flow->n_fds]);
}

void flow_wait(GateFlow *flow) {
        flow->is_readable = false;
        flow->is_ended |= flow->is_hung_up;
}

size_t flow_count(GateFlow *flow, ssize_t n) {
        if (n > 0)
                return (size_t)n;
        if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
                flow->is_hung_up = true; /* EOF, or an error that ends the connection */
        if (n == 0 || errno != EINTR)
                flow_wait(flow);
        return 0;
}

size_t flow_peek(GateFlow *flow, void *data, size_t n) {
        return flow_count(flow, recv(flow->from, data, n, MSG_PEEK | MSG_DONTWAIT));
}

static bool flow_keep_fds(GateFlow *flow, struct msghdr *message) {
        int fds[CLOSER_MESSAGE_FDS];
        size_t n = fd_list_received(message, fds, ARRAY_SIZE(fds)), n_kept = 0;

        while (n_kept < n && flow->n_fds < GATE_FDS_MAX)
                flow->fds[flow->n_fds++] = fds[n_kept++];
        if (n_kept == n)
                return true;
        while (n_kept < n)
                flow_drop_fd(flow, fds[n_kept++]);
        gate_break(flow->gate, "it sends too many descriptors with a message");
        return false;
}

size_t flow_read(GateFlow *flow, void *data, size_t n) {
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(sizeof(int[CLOSER_MESSAGE_FDS]))];
        } control;
        struct iovec piece = { .iov_base = data, .iov_len = n };
        struct msghdr message = {
                .msg_iov = &piece,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control.space),
        };
        ssize_t n_read = recvmsg(flow->from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

        if (n_read > 0 && !flow_keep_fds(flow, &message))
                return 0;
        return flow_count(flow, n_read);
}

void flow_skip(GateFlow *flow, size_t n) {
        uint8_t ignored[HANDSHAKE_LINE_BYTES_MAX];

        flow_read(flow, ignored, MIN(n, sizeof(ignored)));
        if (flow->n_fds == 0)
                return;
        flow_drop_fds(flow);
        gate_break(flow->gate, "it sends descriptors before it speaks D-Bus");
}
