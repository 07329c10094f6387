/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Frames are read where they all come together, into memory that the connections share, and dispatched from there.
 * Only a frame of which a part has not come yet is kept: from then on just its rest is read, so that it is never
 * moved again, and its memory grows no faster than what the peer has sent.
 *
 * A descriptor comes with some byte of a read, no later than the frame that it belongs to ends. There is a place for
 * one; it is dropped when everything that was read is dispatched and no method has taken it.
 */

#include <errno.h>
#include <sys/socket.h>

#include "closer/closer.h"
#include "link.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/monotonic.h"

#define HELD_BYTES_MIN 1024

static bool is_text(const uint8_t *data, size_t n_data, const char *text) {
        return n_data == strlen(text) && memcmp(data, text, n_data) == 0;
}

/* Binding once more is allowed, and changes nothing. */
static int connection_open(PortConnection *connection) {
        int r;

        if (connection->is_bound)
                return 0;
        if (connection->is_refused)
                return port_refuse(connection, "it was refused before");
        r = connection->service->open(&connection->port, connection);
        connection->is_bound = r == 0;
        connection->is_refused = r > 0;
        return r;
}

static int on_bind(PortConnection *connection, const IpcFrame *frame) {
        const PortService *service = connection->service;
        IpcBindReply reply;
        WireWriter writer;
        int r;

        port_begin_call(connection);
        if (is_text(frame->data, frame->n_data, service->name))
                r = connection_open(connection);
        else
                r = port_refuse(connection, "this socket serves %s", service->name);
        if (r < 0)
                return r;
        if (r > 0)
                port_log_refusal(connection, "BindService");
        port_begin_frame(connection, &writer);
        reply = ipc_begin_bind_reply(&writer, frame->request_id, r == 0, PORT_SERVICE_ID);
        for (size_t i = 0; r == 0 && i < service->n_methods; i++)
                if (service->methods[i].handle)
                        ipc_put_method(&writer, (uint32_t)i + 1, service->methods[i].name);
        ipc_end_bind_reply(&writer, &reply);
        port_send(connection, &writer, -1);
        return 0;
}

static const PortMethod *find_method(const PortConnection *connection, const IpcFrame *frame) {
        const PortService *service = connection->service;

        if (!connection->is_bound || frame->service_id != PORT_SERVICE_ID ||
            frame->method_id == 0 || frame->method_id > service->n_methods ||
            !service->methods[frame->method_id - 1].handle)
                return NULL;
        return &service->methods[frame->method_id - 1];
}

/* An unknown method gets a reply even if the caller wants none, as from Perfetto's service. */
static int on_invoke(PortConnection *connection, const IpcFrame *frame) {
        const PortMethod *method = find_method(connection, frame);
        const PortRequest request = { .id = frame->request_id, .drops_reply = frame->drops_reply };
        int r;

        port_begin_call(connection);
        if (!method) {
                port_connection_log(
                        connection, "there is no method %u", (unsigned)frame->method_id);
                port_fail_request(connection, frame->request_id);
                return 0;
        }
        r = method->handle(connection->port, &request, frame->data, frame->n_data);
        if (r <= 0)
                return r;
        port_log_refusal(connection, method->name);
        port_fail(connection, &request);
        return 0;
}

static int on_unknown(PortConnection *connection, const IpcFrame *frame) {
        WireWriter writer;

        port_begin_frame(connection, &writer);
        ipc_put_request_error(&writer, frame->request_id, "unknown request");
        port_send(connection, &writer, -1);
        return 0;
}

static int connection_dispatch(PortConnection *connection, const uint8_t *data, size_t n) {
        IpcFrame frame;
        int r;

        connection->ports->n_calls++;
        r = ipc_frame_read(&frame, data, n);
        if (r < 0)
                return r;
        switch (frame.kind) {
        case IPC_BIND:
                return on_bind(connection, &frame);
        case IPC_INVOKE:
                return on_invoke(connection, &frame);
        case IPC_PEER_IDENTITY:
                return 0; /* the kernel has set it */
        case IPC_BIND_REPLY:
        case IPC_INVOKE_REPLY:
        case IPC_REQUEST_ERROR:
        case IPC_UNKNOWN:
        default:
                return on_unknown(connection, &frame);
        }
}

/* Empty frames are allowed and ignored. */
static int dispatch_frame(PortConnection *connection, const uint8_t *frame, size_t n_frame) {
        if (n_frame == IPC_LENGTH_BYTES)
                return 0;
        return connection_dispatch(
                connection, frame + IPC_LENGTH_BYTES, n_frame - IPC_LENGTH_BYTES);
}

static int connection_hold(PortConnection *connection, const uint8_t *data, size_t n) {
        if (n == 0)
                return 0;
        if (!port_user_hold(connection, n))
                return -ENOBUFS;
        return bytes_append(&connection->held, data, n);
}

static void connection_release(PortConnection *connection) {
        port_user_release(connection, connection->held.n);
        bytes_deinit(&connection->held);
}

static void connection_rest(PortConnection *connection) {
        Ports *ports = connection->ports;

        connection->is_resting = true;
        list_append(&ports->resting, &connection->resting_link);
        port_connection_watch(connection);
        if (sd_event_source_set_enabled(ports->rest_source, SD_EVENT_ON) < 0)
                port_connection_break(connection, "it cannot be watched");
}

static bool connection_may_go_on(const PortConnection *connection) {
        return !connection->is_broken && !connection->is_paused && !connection->is_resting;
}

/* Dispatches the whole frames at the front until the turn is over; the rest is kept. */
static int dispatch_frames(PortConnection *connection, const uint8_t *data, size_t n) {
        size_t n_frame;
        int r = 0;

        while (connection_may_go_on(connection) && (r = ipc_frame_next(data, n, &n_frame)) > 0) {
                r = dispatch_frame(connection, data, n_frame);
                if (r < 0)
                        return r;
                data += n_frame;
                n -= n_frame;
                if (n > 0 && connection_may_go_on(connection) &&
                    monotonic_ns() - connection->turn_began > PORTS_TURN_NS)
                        connection_rest(connection);
        }
        if (r < 0 || connection->is_broken)
                return r;
        return connection_hold(connection, data, n);
}

static void drop_received_fd(PortConnection *connection) {
        connection->received_fd =
                closer_take(port_connection_user(connection), connection->received_fd);
}

/* No client sends a second descriptor before a method has taken the first. */
static int take_descriptors(PortConnection *connection, struct msghdr *message) {
        int fds[CLOSER_MESSAGE_FDS];
        size_t n = fd_list_received(message, fds, ARRAY_SIZE(fds));

        if (n == 1 && !(message->msg_flags & MSG_CTRUNC) && connection->received_fd < 0) {
                connection->received_fd = fds[0];
                return 0;
        }
        for (size_t i = 0; i < n; i++)
                closer_close(port_connection_user(connection), fds[i]);
        return n > 0 || message->msg_flags & MSG_CTRUNC ? -EBADMSG : 0;
}

/* Whether the next bytes come with descriptors. Takes none of them. */
static bool brings_descriptors(PortConnection *connection, void *data, size_t n) {
        struct iovec piece = { .iov_base = data, .iov_len = n };
        struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };

        return recvmsg(connection->fd, &message, MSG_PEEK | MSG_DONTWAIT) > 0 &&
               message.msg_flags & MSG_CTRUNC;
}

/* 0 when there is nothing to read now; -ECONNRESET when the peer has gone. */
static ssize_t connection_receive(PortConnection *connection, void *data, size_t n) {
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
        ssize_t n_read;
        int r;

        if (closer_is_full(port_connection_user(connection)) &&
            brings_descriptors(connection, data, n))
                return -EUSERS;
        n_read = recvmsg(connection->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (n_read < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        r = take_descriptors(connection, &message);
        if (r < 0)
                return r;
        return n_read > 0 ? n_read : -ECONNRESET;
}

/* A frame has begun: only its rest is read. Returns how many bytes came. */
static ssize_t read_rest(PortConnection *connection) {
        Bytes *held = &connection->held;
        size_t n_frame, n;
        ssize_t n_read;
        int r;

        r = ipc_frame_next(held->data, held->n, &n_frame);
        if (r < 0)
                return r;
        n = MAX(held->n, (size_t)HELD_BYTES_MIN);
        n = MIN(n_frame - held->n, n);
        if (!port_user_hold(connection, n))
                return -ENOBUFS;
        r = bytes_reserve(held, n);
        n_read = r < 0 ? r : connection_receive(connection, held->data + held->n, n);
        port_user_release(connection, n_read > 0 ? n - (size_t)n_read : n);
        if (n_read <= 0)
                return n_read;
        held->n += (size_t)n_read;
        return n_read;
}

static int dispatch_held(PortConnection *connection) {
        _cleanup_(bytes_deinit) Bytes frame = {};
        size_t n_frame;
        int r;

        r = ipc_frame_next(connection->held.data, connection->held.n, &n_frame);
        if (r <= 0)
                return r;
        /* Out of the connection first: the method may break it. */
        frame = connection->held;
        connection->held = (Bytes){};
        port_user_release(connection, frame.n);
        return dispatch_frame(connection, frame.data, n_frame);
}

static const char *read_error(int error) {
        switch (-error) {
        case ECONNRESET:
        case EPIPE:
                return NULL; /* it was closed meanwhile */
        case EMSGSIZE:
                return "its frame is longer than frames may be";
        case EBADMSG:
                return "what it sends is no frame";
        case ENOBUFS:
                return "too many half frames of its user are held";
        case EUSERS:
                return "descriptors of its user cannot be closed: their file system does not "
                       "answer";
        default:
                return strerror(-error);
        }
}

/* Dispatches the bytes that were held while the connection was paused or waited for its turn. These may be many frames
 * and a part of one. */
void port_connection_dispatch_held(PortConnection *connection) {
        _cleanup_(bytes_deinit) Bytes held = {};
        int r;

        if (!connection_may_go_on(connection))
                return;
        held = connection->held;
        connection->held = (Bytes){};
        connection->turn_began = monotonic_ns();
        port_user_release(connection, held.n);
        r = dispatch_frames(connection, held.data, held.n);
        if (r < 0)
                port_connection_break(connection, read_error(r));
        else if (connection->held.n == 0)
                drop_received_fd(connection);
}

/* Reads once. 1: there may be more. */
static int connection_read_once(PortConnection *connection) {
        Ports *ports = connection->ports;
        ssize_t n;
        int r;

        if (connection->held.n > 0) {
                n = read_rest(connection);
                r = n > 0 ? dispatch_held(connection) : (int)n;
        } else {
                n = connection_receive(connection, ports->input, sizeof(ports->input));
                r = n > 0 ? dispatch_frames(connection, ports->input, (size_t)n) : (int)n;
        }
        if (r < 0)
                return r;
        if (connection->held.n == 0)
                drop_received_fd(connection);
        return n > 0;
}

void port_connection_read(PortConnection *connection) {
        unsigned n_reads = 0;
        int r;

        connection->turn_began = monotonic_ns();
        do
                r = connection_read_once(connection);
        while (r > 0 && connection->held.n > 0 && ++n_reads < PORTS_READS_PER_TURN &&
               connection_may_go_on(connection));
        if (r < 0)
                port_connection_break(connection, read_error(r));
}

PortConnection *port_connection_free(PortConnection *connection) {
        if (!connection)
                return NULL;
        connection->is_broken = true; /* what close() still says goes nowhere */
        if (connection->is_bound)
                connection->service->close(connection->port);
        sd_event_source_disable_unref(connection->source);
        list_unlink(&connection->marked_link);
        list_unlink(&connection->drained_link);
        list_unlink(&connection->resumed_link);
        list_unlink(&connection->resting_link);
        list_unlink(&connection->link);
        port_queue_deinit(connection);
        connection_release(connection);
        drop_received_fd(connection);
        closer_close_socket(port_connection_user(connection), connection->fd);
        port_user_leave(connection);
        free(connection);
        return NULL;
}
