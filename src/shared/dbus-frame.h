/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * D-Bus frame: where a D-Bus message ends, and what its header says
 *
 * The D-Bus specification, "Message Format". Everything is checked against the bytes that are there; nothing is
 * allocated or copied: texts point into the message, and end with a NUL there.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEAD_BYTES 16  /* this many bytes tell how long the message is */
#define FRAME_NAME_BYTES 256 /* names of connections and members have at most 255 bytes */

typedef struct Frame {
        uint64_t n_bytes;        /* of the whole message */
        uint64_t n_header_bytes; /* of the part before the body, which has the fields */
} Frame;

typedef enum FrameType {
        FRAME_METHOD_CALL = 1,
        FRAME_METHOD_RETURN = 2,
        FRAME_ERROR = 3,
        FRAME_SIGNAL = 4,
} FrameType;

enum {
        FRAME_NO_REPLY_EXPECTED = 1,
};

typedef struct FrameFields {
        uint8_t type, flags;
        uint32_t serial, reply_serial, n_fds;
        /* "": the header has none. All but the path are shorter than FRAME_NAME_BYTES. */
        const char *path, *interface, *member, *error, *destination, *sender;
} FrameFields;

/* Returns 0, or -EBADMSG. */
int frame_read(Frame *ret, const uint8_t head[static FRAME_HEAD_BYTES]);

/* Reads the header of a message, of which at least the header must be there. Returns 0, or -EBADMSG. */
int frame_read_fields(FrameFields *ret, const uint8_t *data, size_t n);

/* Reads the `n_ret` texts with which the body of a complete message begins. Returns 0, or -EBADMSG. */
int frame_read_texts(const char **ret, size_t n_ret, const uint8_t *data, size_t n);
