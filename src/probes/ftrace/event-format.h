/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event format: the layout of a tracepoint's record in the running kernel
 *
 * It is read from the text of events/GROUP/NAME/format, without its "print fmt". The list of fields leaves out the
 * common ones, which are at the same place in each record: u16 id, u8 flags, u8 preemption count, s32 pid.
 *
 * Before a recording of all of a kernel's events starts, all formats are read. libtraceevent takes ten times as long
 * for that, and trusts the text to be the kernel's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"

enum {
        RECORD_ID_OFFSET = 0,
        RECORD_FLAGS_OFFSET = 2, /* irq context */
        RECORD_PID_OFFSET = 4,
        RECORD_COMMON_BYTES = 8,
};

typedef enum FieldKind {
        FIELD_UNSIGNED,   /* an integer of 1, 2, 4 or 8 bytes; bool, pointer */
        FIELD_SIGNED,     /* the same, sign-extended */
        FIELD_DEVICE,     /* the kernel's dev_t */
        FIELD_POINTER,    /* const char *: the address of one of the kernel's texts */
        FIELD_CHARS,      /* char[n], up to the first NUL */
        FIELD_TAIL,       /* char[0]: text up to the end of the record */
        FIELD_LOC_STRING, /* __data_loc char[]: offset from the record's start */
        FIELD_REL_STRING, /* __rel_loc char[]: offset from the end of the field */
        FIELD_ARRAY,      /* other types; if its size is 0, up to the end of the record */
        FIELD_LOC_ARRAY,  /* __data_loc of another type */
        FIELD_REL_ARRAY,  /* __rel_loc of another type */
        _FIELD_KIND_N,
} FieldKind;

typedef struct EventField {
        char *name;
        FieldKind kind;
        uint32_t offset, size;
        uint8_t element_size; /* arrays: 1, 2, 4 or 8 */
        bool is_signed;       /* the elements of an array */
        bool is_mask;         /* an array whose bits are CPUs */
        bool is_pid;
} EventField;

typedef struct EventFormat {
        char *group, *name;
        uint16_t id;
        EventField *fields;
        size_t n_fields;
} EventFormat;

#define EVENT_FIELDS_MAX 128 /* fields of one event; the largest events of 6.18 have about 40 */

/* `long_size` is the kernel's (PageLayout.commit_size), which may differ from this program's. Returns 0, -EBADMSG
 * when the text is no format or -ENOMEM. */
int event_format_parse_words(EventFormat **ret,
                             const char *group,
                             const char *text,
                             size_t n_text,
                             unsigned long_size);

static inline int
event_format_parse(EventFormat **ret, const char *group, const char *text, size_t n_text) {
        return event_format_parse_words(ret, group, text, n_text, sizeof(long));
}

EventFormat *event_format_free(EventFormat *format);
DEFINE_CLEANUP(EventFormat *, event_format_free)

/* Returns NULL when the event has no such field. */
const EventField *event_format_find(const EventFormat *format, const char *name);

static inline bool field_kind_is_text(FieldKind kind) {
        return kind == FIELD_CHARS || kind == FIELD_TAIL || kind == FIELD_LOC_STRING ||
               kind == FIELD_REL_STRING;
}

static inline bool field_kind_is_array(FieldKind kind) {
        return kind == FIELD_ARRAY || kind == FIELD_LOC_ARRAY || kind == FIELD_REL_ARRAY;
}

static inline bool field_kind_is_number(FieldKind kind) {
        return kind == FIELD_UNSIGNED || kind == FIELD_SIGNED || kind == FIELD_DEVICE ||
               kind == FIELD_POINTER;
}
