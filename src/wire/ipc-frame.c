/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* IPC frames: the messages on Perfetto's sockets */

#include <errno.h>

#include "shared/macro.h"
#include "wire/ipc-frame.h"

/* The fields of Perfetto's IPCFrame and of the messages in it. */
enum {
        FRAME_REQUEST_ID = 2,
        FRAME_BIND = 3,
        FRAME_BIND_REPLY = 4,
        FRAME_INVOKE = 5,
        FRAME_INVOKE_REPLY = 6,
        FRAME_REQUEST_ERROR = 7,
        FRAME_PEER_IDENTITY = 8,

        BIND_SERVICE_NAME = 1,

        BIND_REPLY_SUCCESS = 1,
        BIND_REPLY_SERVICE_ID = 2,
        BIND_REPLY_METHODS = 3,
        METHOD_ID = 1,
        METHOD_NAME = 2,

        INVOKE_SERVICE_ID = 1,
        INVOKE_METHOD_ID = 2,
        INVOKE_ARGUMENTS = 3,
        INVOKE_DROP_REPLY = 4,

        REPLY_SUCCESS = 1,
        REPLY_HAS_MORE = 2,
        REPLY_MESSAGE = 3,

        ERROR_TEXT = 1,
};

int ipc_frame_next(const void *data, size_t n_bytes, size_t *ret_n) {
        const uint8_t *at = data;
        uint32_t n;

        *ret_n = IPC_LENGTH_BYTES;
        if (n_bytes < IPC_LENGTH_BYTES)
                return 0;
        n = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        if (n > IPC_FRAME_BYTES_MAX - IPC_LENGTH_BYTES)
                return -EMSGSIZE;
        *ret_n = IPC_LENGTH_BYTES + n;
        return n_bytes >= *ret_n;
}

static void frame_set_data(IpcFrame *frame, const WireField *field) {
        frame->data = field->data;
        frame->n_data = field->n_bytes;
}

static void read_bind_field(IpcFrame *frame, const WireField *field) {
        if (field->number == BIND_SERVICE_NAME && field->type == WIRE_BYTES)
                frame_set_data(frame, field);
}

/* The data is the whole reply, and was set by the caller. */
static void read_bind_reply_field(IpcFrame *frame, const WireField *field) {
        if (field->type != WIRE_VARINT)
                return;
        if (field->number == BIND_REPLY_SUCCESS)
                frame->success = field->value;
        else if (field->number == BIND_REPLY_SERVICE_ID)
                frame->service_id = (uint32_t)field->value;
}

static void read_invoke_field(IpcFrame *frame, const WireField *field) {
        if (field->number == INVOKE_ARGUMENTS && field->type == WIRE_BYTES)
                frame_set_data(frame, field);
        else if (field->type != WIRE_VARINT)
                return;
        else if (field->number == INVOKE_SERVICE_ID)
                frame->service_id = (uint32_t)field->value;
        else if (field->number == INVOKE_METHOD_ID)
                frame->method_id = (uint32_t)field->value;
        else if (field->number == INVOKE_DROP_REPLY)
                frame->drops_reply = field->value;
}

static void read_invoke_reply_field(IpcFrame *frame, const WireField *field) {
        if (field->number == REPLY_MESSAGE && field->type == WIRE_BYTES)
                frame_set_data(frame, field);
        else if (field->type != WIRE_VARINT)
                return;
        else if (field->number == REPLY_SUCCESS)
                frame->success = field->value;
        else if (field->number == REPLY_HAS_MORE)
                frame->has_more = field->value;
}

static void read_error_field(IpcFrame *frame, const WireField *field) {
        if (field->number == ERROR_TEXT && field->type == WIRE_BYTES)
                frame_set_data(frame, field);
}

static void read_no_field(IpcFrame *frame, const WireField *field) {
}

static const struct {
        uint32_t number;
        IpcKind kind;
        void (*read_field)(IpcFrame *frame, const WireField *field);
} frame_messages[] = {
        { FRAME_BIND, IPC_BIND, read_bind_field },
        { FRAME_BIND_REPLY, IPC_BIND_REPLY, read_bind_reply_field },
        { FRAME_INVOKE, IPC_INVOKE, read_invoke_field },
        { FRAME_INVOKE_REPLY, IPC_INVOKE_REPLY, read_invoke_reply_field },
        { FRAME_REQUEST_ERROR, IPC_REQUEST_ERROR, read_error_field },
        { FRAME_PEER_IDENTITY, IPC_PEER_IDENTITY, read_no_field },
};

/* They form a oneof: the last one counts, and the ones before it are discarded. */
static int read_message(IpcFrame *frame, size_t i, const WireField *message) {
        const uint64_t request_id = frame->request_id;
        WireReader reader;
        WireField field;
        int r;

        *frame = (IpcFrame){ .kind = frame_messages[i].kind, .request_id = request_id };
        if (frame->kind == IPC_BIND_REPLY)
                frame_set_data(frame, message);
        wire_reader_init_field(&reader, message);
        while ((r = wire_read(&reader, &field)) > 0)
                frame_messages[i].read_field(frame, &field);
        return r;
}

static int read_frame_field(IpcFrame *frame, const WireField *field) {
        if (field->number == FRAME_REQUEST_ID && field->type == WIRE_VARINT)
                frame->request_id = field->value;
        for (size_t i = 0; field->type == WIRE_BYTES && i < ARRAY_SIZE(frame_messages); i++)
                if (field->number == frame_messages[i].number)
                        return read_message(frame, i, field);
        return 0;
}

int ipc_frame_read(IpcFrame *ret, const void *data, size_t n_bytes) {
        WireReader reader;
        WireField field;
        int r;

        *ret = (IpcFrame){};
        wire_reader_init(&reader, data, n_bytes);
        while ((r = wire_read(&reader, &field)) > 0) {
                r = read_frame_field(ret, &field);
                if (r < 0)
                        return r;
        }
        return r;
}

static int read_method(const WireField *message, IpcMethod *ret) {
        WireReader reader;
        WireField field;
        int r;

        *ret = (IpcMethod){};
        wire_reader_init_field(&reader, message);
        while ((r = wire_read(&reader, &field)) > 0) {
                if (field.number == METHOD_ID && field.type == WIRE_VARINT)
                        ret->id = (uint32_t)field.value;
                if (field.number == METHOD_NAME && field.type == WIRE_BYTES) {
                        ret->name = (const char *)field.data;
                        ret->n_name = field.n_bytes;
                }
        }
        return r;
}

int ipc_read_method(WireReader *reader, IpcMethod *ret) {
        WireField field;
        int r;

        while ((r = wire_read(reader, &field)) > 0)
                if (field.number == BIND_REPLY_METHODS && field.type == WIRE_BYTES) {
                        r = read_method(&field, ret);
                        return r < 0 ? r : 1;
                }
        return r;
}

/* The length's place is kept, and filled in at the end. */
static size_t frame_begin(WireWriter *writer, uint64_t request_id) {
        static const uint8_t no_length[IPC_LENGTH_BYTES];
        const size_t begin = wire_writer_size(writer);

        wire_put_raw(writer, no_length, sizeof(no_length));
        wire_put_uint(writer, FRAME_REQUEST_ID, request_id);
        return begin;
}

static void frame_end(WireWriter *writer, size_t begin) {
        size_t n;
        uint8_t *at;

        if (wire_writer_failed(writer))
                return;
        n = wire_writer_size(writer) - begin;
        if (n > IPC_FRAME_BYTES_MAX) {
                writer->failed = true;
                return;
        }
        n -= IPC_LENGTH_BYTES;
        at = writer->start + begin;
        for (unsigned i = 0; i < IPC_LENGTH_BYTES; i++)
                at[i] = (uint8_t)(n >> (8 * i));
}

void ipc_put_bind(WireWriter *writer, uint64_t request_id, const char *service) {
        const size_t frame = frame_begin(writer, request_id);
        const size_t bind = wire_begin(writer, FRAME_BIND);

        wire_put_string(writer, BIND_SERVICE_NAME, service);
        wire_end(writer, bind);
        frame_end(writer, frame);
}

void ipc_put_invoke(WireWriter *writer,
                    uint64_t request_id,
                    uint32_t service_id,
                    uint32_t method_id,
                    bool drops_reply,
                    const void *data,
                    size_t n_data) {
        const size_t frame = frame_begin(writer, request_id);
        const size_t invoke = wire_begin(writer, FRAME_INVOKE);

        wire_put_uint(writer, INVOKE_SERVICE_ID, service_id);
        wire_put_uint(writer, INVOKE_METHOD_ID, method_id);
        wire_put_bytes(writer, INVOKE_ARGUMENTS, data, n_data);
        wire_put_bool(writer, INVOKE_DROP_REPLY, drops_reply);
        wire_end(writer, invoke);
        frame_end(writer, frame);
}

void ipc_put_reply(WireWriter *writer,
                   uint64_t request_id,
                   bool has_more,
                   const void *data,
                   size_t n_data) {
        const size_t frame = frame_begin(writer, request_id);
        const size_t reply = wire_begin(writer, FRAME_INVOKE_REPLY);

        wire_put_bool(writer, REPLY_SUCCESS, true);
        wire_put_bool(writer, REPLY_HAS_MORE, has_more);
        wire_put_bytes(writer, REPLY_MESSAGE, data, n_data);
        wire_end(writer, reply);
        frame_end(writer, frame);
}

void ipc_put_failure(WireWriter *writer, uint64_t request_id) {
        const size_t frame = frame_begin(writer, request_id);
        const size_t reply = wire_begin(writer, FRAME_INVOKE_REPLY);

        wire_put_bool(writer, REPLY_SUCCESS, false);
        wire_put_bool(writer, REPLY_HAS_MORE, false);
        wire_end(writer, reply);
        frame_end(writer, frame);
}

void ipc_put_request_error(WireWriter *writer, uint64_t request_id, const char *why) {
        const size_t frame = frame_begin(writer, request_id);
        const size_t error = wire_begin(writer, FRAME_REQUEST_ERROR);

        wire_put_string(writer, ERROR_TEXT, why);
        wire_end(writer, error);
        frame_end(writer, frame);
}

IpcBindReply
ipc_begin_bind_reply(WireWriter *writer, uint64_t request_id, bool success, uint32_t service_id) {
        IpcBindReply reply = { .frame = frame_begin(writer, request_id) };

        reply.reply = wire_begin(writer, FRAME_BIND_REPLY);
        if (success) {
                wire_put_bool(writer, BIND_REPLY_SUCCESS, true);
                wire_put_uint(writer, BIND_REPLY_SERVICE_ID, service_id);
        }
        return reply;
}

void ipc_put_method(WireWriter *writer, uint32_t id, const char *name) {
        const size_t method = wire_begin(writer, BIND_REPLY_METHODS);

        wire_put_uint(writer, METHOD_ID, id);
        wire_put_string(writer, METHOD_NAME, name);
        wire_end(writer, method);
}

void ipc_end_bind_reply(WireWriter *writer, const IpcBindReply *reply) {
        wire_end(writer, reply->reply);
        frame_end(writer, reply->frame);
}
