/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes bytes and descriptors: at once if the socket takes them, and queued otherwise. */

#include <errno.h>
#include <sys/socket.h>

#include "gate/gate-private.h"
#include "shared/fd.h"
#include "shared/macro.h"

void flow_free_message(GateFlow *flow, GateMessage *message) {
        while (message->n_fds > 0)
                fd_close(message->fds[--message->n_fds]);
        flow->n_queued -= message->n;
        gate_release(flow->gate, message->n);
        list_unlink(&message->link);
        free(message);
}

/* Returns how many bytes the socket took; the descriptors left with the first of them. */
static size_t
flow_write(GateFlow *flow, const uint8_t *data, size_t n, const int *fds, size_t n_fds) {
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(sizeof(int[GATE_FDS_MAX]))];
        } control = {};
        struct iovec piece = { .iov_base = (void *)data, .iov_len = n };
        struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
        ssize_t n_sent;

        if (n_fds > 0) {
                control.header.cmsg_level = SOL_SOCKET;
                control.header.cmsg_type = SCM_RIGHTS;
                control.header.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
                memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(int));
                message.msg_control = &control;
                message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        }
        do
                n_sent = sendmsg(flow->to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        while (n_sent < 0 && errno == EINTR);
        /* A peer that has gone may have left bytes to be read; only writing to it is pointless. */
        if (n_sent == (ssize_t)n || (n_sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK))
                return n;
        /* A socket that took only a part is full, too. */
        flow->is_writable = false;
        gate_await_room(flow, true);
        return (size_t)MAX(n_sent, 0);
}

/* sd-bus and the message bus read when they get to it: for them, reading from the other side pauses instead. */
static bool flow_may_queue(const GateFlow *flow, size_t n) {
        return flow->is_from_peer || flow->gate->options.is_bus ||
               flow->n_queued + n <= GATE_QUEUE_BYTES_MAX;
}

/* The descriptors are taken over, or closed. */
static void flow_queue(GateFlow *flow, const uint8_t *data, size_t n, int *fds, size_t n_fds) {
        GateMessage *message = NULL;

        if (flow_may_queue(flow, n) && gate_hold(flow->gate, n)) {
                message = malloc(sizeof(*message) + n);
                if (!message)
                        gate_release(flow->gate, n);
        }
        if (!message) {
                while (n_fds > 0)
                        fd_close(fds[--n_fds]);
                gate_break(flow->gate, "too much waits for it to be read");
                return;
        }
        *message = (GateMessage){ .n = n, .n_fds = n_fds };
        memcpy(message->fds, fds, n_fds * sizeof(*fds));
        memcpy(message->data, data, n);
        flow->n_queued += n;
        list_append(&flow->queue, &message->link);
}

void flow_send_with(GateFlow *flow, const uint8_t *data, size_t n, int *fds, size_t n_fds) {
        size_t n_sent = 0;

        if (list_is_empty(&flow->queue))
                n_sent = flow_write(flow, data, n, fds, n_fds);
        if (n_sent > 0)
                while (n_fds > 0)
                        fd_close(fds[--n_fds]);
        if (n_sent < n)
                flow_queue(flow, data + n_sent, n - n_sent, fds, n_fds);
        flow->gate->has_passed |= flow->is_from_peer;
}

void flow_send(GateFlow *flow, const void *data, size_t n) {
        flow_send_with(flow, data, n, NULL, 0);
}

bool flow_flush(GateFlow *flow) {
        GateMessage *message;

        list_for_each (message, &flow->queue, link) {
                const size_t n_sent = flow_write(flow,
                                                 message->data + message->n_sent,
                                                 message->n - message->n_sent,
                                                 message->fds,
                                                 message->n_fds);

                if (n_sent > 0)
                        while (message->n_fds > 0)
                                fd_close(message->fds[--message->n_fds]);
                message->n_sent += n_sent;
                flow->gate->has_passed |= flow->is_from_peer && n_sent > 0;
                if (message->n_sent < message->n)
                        return false;
                flow_free_message(flow, message);
        }
        gate_await_room(flow, false);
        return true;
}
