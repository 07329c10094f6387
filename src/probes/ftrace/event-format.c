/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Event format: the layout of a tracepoint's record in the running kernel */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/ftrace/event-format.h"
#include "probes/ftrace/field-line.h"

#define LOCATION_BYTES 4 /* bytes of a __data_loc or __rel_loc, on every kernel */

static bool is_text(const FieldLine *line) {
        return field_type_has(line, "char") && !field_type_has(line, "unsigned") &&
               !field_type_has(line, "signed") && !strchr(line->type, '*');
}

static FieldKind dynamic_kind(const FieldLine *line) {
        if (line->is_relative)
                return is_text(line) ? FIELD_REL_STRING : FIELD_REL_ARRAY;
        return is_text(line) ? FIELD_LOC_STRING : FIELD_LOC_ARRAY;
}

static FieldKind field_kind(const FieldLine *line, unsigned long_size) {
        if (line->is_dynamic)
                return dynamic_kind(line);
        if (line->is_array) {
                if (!is_text(line))
                        return FIELD_ARRAY;
                return line->size == 0 ? FIELD_TAIL : FIELD_CHARS;
        }
        if (line->size != 1 && line->size != 2 && line->size != 4 && line->size != 8)
                return FIELD_ARRAY;
        if (field_type_has(line, "dev_t") && line->size == 4)
                return FIELD_DEVICE;
        if ((streq(line->type, "const char *") || streq(line->type, "char *")) &&
            line->size == long_size)
                return FIELD_POINTER;
        return line->is_signed ? FIELD_SIGNED : FIELD_UNSIGNED;
}

/* The size of an integer by the last word of its type; 0: not known. "long" has another size on other machines. */
static uint32_t word_size(const FieldLine *line) {
        static const struct {
                const char *word;
                uint32_t size;
        } words[] = {
                { "u8", 1 },  { "s8", 1 },  { "u16", 2 },   { "s16", 2 }, { "u32", 4 },
                { "s32", 4 }, { "int", 4 }, { "short", 2 }, { "u64", 8 }, { "s64", 8 },
        };
        const char *space = strrchr(line->type, ' '), *word = space ? space + 1 : line->type;

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (streq(word, words[i].word))
                        return words[i].size;
        return 0;
}

/* The size of one element of an array. Elements that are no integers are shown as bytes. */
static uint8_t element_size(const FieldLine *line, unsigned long_size) {
        uint32_t size = line->size;

        if (field_type_has(line, "cpumask_t"))
                size = long_size;
        else if (field_type_has(line, "long"))
                size = strstr(line->type, "long long") ? sizeof(uint64_t) : long_size;
        else if (line->is_array)
                size = line->length > 0 ? line->size / line->length : word_size(line);
        return size == 2 || size == 4 || size == 8 ? (uint8_t)size : 1;
}

/* The common fields come first in a record, which has no more than 64 KiB. */
static bool field_is_sane(const FieldLine *line) {
        if (line->offset < RECORD_COMMON_BYTES || line->offset > UINT16_MAX ||
            line->size > UINT16_MAX)
                return false;
        return !line->is_dynamic || line->size == LOCATION_BYTES;
}

static int format_add_field(EventFormat *format, const FieldLine *line, unsigned long_size) {
        EventField *to = &format->fields[format->n_fields];

        if (!field_is_sane(line))
                return -EBADMSG;
        *to = (EventField){
                .name = strndup(line->name, line->n_name),
                .kind = field_kind(line, long_size),
                .offset = line->offset,
                .size = line->size,
                .element_size = element_size(line, long_size),
                .is_signed = line->is_signed,
                .is_mask = field_type_has(line, "cpumask_t"),
                .is_pid = streq(line->type, "pid_t") && line->size == 4,
        };
        if (!to->name)
                return -ENOMEM;
        format->n_fields++;
        return 0;
}

/* Reads the event's own fields, up to an empty line. */
static int format_take_fields(EventFormat *format, TextCursor *cursor, unsigned long_size) {
        FieldLine line;
        size_t n_room = 0;
        int r;

        while (!text_skip(cursor, "\n")) {
                if (!field_line_parse(&line, cursor) || format->n_fields == EVENT_FIELDS_MAX)
                        return -EBADMSG;
                if (format->n_fields == n_room) {
                        EventField *fields;

                        n_room = MAX(2 * n_room, (size_t)8);
                        fields = reallocarray(format->fields, n_room, sizeof(*fields));
                        if (!fields)
                                return -ENOMEM;
                        format->fields = fields;
                }
                r = format_add_field(format, &line, long_size);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int format_take_head(EventFormat *format, TextCursor *cursor) {
        FieldLine common;
        const char *name;
        size_t n_name;
        uint32_t id;

        if (!text_skip(cursor, "name: ") || !text_take_name(&name, &n_name, cursor) ||
            !text_skip(cursor, "\nID: ") || !text_take_number(&id, cursor) || id > UINT16_MAX ||
            !text_skip(cursor, "\nformat:\n"))
                return -EBADMSG;
        while (!text_skip(cursor, "\n"))
                if (!field_line_parse(&common, cursor))
                        return -EBADMSG;
        format->id = (uint16_t)id;
        format->name = strndup(name, n_name);
        return format->name ? 0 : -ENOMEM;
}

int event_format_parse_words(EventFormat **ret,
                             const char *group,
                             const char *text,
                             size_t n_text,
                             unsigned long_size) {
        _cleanup_(event_format_freep) EventFormat *format = NULL;
        TextCursor cursor = { text, text + n_text };
        int r;

        format = calloc(1, sizeof(*format));
        if (!format)
                return -ENOMEM;
        format->group = strdup(group);
        if (!format->group)
                return -ENOMEM;
        r = format_take_head(format, &cursor);
        if (r == 0)
                r = format_take_fields(format, &cursor, long_size);
        /* The print format comes next, and is not needed here. */
        if (r == 0 && !text_skip(&cursor, "print fmt:"))
                r = -EBADMSG;
        if (r < 0)
                return r;
        *ret = TAKE(format);
        return 0;
}

EventFormat *event_format_free(EventFormat *format) {
        if (!format)
                return NULL;
        for (size_t i = 0; i < format->n_fields; i++)
                free(format->fields[i].name);
        free(format->fields);
        free(format->group);
        free(format->name);
        free(format);
        return NULL;
}

const EventField *event_format_find(const EventFormat *format, const char *name) {
        for (size_t i = 0; i < format->n_fields; i++)
                if (streq(format->fields[i].name, name))
                        return &format->fields[i];
        return NULL;
}
