/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Most messages fit into the socket at once and are never copied. The rest is queued, each message with the descriptor
 * that belongs to its first byte.
 */

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

#include "link.h"
#include "shared/fd.h"

/* How many bytes the socket took; the descriptor has gone with the first. A negative errno: the socket cannot be used
 * from now on. */
static ssize_t socket_send(int fd, const uint8_t *data, size_t n, int passed_fd) {
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct iovec piece = { .iov_base = (void *)data, .iov_len = n };
        struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
        ssize_t n_sent;

        if (passed_fd >= 0) {
                control.header.cmsg_level = SOL_SOCKET;
                control.header.cmsg_type = SCM_RIGHTS;
                control.header.cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(&control.header), &passed_fd, sizeof(int));
                message.msg_control = &control;
                message.msg_controllen = sizeof(control.space);
        }
        do
                n_sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        while (n_sent < 0 && errno == EINTR);
        if (n_sent >= 0)
                return n_sent;
        /* A peer may hang up without reading its replies; what it has sent before is still read. */
        if (errno == EPIPE || errno == ECONNRESET)
                return (ssize_t)n;
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
}

static PortMessage *message_free(PortMessage *message) {
        fd_close(message->fd);
        list_unlink(&message->link);
        free(message);
        return NULL;
}

/* The memory that a reply occupies: most replies are smaller than the block they wait in. */
static bool queue_hold(PortConnection *connection, size_t n) {
        if (connection->n_queued + n > PORTS_QUEUE_BYTES_MAX || !port_user_hold(connection, n))
                return false;
        connection->n_queued += n;
        return true;
}

static void queue_release(PortConnection *connection, size_t n) {
        connection->n_queued -= n;
        port_user_release(connection, n);
}

/* `fd` is taken over. */
static int queue_append(PortConnection *connection, const uint8_t *data, size_t n, int fd) {
        _cleanup_(fd_closep) int own_fd = fd;
        PortMessage *message;

        if (!queue_hold(connection, sizeof(*message) + n))
                return -ENOBUFS;
        message = malloc(sizeof(*message) + n);
        if (!message) {
                queue_release(connection, sizeof(*message) + n);
                return -ENOMEM;
        }
        *message = (PortMessage){ .fd = TAKE_FD(own_fd), .n = n };
        memcpy(message->data, data, n);
        list_append(&connection->queue, &message->link);
        port_connection_watch(connection);
        return 0;
}

void port_queue_send(PortConnection *connection, const void *data, size_t n, int fd) {
        _cleanup_(fd_closep) int own_fd = fd;
        ssize_t n_sent = 0;
        int r = 0;

        if (connection->is_broken)
                return;
        if (list_is_empty(&connection->queue))
                n_sent = socket_send(connection->fd, data, n, own_fd);
        if (n_sent < 0) {
                port_connection_break(connection, "it cannot be written to");
                return;
        }
        if (n_sent > 0)
                own_fd = fd_close(own_fd);
        if ((size_t)n_sent < n)
                r = queue_append(connection,
                                 (const uint8_t *)data + n_sent,
                                 n - (size_t)n_sent,
                                 TAKE_FD(own_fd));
        if (r < 0)
                port_connection_break(connection, "it does not read what it is sent");
}

/* Whether the socket took all of it. */
static bool message_send(PortConnection *connection, PortMessage *message) {
        const ssize_t n_sent = socket_send(connection->fd,
                                           message->data + message->n_sent,
                                           message->n - message->n_sent,
                                           message->fd);

        if (n_sent < 0) {
                port_connection_break(connection, "it cannot be written to");
                return false;
        }
        if (n_sent > 0)
                message->fd = fd_close(message->fd);
        message->n_sent += (size_t)n_sent;
        queue_release(connection, (size_t)n_sent);
        return message->n_sent == message->n;
}

void port_queue_flush(PortConnection *connection) {
        PortMessage *message;

        list_for_each (message, &connection->queue, link) {
                if (connection->is_broken || !message_send(connection, message))
                        return;
                message_free(message);
                queue_release(connection, sizeof(*message));
        }
        connection->awaits_drained = false;
        port_connection_watch(connection);
        if (connection->is_bound && connection->service->drained &&
            !list_is_linked(&connection->drained_link))
                list_append(&connection->ports->drained, &connection->drained_link);
}

void port_queue_deinit(PortConnection *connection) {
        PortMessage *message;

        list_for_each (message, &connection->queue, link)
                message_free(message);
        assert(list_is_empty(&connection->queue));
        port_user_release(connection, connection->n_queued);
        connection->n_queued = 0;
}
