/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Frames out: replies and failures. */

#include "link.h"
#include "shared/fd.h"
#include "shared/log.h"

size_t port_message_max(void) {
        return IPC_FRAME_BYTES_MAX - IPC_REPLY_OVERHEAD_MAX;
}

void port_send(PortConnection *connection, WireWriter *writer, int fd) {
        if (wire_writer_failed(writer)) {
                fd_close(fd);
                port_connection_break(connection, "a reply to it is too long");
                return;
        }
        port_queue_send(connection, writer->start, wire_writer_size(writer), fd);
}

void port_begin_frame(PortConnection *connection, WireWriter *ret) {
        wire_writer_init(ret, connection->ports->output, sizeof(connection->ports->output));
}

void port_fail_request(PortConnection *connection, uint64_t request_id) {
        WireWriter writer;

        port_begin_frame(connection, &writer);
        ipc_put_failure(&writer, request_id);
        port_send(connection, &writer, -1);
}

void port_reply_with_fd(PortConnection *connection,
                        const PortRequest *request,
                        bool has_more,
                        const void *data,
                        size_t n_data,
                        int fd) {
        WireWriter writer;

        if (request->drops_reply || connection->is_broken) {
                fd_close(fd);
                return;
        }
        port_begin_frame(connection, &writer);
        ipc_put_reply(&writer, request->id, has_more, data, n_data);
        if (!wire_writer_failed(&writer)) {
                port_send(connection, &writer, fd);
                return;
        }
        log_debug("%s: a reply to it is too long", connection->description);
        fd_close(fd);
        port_fail_request(connection, request->id);
}

void port_reply(PortConnection *connection,
                const PortRequest *request,
                bool has_more,
                const void *data,
                size_t n_data) {
        port_reply_with_fd(connection, request, has_more, data, n_data, -1);
}

void port_fail(PortConnection *connection, const PortRequest *request) {
        if (!request->drops_reply)
                port_fail_request(connection, request->id);
}
