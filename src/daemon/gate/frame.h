/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Frame: where a D-Bus message ends, and the two fields of its header that the gate needs
 *
 * The D-Bus specification, "Message Format". Everything is checked against what is there; nothing is allocated.
 */

#include <stddef.h>
#include <stdint.h>

#define FRAME_HEAD_BYTES 16 /* so many tell how long the message is */

typedef struct Frame {
        uint64_t n_bytes;        /* of the whole message */
        uint64_t n_header_bytes; /* of these, before the body; its fields are in them */
} Frame;

#define FRAME_SENDER_BYTES 256 /* a name on the bus has at most 255 */

typedef struct FrameFields {
        uint32_t n_fds;
        char sender[FRAME_SENDER_BYTES]; /* "": it says none */
} FrameFields;

/* 0, or -EBADMSG. */
int frame_read(Frame *ret, const uint8_t head[static FRAME_HEAD_BYTES]);

/* Of a message whose header, at least, is there. 0, or -EBADMSG. */
int frame_read_fields(FrameFields *ret, const uint8_t *data, size_t n);
