/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Capture frame: what programs write for sysprof, one frame at a time
 *
 * The layout is that of sysprof-capture-types.h, in the byte order of the machine. A frame may come from anybody, so
 * nothing in it is trusted: a part that does not fit into the frame is nonsense, and a text ends with the frame at
 * the latest.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_HEADER_BYTES     24
#define CAPTURE_FRAME_BYTES_MAX  65528 /* 16 bits, in multiples of 8 */
#define CAPTURE_FILE_HEADER      256   /* bytes at the beginning of a file, before its frames */
#define CAPTURE_NAME_BYTES       64    /* of names of groups, marks and counters, with the NUL */
#define CAPTURE_MESSAGE_BYTES    256   /* longer ones are cut */
#define CAPTURE_COUNTERS_OF_SLOT 8

typedef enum CaptureKind {
        CAPTURE_OTHER, /* samples, maps, logs: not read here */
        CAPTURE_DEFINITIONS,
        CAPTURE_VALUES,
        CAPTURE_MARK,
        CAPTURE_END, /* the thread that has this ring is gone */
} CaptureKind;

typedef struct CaptureFrame {
        const uint8_t *data;
        size_t n_bytes;
        CaptureKind kind;
        int32_t pid;
        int64_t at_ns; /* MONOTONIC */
} CaptureFrame;

typedef struct CaptureMark {
        int64_t duration_ns;
        char group[CAPTURE_NAME_BYTES], name[CAPTURE_NAME_BYTES], message[CAPTURE_MESSAGE_BYTES];
} CaptureMark;

typedef struct CaptureCounter {
        uint32_t id;
        bool is_double;
        char category[CAPTURE_NAME_BYTES], name[CAPTURE_NAME_BYTES];
} CaptureCounter;

typedef struct CaptureValue {
        uint32_t id;
        uint64_t bits; /* of an int64_t or a double, as the counter was defined */
} CaptureValue;

/* Reads the frame that begins at `data`. Returns 0, or -EBADMSG if no frame begins there. */
int capture_frame_read(CaptureFrame *ret, const uint8_t *data, size_t n);

/* Of a CAPTURE_MARK. Addresses in messages end behind the host. Returns false if it has no room for one. */
bool capture_frame_mark(const CaptureFrame *frame, CaptureMark *ret);
/* The i-th of CAPTURE_DEFINITIONS; false: there are no more. */
bool capture_frame_counter(const CaptureFrame *frame, size_t i, CaptureCounter *ret);
/* The i-th of CAPTURE_VALUES, eight of which are a slot; false: there are no more. */
bool capture_frame_value(const CaptureFrame *frame, size_t i, CaptureValue *ret);

/* Whether a file begins like a capture of this machine. */
bool capture_is_file(const uint8_t header[static CAPTURE_FILE_HEADER]);
