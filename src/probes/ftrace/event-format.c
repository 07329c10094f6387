/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "probes/ftrace/event-format.h"
#include "shared/bytes.h"

typedef struct tep_handle TepHandle;
typedef struct tep_event TepEvent;
typedef struct tep_format_field TepField;

DEFINE_CLEANUP(TepHandle *, tep_free)

static bool is_char(const TepField *field) {
        return strstr(field->type, "char") && !strstr(field->type, "unsigned char");
}

static FieldKind dynamic_kind(const TepField *field) {
        if (field->flags & TEP_FIELD_IS_RELATIVE)
                return is_char(field) ? FIELD_REL_STRING : FIELD_REL_BYTES;
        return is_char(field) ? FIELD_LOC_STRING : FIELD_LOC_BYTES;
}

static FieldKind field_kind(const TepField *field) {
        if (field->flags & TEP_FIELD_IS_DYNAMIC)
                return dynamic_kind(field);
        if (field->flags & TEP_FIELD_IS_ARRAY) {
                if (is_char(field))
                        return field->size == 0 ? FIELD_TAIL : FIELD_CHARS;
                return strstr(field->type, "long[") && field->elementsize == sizeof(uint64_t)
                               ? FIELD_WORDS
                               : FIELD_BYTES;
        }
        if (field->size != 1 && field->size != 2 && field->size != 4 && field->size != 8)
                return FIELD_BYTES;
        if (streq(field->type, "dev_t") && field->size == 4)
                return FIELD_DEVICE;
        return field->flags & TEP_FIELD_IS_SIGNED ? FIELD_SIGNED : FIELD_UNSIGNED;
}

static int format_add_field(EventFormat *format, const TepField *field) {
        EventField *to = &format->fields[format->n_fields];

        if (field->offset < RECORD_COMMON_BYTES || field->size < 0 || field->offset > UINT16_MAX ||
            field->size > UINT16_MAX)
                return -EBADMSG;
        *to = (EventField){
                .name = strdup(field->name),
                .kind = field_kind(field),
                .offset = (uint32_t)field->offset,
                .size = (uint32_t)field->size,
                .is_pid = streq(field->type, "pid_t") && field->size == 4,
                .is_address = strncmp(field->type, "void *", 6) == 0 && field->size == 8,
        };
        if (!to->name)
                return -ENOMEM;
        format->n_fields++;
        return 0;
}

static int format_add_fields(EventFormat *format, const TepEvent *event) {
        size_t n = 0;
        int r;

        for (const TepField *field = event->format.fields; field; field = field->next)
                if (++n > EVENT_FIELDS_MAX)
                        return -EBADMSG;
        format->fields = calloc(MAX(n, (size_t)1), sizeof(*format->fields));
        if (!format->fields)
                return -ENOMEM;
        for (const TepField *field = event->format.fields; field; field = field->next) {
                r = format_add_field(format, field);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int format_from_event(EventFormat **ret, const char *group, const TepEvent *event) {
        _cleanup_(event_format_freep) EventFormat *format = NULL;
        int r;

        if (event->id < 0 || event->id > UINT16_MAX)
                return -EBADMSG;
        format = calloc(1, sizeof(*format));
        if (!format)
                return -ENOMEM;
        format->id = (uint16_t)event->id;
        format->group = strdup(group);
        format->name = strdup(event->name);
        if (!format->group || !format->name)
                return -ENOMEM;
        r = format_add_fields(format, event);
        if (r < 0)
                return r;
        *ret = TAKE(format);
        return 0;
}

/* The text without its print fmt, which is of no use here: parsing it would be most of the work, and
 * libtraceevent 1.7 leaks memory with some of them. */
static int without_print_format(Bytes *ret, const char *text, size_t n_text) {
        static const char nothing[] = "print fmt: \"\"\n";
        const char *end = memmem(text, n_text, "\nprint fmt:", strlen("\nprint fmt:"));
        int r;

        if (!end)
                return -EBADMSG;
        r = bytes_append(ret, text, (size_t)(end - text) + 1);
        return r < 0 ? r : bytes_append(ret, nothing, strlen(nothing));
}

int event_format_parse(EventFormat **ret, const char *group, const char *text, size_t n_text) {
        _cleanup_(bytes_deinit) Bytes short_text = {};
        _cleanup_(tep_freep) TepHandle *tep = NULL;
        TepEvent *event = NULL;
        int r;

        r = without_print_format(&short_text, text, n_text);
        if (r < 0)
                return r;
        /* A handle for each event: it keeps what it parses, and nothing here outlives this function. */
        tep = tep_alloc();
        if (!tep)
                return -ENOMEM;
        tep_set_long_size(tep, sizeof(long));
        tep_set_loglevel(TEP_LOG_NONE);

        (void)tep_parse_format(tep, &event, (char *)short_text.data, short_text.n, group);
        if (!event || !event->name)
                return -EBADMSG;
        return format_from_event(ret, group, event);
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
