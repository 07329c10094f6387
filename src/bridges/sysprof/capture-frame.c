/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Capture frame: what programs write for sysprof, one frame at a time */

#include <errno.h>
#include <string.h>

#include "bridges/sysprof/capture-frame.h"
#include "shared/load.h"
#include "shared/macro.h"
#include "shared/utf8.h"

/* Offsets of fields in a frame. */
enum {
        FRAME_PID = 4,
        FRAME_TIME = 8,
        FRAME_TYPE = 16,
        MARK_DURATION = 24,
        MARK_GROUP = 32,
        MARK_GROUP_BYTES = 24,
        MARK_NAME = 56,
        MARK_NAME_BYTES = 40,
        MARK_MESSAGE = 96,
        LIST_COUNT = 24,
        LIST_BEGIN = 32,
        COUNTER_BYTES = 128,
        COUNTER_CATEGORY_BYTES = 32,
        COUNTER_NAME = 32,
        COUNTER_NAME_BYTES = 32,
        COUNTER_ID = 116, /* 24 bits, then 8 of type */
        SLOT_BYTES = 96,
        SLOT_VALUES = 32,
};

enum {
        TYPE_DEFINITIONS = 8,
        TYPE_VALUES = 9,
        TYPE_MARK = 10,
        TYPE_END = 255,
        COUNTER_DOUBLE = 1,
};

#define FILE_MAGIC   UINT32_C(0xFDCA975E)
#define FILE_VERSION 1

static CaptureKind kind_of(uint8_t type) {
        switch (type) {
        case TYPE_DEFINITIONS:
                return CAPTURE_DEFINITIONS;
        case TYPE_VALUES:
                return CAPTURE_VALUES;
        case TYPE_MARK:
                return CAPTURE_MARK;
        case TYPE_END:
                return CAPTURE_END;
        default:
                return CAPTURE_OTHER;
        }
}

int capture_frame_read(CaptureFrame *ret, const uint8_t *data, size_t n) {
        size_t n_frame;

        if (n < CAPTURE_HEADER_BYTES)
                return -EBADMSG;
        n_frame = load_u16(data);
        if (n_frame < CAPTURE_HEADER_BYTES || n_frame % 8 != 0 || n_frame > n)
                return -EBADMSG;
        *ret = (CaptureFrame){
                .data = data,
                .n_bytes = n_frame,
                .kind = kind_of(data[FRAME_TYPE]),
                .pid = (int32_t)load_u32(data + FRAME_PID),
                .at_ns = (int64_t)load_u64(data + FRAME_TIME),
        };
        return 0;
}

/* One line that viewers can show, of at most `n_ret` bytes with the NUL. */
static void copy_text(char *ret, size_t n_ret, const uint8_t *data, size_t n) {
        size_t n_text = strnlen((const char *)data, MIN(n, n_ret - 1));

        memcpy(ret, data, n_text);
        ret[n_text] = '\0';
        for (char *c = ret; *c; c++)
                if ((unsigned char)*c < ' ' || *c == 127)
                        *c = ' ';
        utf8_clean(ret);
}

/* Keeps only the host of a URL: paths and queries may hold secrets. */
static void cut_addresses(char *text) {
        char *host = strstr(text, "://");

        if (host)
                host[3 + strcspn(host + 3, "/?# ")] = '\0';
}

bool capture_frame_mark(const CaptureFrame *frame, CaptureMark *ret) {
        const uint8_t *data = frame->data;

        if (frame->n_bytes < MARK_MESSAGE)
                return false;
        ret->duration_ns = (int64_t)load_u64(data + MARK_DURATION);
        copy_text(ret->group, sizeof(ret->group), data + MARK_GROUP, MARK_GROUP_BYTES);
        copy_text(ret->name, sizeof(ret->name), data + MARK_NAME, MARK_NAME_BYTES);
        copy_text(ret->message,
                  sizeof(ret->message),
                  data + MARK_MESSAGE,
                  frame->n_bytes - MARK_MESSAGE);
        cut_addresses(ret->message);
        return true;
}

/* A frame's i-th element; NULL: the frame has no more, whatever its counter says. */
static const uint8_t *element(const CaptureFrame *frame, size_t i, size_t n_element) {
        const size_t at = LIST_BEGIN + i * n_element;

        if (frame->n_bytes < LIST_BEGIN || i >= load_u16(frame->data + LIST_COUNT) ||
            at + n_element > frame->n_bytes)
                return NULL;
        return frame->data + at;
}

bool capture_frame_counter(const CaptureFrame *frame, size_t i, CaptureCounter *ret) {
        const uint8_t *data = element(frame, i, COUNTER_BYTES);
        uint32_t id;

        if (!data)
                return false;
        id = load_u32(data + COUNTER_ID);
        ret->id = id & 0xffffff;
        ret->is_double = id >> 24 == COUNTER_DOUBLE;
        copy_text(ret->category, sizeof(ret->category), data, COUNTER_CATEGORY_BYTES);
        copy_text(ret->name, sizeof(ret->name), data + COUNTER_NAME, COUNTER_NAME_BYTES);
        return true;
}

bool capture_frame_value(const CaptureFrame *frame, size_t i, CaptureValue *ret) {
        const uint8_t *slot = element(frame, i / CAPTURE_COUNTERS_OF_SLOT, SLOT_BYTES);
        const size_t at = i % CAPTURE_COUNTERS_OF_SLOT;

        if (!slot)
                return false;
        ret->id = load_u32(slot + at * sizeof(uint32_t));
        ret->bits = load_u64(slot + SLOT_VALUES + at * sizeof(uint64_t));
        return true;
}

bool capture_is_file(const uint8_t header[static CAPTURE_FILE_HEADER]) {
        return load_u32(header) == FILE_MAGIC && header[4] == FILE_VERSION;
}
