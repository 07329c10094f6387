/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A message is read exactly, neither less nor more in the end, so that descriptors stay with the message that they came
 * with: a read takes those of all bytes that it takes. One that is all there is passed on without a copy.
 *
 * Epoll tells only what changes, so each flow remembers whether there may be something to read, or room to write, until
 * a call says that there is not.
 */

#include <errno.h>
#include <sys/socket.h>

#include "gate/gate-private.h"
#include "shared/fd.h"

#define RECEIVED_FDS_MAX 253 /* the kernel's SCM_MAX_FD */

void flow_init(GateFlow *flow, Gate *gate, int from, int to, bool is_from_peer) {
        *flow = (GateFlow){
                .gate = gate,
                .from = from,
                .to = to,
                .is_from_peer = is_from_peer,
                .is_readable = true,
                .is_writable = true,
                .has_lines = true,
        };
        list_init(&flow->queue);
}

static void message_free(GateFlow *flow, GateMessage *message) {
        while (message->n_fds > 0)
                fd_close(message->fds[--message->n_fds]);
        flow->n_queued -= message->n;
        gate_release(flow->gate, message->n);
        list_unlink(&message->link);
        free(message);
}

static void flow_forget_held(GateFlow *flow) {
        gate_release(flow->gate, flow->held.n);
        bytes_deinit(&flow->held);
        flow->n_need = 0;
        flow->keeps_fds = false;
}

void flow_deinit(GateFlow *flow) {
        GateMessage *message;

        list_for_each (message, &flow->queue, link)
                message_free(flow, message);
        flow_drop_fds(flow);
        flow_forget_held(flow);
}

/*
 * Reading
 */

void flow_wait(GateFlow *flow) {
        flow->is_readable = false;
        flow->is_ended |= flow->is_hung_up;
}

static size_t flow_count(GateFlow *flow, ssize_t n) {
        if (n > 0)
                return (size_t)n;
        if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
                flow->is_hung_up = true; /* EOF, or as good as that */
        if (n == 0 || errno != EINTR)
                flow_wait(flow);
        return 0;
}

size_t flow_peek(GateFlow *flow, void *data, size_t n) {
        return flow_count(flow, recv(flow->from, data, n, MSG_PEEK | MSG_DONTWAIT));
}

void flow_skip(GateFlow *flow, size_t n) {
        uint8_t ignored[HANDSHAKE_LINE_BYTES_MAX];

        flow_count(flow, recv(flow->from, ignored, MIN(n, sizeof(ignored)), MSG_DONTWAIT));
}

static bool flow_keep_fds(GateFlow *flow, struct msghdr *message) {
        int fds[RECEIVED_FDS_MAX];
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

/* With its descriptors. */
static size_t flow_read(GateFlow *flow, void *data, size_t n) {
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(sizeof(int[RECEIVED_FDS_MAX]))];
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

/*
 * Writing
 */

/* How many bytes the socket took; the descriptors have gone with the first. */
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
        if (n_sent >= 0)
                return (size_t)n_sent;
        /* What a peer that has gone said before is still to be read, until its end; nobody misses this. */
        if (errno != EAGAIN && errno != EWOULDBLOCK)
                return n;
        flow->is_writable = false;
        return 0;
}

/* sd-bus reads in its own time, and so does the message bus: there, nothing more is read instead. */
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

static void flow_send_with(GateFlow *flow, const uint8_t *data, size_t n, int *fds, size_t n_fds) {
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

/* false: there is no room for more. */
static bool flow_flush(GateFlow *flow) {
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
                if (message->n_sent < message->n)
                        return false;
                message_free(flow, message);
        }
        return true;
}

/*
 * Messages
 */

static void flow_pass_on(GateFlow *flow, const uint8_t *data, size_t n) {
        if (flow_admit_fds(flow, data, n)) {
                const size_t n_fds = flow->n_fds;

                flow->n_fds = 0;
                flow_send_with(flow, data, n, flow->fds, n_fds);
        }
        flow_forget_held(flow);
}

/* The whole of a short one, or else some of it. */
static bool flow_take_first(GateFlow *flow) {
        uint8_t *buffer = flow->gate->gates->buffer;
        const size_t n = flow_read(flow, buffer, (size_t)MIN(flow->n_need, GATE_BUFFER_BYTES));

        if (n == 0)
                return false;
        if (n == flow->n_need)
                flow_pass_on(flow, buffer, n);
        else if (!gate_hold(flow->gate, n))
                gate_break(flow->gate, "too much of its messages is missing");
        else if (bytes_append(&flow->held, buffer, n) < 0)
                gate_break(flow->gate, "there is no memory");
        return true;
}

static bool flow_take_more(GateFlow *flow) {
        const size_t n_wanted =
                (size_t)MIN(flow->n_need - flow->held.n, (uint64_t)GATE_BUFFER_BYTES);
        size_t n;

        if (bytes_reserve(&flow->held, n_wanted) < 0) {
                gate_break(flow->gate, "there is no memory");
                return false;
        }
        n = flow_read(flow, flow->held.data + flow->held.n, n_wanted);
        if (n == 0)
                return false;
        if (!gate_hold(flow->gate, n)) {
                gate_break(flow->gate, "too much of its messages is missing");
                return false;
        }
        flow->held.n += n;
        if (flow->held.n == flow->n_need)
                flow_pass_on(flow, flow->held.data, flow->held.n);
        return true;
}

static bool flow_take_skipped(GateFlow *flow) {
        const size_t n = flow_count(flow,
                                    recv(flow->from,
                                         flow->gate->gates->buffer,
                                         (size_t)MIN(flow->n_skip, (uint64_t)GATE_BUFFER_BYTES),
                                         MSG_DONTWAIT));

        flow->n_skip -= n;
        return n > 0;
}

static bool flow_take(GateFlow *flow) {
        if (flow->has_lines)
                return flow_take_line(flow);
        if (flow->n_skip == 0 && flow->n_need == 0)
                return flow_admit(flow);
        if (flow->n_skip > 0)
                return flow_take_skipped(flow);
        return flow->held.n == 0 ? flow_take_first(flow) : flow_take_more(flow);
}

/* What sd-bus says is taken from it at any time, so that it does not wait in there, uncounted. */
static bool flow_must_wait(const GateFlow *flow) {
        return !list_is_empty(&flow->queue) && (flow->is_from_peer || flow->gate->options.is_bus);
}

bool flow_step(GateFlow *flow) {
        if (flow->gate->is_broken)
                return false;
        if (flow->is_writable && !list_is_empty(&flow->queue))
                flow_flush(flow);
        if (flow_must_wait(flow) || !flow->is_readable || flow->is_ended)
                return false;
        return flow_take(flow) && !flow->gate->is_broken;
}
