/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * IPC frames: the messages on Perfetto's sockets
 *
 * A frame is a little-endian 32-bit length and that number of bytes of an IPCFrame message: a request with a number
 * of its sender's choice, or a reply with the same number. Both directions are read and written here, as a client
 * would need them too. Frames that are read point into the caller's bytes, which are not trusted; frames that are
 * written go into a WireWriter of the caller. Nothing is allocated.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire-reader.h"
#include "wire/wire-writer.h"

#define IPC_LENGTH_BYTES    4
#define IPC_FRAME_BYTES_MAX (128u << 10) /* including its length; no peer accepts longer frames */

/* The most bytes that a reply adds to its message. */
#define IPC_REPLY_OVERHEAD_MAX 32

typedef enum IpcKind {
        IPC_UNKNOWN, /* a message of a newer peer, or none at all */
        IPC_BIND,
        IPC_BIND_REPLY,
        IPC_INVOKE,
        IPC_INVOKE_REPLY,
        IPC_REQUEST_ERROR,
        IPC_PEER_IDENTITY, /* what the peer claims; the kernel's answer is used instead */
} IpcKind;

typedef struct IpcFrame {
        IpcKind kind;
        uint64_t request_id;
        uint32_t service_id; /* of IPC_BIND_REPLY and IPC_INVOKE */
        uint32_t method_id;  /* of IPC_INVOKE */
        bool drops_reply;    /* likewise */
        bool success;        /* of replies */
        bool has_more;       /* of IPC_INVOKE_REPLY */
        /* IPC_BIND: the service's name. IPC_BIND_REPLY: the whole reply, for ipc_read_method(). IPC_INVOKE and its
         * reply: the method's message. IPC_REQUEST_ERROR: a text. */
        const uint8_t *data;
        size_t n_data;
} IpcFrame;

/* The size of the frame at the start of these bytes, with its length. 1: the frame is complete. 0: it is not, and
 * `*ret_n` is the least number of bytes needed, as far as is known. -EMSGSIZE: it is longer than a frame may be. */
int ipc_frame_next(const void *data, size_t n_bytes, size_t *ret_n);

/* Reads a frame without its length. Returns 0, or -EBADMSG if it is no protobuf message. */
int ipc_frame_read(IpcFrame *ret, const void *data, size_t n_bytes);

/* The methods of a bind reply, one at a time: begin with wire_reader_init() on its data. 1, 0 at the end, -EBADMSG.
 * The name is not terminated. */
typedef struct IpcMethod {
        uint32_t id;
        const char *name;
        size_t n_name;
} IpcMethod;

int ipc_read_method(WireReader *reader, IpcMethod *ret);

/* Appends whole frames to the writer. A frame that is too long fails the writer. */
void ipc_put_bind(WireWriter *writer, uint64_t request_id, const char *service);
void ipc_put_invoke(WireWriter *writer,
                    uint64_t request_id,
                    uint32_t service_id,
                    uint32_t method_id,
                    bool drops_reply,
                    const void *data,
                    size_t n_data);
/* A success carries a message, which may be empty; a failure carries none. */
void ipc_put_reply(WireWriter *writer,
                   uint64_t request_id,
                   bool has_more,
                   const void *data,
                   size_t n_data);
void ipc_put_failure(WireWriter *writer, uint64_t request_id);
void ipc_put_request_error(WireWriter *writer, uint64_t request_id, const char *why);

/* A bind reply is begun, then given its methods, then ended. */
typedef struct IpcBindReply {
        size_t frame, reply;
} IpcBindReply;

IpcBindReply
ipc_begin_bind_reply(WireWriter *writer, uint64_t request_id, bool success, uint32_t service_id);
void ipc_put_method(WireWriter *writer, uint32_t id, const char *name);
void ipc_end_bind_reply(WireWriter *writer, const IpcBindReply *reply);
