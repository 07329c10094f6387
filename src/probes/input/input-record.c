/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Input record: one report or read from the kernel's ring */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probes/input/input-record.h"

/* The kernel's dev_t, and the minor numbers that belong to /dev/input/eventN: N behind 64, and from 256 on N itself. */
enum {
        DEVICE_MAJOR_INPUT = 13,
        DEVICE_MINOR_BITS = 20,
        MINOR_EVENT_FIRST = 64,
        MINOR_EVENT_LAST = 95,
        MINOR_DYNAMIC_FIRST = 256,
};

static int find_field(EventField *ret, const EventFormat *format, const char *name, bool is_text) {
        const EventField *field = event_format_find(format, name);

        if (!field)
                return -EBADMSG;
        if (is_text ? field->kind != FIELD_LOC_STRING : !field_kind_is_number(field->kind))
                return -EBADMSG;
        *ret = *field;
        ret->name = NULL; /* the format's own */
        return 0;
}

int input_layout_set(InputLayout *layout, unsigned event, const EventFormat *format) {
        int r;

        layout->ids[event] = format->id;
        if (event == INPUT_EVENT_READ) {
                r = find_field(&layout->rdev, format, "rdev", false);
                return r < 0 ? r : find_field(&layout->bytes, format, "bytes", false);
        }
        r = find_field(&layout->handler, format, "handler", true);
        if (r == 0)
                r = find_field(&layout->device, format, "device", true);
        return r < 0 ? r : find_field(&layout->count, format, "count", false);
}

/* Reads a number of 4 or 8 bytes. */
static bool get_number(uint64_t *ret, const EventField *field, const PageRecord *record) {
        uint32_t word;

        if (field->size > record->n_bytes || field->offset > record->n_bytes - field->size)
                return false;
        if (field->size == sizeof(*ret)) {
                memcpy(ret, record->data + field->offset, sizeof(*ret));
                return true;
        }
        if (field->size != sizeof(word))
                return false;
        memcpy(&word, record->data + field->offset, sizeof(word));
        *ret = word;
        return true;
}

/* __data_loc: offset and length in one word. The text is cut to what fits. */
static bool get_text(char *ret, size_t size, const EventField *field, const PageRecord *record) {
        EventField word = *field;
        uint64_t location;
        uint32_t offset, n;

        word.size = sizeof(uint32_t);
        if (!get_number(&location, &word, record))
                return false;
        offset = location & UINT16_MAX;
        n = (uint32_t)(location >> 16);
        if (offset > record->n_bytes || n > record->n_bytes - offset)
                return false;
        snprintf(ret, size, "%.*s", (int)n, (const char *)record->data + offset);
        /* For names that devices choose: replaces whatever cannot be shown. */
        for (char *c = ret; *c; c++)
                if ((unsigned char)*c < ' ' || *c == 127)
                        *c = '?';
        return true;
}

static bool decode_report(InputRecord *ret, const InputLayout *layout, const PageRecord *record) {
        return get_text(ret->handler, sizeof(ret->handler), &layout->handler, record) &&
               get_text(ret->name, sizeof(ret->name), &layout->device, record) &&
               get_number(&ret->n, &layout->count, record);
}

static bool decode_read(InputRecord *ret, const InputLayout *layout, const PageRecord *record) {
        uint64_t device;
        uint32_t minor;

        if (!get_number(&device, &layout->rdev, record) ||
            !get_number(&ret->n, &layout->bytes, record))
                return false;
        minor = (uint32_t)device & ((1u << DEVICE_MINOR_BITS) - 1);
        if (device >> DEVICE_MINOR_BITS != DEVICE_MAJOR_INPUT)
                return false;
        if (minor >= MINOR_EVENT_FIRST && minor <= MINOR_EVENT_LAST)
                minor -= MINOR_EVENT_FIRST;
        else if (minor < MINOR_DYNAMIC_FIRST)
                return false;
        snprintf(ret->handler, sizeof(ret->handler), "event%u", minor);
        return (int64_t)ret->n > 0; /* otherwise there was nothing to read, or an error */
}

bool input_record_decode(InputRecord *ret, const InputLayout *layout, const PageRecord *record) {
        uint16_t id;
        int32_t tid;

        if (record->n_bytes < RECORD_COMMON_BYTES)
                return false;
        memcpy(&id, record->data + RECORD_ID_OFFSET, sizeof(id));
        memcpy(&tid, record->data + RECORD_PID_OFFSET, sizeof(tid));
        *ret = (InputRecord){ .at_ns = record->timestamp, .tid = tid };
        if (id == layout->ids[INPUT_EVENT_REPORT]) {
                ret->event = INPUT_EVENT_REPORT;
                return decode_report(ret, layout, record);
        }
        ret->event = INPUT_EVENT_READ;
        return id == layout->ids[INPUT_EVENT_READ] && decode_read(ret, layout, record);
}
