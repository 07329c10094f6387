/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "consumer-client.h"
#include "shared/fd.h"

static const char *const method_names[_CONSUMER_METHOD_N] = {
        [CONSUMER_ENABLE] = "EnableTracing",
        [CONSUMER_DISABLE] = "DisableTracing",
        [CONSUMER_READ] = "ReadBuffers",
        [CONSUMER_FREE] = "FreeBuffers",
        [CONSUMER_FLUSH] = "Flush",
        [CONSUMER_START] = "StartTracing",
        [CONSUMER_CHANGE] = "ChangeTraceConfig",
        [CONSUMER_DETACH] = "Detach",
        [CONSUMER_ATTACH] = "Attach",
        [CONSUMER_STATS] = "GetTraceStats",
        [CONSUMER_OBSERVE] = "ObserveEvents",
        [CONSUMER_QUERY_STATE] = "QueryServiceState",
        [CONSUMER_QUERY_CAPABILITIES] = "QueryCapabilities",
        [CONSUMER_SAVE] = "SaveTraceForBugreport",
        [CONSUMER_CLONE] = "CloneSession",
};

void consumer_client_init(ConsumerClient *client, int fd) {
        *client = (ConsumerClient){ .fd = fd };
        consumer_message(client);
}

void consumer_client_deinit(ConsumerClient *client) {
        client->fd = fd_close(client->fd);
        bytes_deinit(&client->received);
        for (size_t i = 0; i < client->n_replies; i++)
                bytes_deinit(&client->replies[i].data);
        client->n_replies = 0;
}

static void note_methods(ConsumerClient *client, const IpcFrame *frame) {
        WireReader reader;
        IpcMethod method;

        client->is_bound = frame->success;
        client->is_refused = !frame->success;
        client->service_id = frame->service_id;
        wire_reader_init(&reader, frame->data, frame->n_data);
        while (ipc_read_method(&reader, &method) > 0)
                for (size_t i = 0; i < _CONSUMER_METHOD_N; i++)
                        if (strlen(method_names[i]) == method.n_name &&
                            memcmp(method_names[i], method.name, method.n_name) == 0)
                                client->methods[i] = method.id;
}

static void note_reply(ConsumerClient *client, const IpcFrame *frame) {
        ConsumerReply *reply;

        if (client->n_replies == CONSUMER_REPLIES_MAX)
                return;
        reply = &client->replies[client->n_replies++];
        *reply = (ConsumerReply){
                .request = frame->request_id,
                .success = frame->success,
                .has_more = frame->has_more,
        };
        bytes_append(&reply->data, frame->data, frame->n_data);
}

static void note_frames(ConsumerClient *client) {
        Bytes *received = &client->received;
        size_t at = 0, n;

        while (ipc_frame_next(received->data + at, received->n - at, &n) > 0) {
                IpcFrame frame;

                if (ipc_frame_read(&frame,
                                   received->data + at + IPC_LENGTH_BYTES,
                                   n - IPC_LENGTH_BYTES) == 0) {
                        if (frame.kind == IPC_BIND_REPLY)
                                note_methods(client, &frame);
                        if (frame.kind == IPC_INVOKE_REPLY)
                                note_reply(client, &frame);
                }
                at += n;
        }
        received->n -= at;
        memmove(received->data, received->data + at, received->n);
}

bool consumer_client_pump(ConsumerClient *client) {
        bool has_come = false;
        uint8_t piece[4096];
        ssize_t n;

        while (!client->is_closed &&
               (n = recv(client->fd, piece, sizeof(piece), MSG_DONTWAIT)) != -1) {
                client->is_closed = n == 0;
                has_come = true;
                bytes_append(&client->received, piece, (size_t)n);
        }
        if (!client->is_closed && errno != EAGAIN)
                client->is_closed = true;
        if (has_come && client->received.n > 0)
                note_frames(client);
        return has_come;
}

static void client_send(ConsumerClient *client, const WireWriter *writer, int fd) {
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct iovec piece = { writer->start, wire_writer_size(writer) };
        struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };

        if (fd >= 0) {
                control.header.cmsg_level = SOL_SOCKET;
                control.header.cmsg_type = SCM_RIGHTS;
                control.header.cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
                message.msg_control = &control;
                message.msg_controllen = sizeof(control.space);
        }
        if (sendmsg(client->fd, &message, MSG_NOSIGNAL) != (ssize_t)piece.iov_len)
                client->is_closed = true;
}

void consumer_client_bind(ConsumerClient *client) {
        uint8_t memory[256];
        WireWriter writer;

        wire_writer_init(&writer, memory, sizeof(memory));
        ipc_put_bind(&writer, ++client->n_requests, "ConsumerPort");
        client_send(client, &writer, -1);
}

WireWriter *consumer_message(ConsumerClient *client) {
        wire_writer_init(&client->message, client->memory, sizeof(client->memory));
        return &client->message;
}

uint64_t consumer_call_with_fd(ConsumerClient *client, ConsumerMethod method, int fd) {
        static uint8_t memory[2 * IPC_FRAME_BYTES_MAX];
        WireWriter writer;

        wire_writer_init(&writer, memory, sizeof(memory));
        ipc_put_invoke(&writer,
                       ++client->n_requests,
                       client->service_id,
                       client->methods[method],
                       false,
                       client->memory,
                       wire_writer_size(&client->message));
        client_send(client, &writer, fd);
        consumer_message(client);
        return client->n_requests;
}

uint64_t consumer_call(ConsumerClient *client, ConsumerMethod method) {
        return consumer_call_with_fd(client, method, -1);
}

const ConsumerReply *consumer_reply(const ConsumerClient *client, uint64_t request, size_t nth) {
        for (size_t i = 0; i < client->n_replies; i++)
                if (client->replies[i].request == request && nth-- == 0)
                        return &client->replies[i];
        return NULL;
}

size_t consumer_n_replies(const ConsumerClient *client, uint64_t request) {
        size_t n = 0;

        while (consumer_reply(client, request, n))
                n++;
        return n;
}

bool consumer_reply_field(const ConsumerReply *reply, uint32_t number, WireField *ret) {
        WireReader reader;
        WireField field;
        bool is_there = false;

        wire_reader_init(&reader, reply->data.data, reply->data.n);
        while (wire_read(&reader, &field) > 0)
                if (field.number == number) {
                        *ret = field;
                        is_there = true;
                }
        return is_there;
}

/* A slice: its bytes, and whether it is the last of its packet. */
static void take_slice(const WireField *slice, Bytes *packet, Bytes *trace) {
        uint8_t header[2 * WIRE_VARINT_MAX];
        bool is_last = false;
        WireWriter writer;
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, slice);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1)
                        bytes_append(packet, field.data, field.n_bytes);
                if (field.number == 2)
                        is_last = field.value;
        }
        if (!is_last)
                return;
        wire_writer_init(&writer, header, sizeof(header));
        wire_put_varint(&writer, 1 << 3 | WIRE_BYTES);
        writer.at = wire_encode_varint(header + 1, packet->n);
        bytes_append(trace, header, wire_writer_size(&writer));
        bytes_append(trace, packet->data, packet->n);
        packet->n = 0;
}

void consumer_read_trace(const ConsumerClient *client, uint64_t request, Bytes *ret) {
        _cleanup_(bytes_deinit) Bytes packet = {};
        const ConsumerReply *reply;

        for (size_t i = 0; (reply = consumer_reply(client, request, i)); i++) {
                WireReader reader;
                WireField field;

                wire_reader_init(&reader, reply->data.data, reply->data.n);
                while (wire_read(&reader, &field) > 0)
                        if (field.number == 2)
                                take_slice(&field, &packet, ret);
        }
}
