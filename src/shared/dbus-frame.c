/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Walks over the header's fields by their signatures, with every length checked against the bytes that are there. */

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "shared/dbus-frame.h"
#include "shared/macro.h"

#define DEPTH_MAX 64 /* how deeply the specification lets containers be nested */

/* Codes of header fields. */
enum {
        FIELD_PATH = 1,
        FIELD_INTERFACE = 2,
        FIELD_MEMBER = 3,
        FIELD_ERROR_NAME = 4,
        FIELD_REPLY_SERIAL = 5,
        FIELD_DESTINATION = 6,
        FIELD_SENDER = 7,
        FIELD_UNIX_FDS = 9,
};

/* A position in the header. */
typedef struct Cursor {
        const uint8_t *data;
        size_t at, end;
        bool is_big_endian;
} Cursor;

static uint32_t read_u32(const uint8_t *data, bool is_big_endian) {
        uint32_t value;

        memcpy(&value, data, sizeof(value));
        return is_big_endian ? be32toh(value) : le32toh(value);
}

int frame_read(Frame *ret, const uint8_t head[static FRAME_HEAD_BYTES]) {
        const bool is_big_endian = head[0] == 'B';

        if (head[0] != 'l' && head[0] != 'B')
                return -EBADMSG;
        ret->n_header_bytes = FRAME_HEAD_BYTES +
                              ALIGN_UP((uint64_t)read_u32(head + 12, is_big_endian), UINT64_C(8));
        ret->n_bytes = ret->n_header_bytes + read_u32(head + 4, is_big_endian);
        return 0;
}

static int cursor_align(Cursor *cursor, size_t to) {
        const size_t at = ALIGN_UP(cursor->at, to);

        if (at > cursor->end)
                return -EBADMSG;
        cursor->at = at;
        return 0;
}

static int cursor_skip(Cursor *cursor, size_t n) {
        if (n > cursor->end - cursor->at)
                return -EBADMSG;
        cursor->at += n;
        return 0;
}

static int cursor_u32(Cursor *cursor, uint32_t *ret) {
        if (cursor_align(cursor, 4) < 0 || cursor->end - cursor->at < 4)
                return -EBADMSG;
        *ret = read_u32(cursor->data + cursor->at, cursor->is_big_endian);
        cursor->at += 4;
        return 0;
}

/* Reads a string of *ret_n bytes and its terminating NUL. */
static int cursor_string(Cursor *cursor, const char **ret, uint32_t *ret_n) {
        if (cursor_u32(cursor, ret_n) < 0 || *ret_n >= cursor->end - cursor->at ||
            cursor->data[cursor->at + *ret_n] != '\0')
                return -EBADMSG;
        *ret = (const char *)cursor->data + cursor->at;
        return cursor_skip(cursor, (size_t)*ret_n + 1);
}

static int cursor_signature(Cursor *cursor, const char **ret) {
        size_t n;

        if (cursor->at == cursor->end)
                return -EBADMSG;
        n = cursor->data[cursor->at++];
        if (n >= cursor->end - cursor->at || cursor->data[cursor->at + n] != '\0')
                return -EBADMSG;
        *ret = (const char *)cursor->data + cursor->at;
        return cursor_skip(cursor, n + 1);
}

/* The size of a fixed-size type, which is also its alignment. Returns 0 for other types. */
static size_t fixed_bytes(char type) {
        switch (type) {
        case 'y':
                return 1;
        case 'n':
        case 'q':
                return 2;
        case 'b':
        case 'i':
        case 'u':
        case 'h':
                return 4;
        case 'x':
        case 't':
        case 'd':
                return 8;
        default:
                return 0;
        }
}

static size_t alignment(char type) {
        switch (type) {
        case 's':
        case 'o':
        case 'a':
                return 4;
        case '(':
        case '{':
                return 8;
        case 'g':
        case 'v':
                return 1;
        default:
                return fixed_bytes(type);
        }
}

/* Returns the end of the complete type that begins at `type`, or NULL if no complete type does. */
static const char *behind_type(const char *type) {
        unsigned depth = 0;

        do {
                while (*type == 'a')
                        type++;
                if (*type == '(' || *type == '{')
                        depth++;
                else if (*type == ')' || *type == '}')
                        depth -= depth > 0;
                else if (*type == '\0')
                        return NULL;
                type++;
        } while (depth > 0);
        return type;
}

static int skip_value(Cursor *cursor, const char **type, unsigned depth);

static int skip_array(Cursor *cursor, const char **type) {
        const char *element = *type + 1;
        uint32_t n;

        *type = behind_type(element);
        if (!*type || alignment(*element) == 0 || cursor_u32(cursor, &n) < 0 ||
            cursor_align(cursor, alignment(*element)) < 0)
                return -EBADMSG;
        return cursor_skip(cursor, n);
}

static int skip_struct(Cursor *cursor, const char **type, unsigned depth) {
        if (cursor_align(cursor, 8) < 0)
                return -EBADMSG;
        for ((*type)++; **type != ')' && **type != '}';)
                if (skip_value(cursor, type, depth + 1) < 0)
                        return -EBADMSG;
        (*type)++;
        return 0;
}

static int skip_variant(Cursor *cursor, const char **type, unsigned depth) {
        const char *inner;

        (*type)++;
        return cursor_signature(cursor, &inner) < 0 ? -EBADMSG
                                                    : skip_value(cursor, &inner, depth + 1);
}

/* Skips a value and its type. */
static int skip_value(Cursor *cursor, const char **type, unsigned depth) {
        const size_t n = fixed_bytes(**type);
        const char *text;
        uint32_t n_text;

        if (depth > DEPTH_MAX)
                return -EBADMSG;
        switch (**type) {
        case 'a':
                return skip_array(cursor, type);
        case '(':
        case '{':
                return skip_struct(cursor, type, depth);
        case 'v':
                return skip_variant(cursor, type, depth);
        case 's':
        case 'o':
                (*type)++;
                return cursor_string(cursor, &text, &n_text);
        case 'g':
                (*type)++;
                return cursor_signature(cursor, &text);
        default:
                (*type)++;
                return n == 0 || cursor_align(cursor, n) < 0 ? -EBADMSG : cursor_skip(cursor, n);
        }
}

/* Where to store a field that is a text; NULL: the caller does not want it. */
static const char **text_field(FrameFields *fields, uint8_t code) {
        switch (code) {
        case FIELD_PATH:
                return &fields->path;
        case FIELD_INTERFACE:
                return &fields->interface;
        case FIELD_MEMBER:
                return &fields->member;
        case FIELD_ERROR_NAME:
                return &fields->error;
        case FIELD_DESTINATION:
                return &fields->destination;
        case FIELD_SENDER:
                return &fields->sender;
        default:
                return NULL;
        }
}

static int read_text(const char **ret, Cursor *cursor, uint8_t code) {
        uint32_t n;

        if (cursor_string(cursor, ret, &n) < 0 || (n >= FRAME_NAME_BYTES && code != FIELD_PATH))
                return -EBADMSG;
        return 0;
}

/* Asked several times for each message of a bus. */
static bool is_of_type(const char *signature, char type) {
        return signature[0] == type && signature[1] == '\0';
}

static int read_field(FrameFields *ret, Cursor *cursor) {
        const char *type, **text;
        uint8_t code;

        if (cursor_align(cursor, 8) < 0 || cursor->at == cursor->end)
                return -EBADMSG;
        code = cursor->data[cursor->at++];
        if (cursor_signature(cursor, &type) < 0)
                return -EBADMSG;
        if (code == FIELD_UNIX_FDS && is_of_type(type, 'u'))
                return cursor_u32(cursor, &ret->n_fds);
        if (code == FIELD_REPLY_SERIAL && is_of_type(type, 'u'))
                return cursor_u32(cursor, &ret->reply_serial);
        text = text_field(ret, code);
        if (text && is_of_type(type, code == FIELD_PATH ? 'o' : 's'))
                return read_text(text, cursor, code);
        return skip_value(cursor, &type, 0);
}

static int cursor_begin(Cursor *ret, Frame *ret_frame, const uint8_t *data, size_t n) {
        if (n < FRAME_HEAD_BYTES || frame_read(ret_frame, data) < 0 ||
            n < ret_frame->n_header_bytes)
                return -EBADMSG;
        *ret = (Cursor){ .data = data, .at = FRAME_HEAD_BYTES, .is_big_endian = data[0] == 'B' };
        ret->end = FRAME_HEAD_BYTES + read_u32(data + 12, ret->is_big_endian);
        return 0;
}

int frame_read_fields(FrameFields *ret, const uint8_t *data, size_t n) {
        Cursor cursor;
        Frame frame;

        if (cursor_begin(&cursor, &frame, data, n) < 0)
                return -EBADMSG;
        *ret = (FrameFields){
                .type = data[1],
                .flags = data[2],
                .serial = read_u32(data + 8, cursor.is_big_endian),
                .path = "",
                .interface = "",
                .member = "",
                .error = "",
                .destination = "",
                .sender = "",
        };
        while (cursor.at < cursor.end)
                if (read_field(ret, &cursor) < 0)
                        return -EBADMSG;
        return 0;
}

int frame_read_texts(const char **ret, size_t n_ret, const uint8_t *data, size_t n) {
        Cursor cursor;
        uint32_t n_text;
        Frame frame;

        if (cursor_begin(&cursor, &frame, data, n) < 0 || n < frame.n_bytes)
                return -EBADMSG;
        cursor.at = (size_t)frame.n_header_bytes;
        cursor.end = (size_t)frame.n_bytes;
        for (size_t i = 0; i < n_ret; i++)
                if (cursor_string(&cursor, &ret[i], &n_text) < 0)
                        return -EBADMSG;
        return 0;
}
