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

#define NUMBER_DIGITS_MAX     7
#define DECLARATION_BYTES_MAX 256
#define NAME_CHARACTERS       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define TYPE_CHARACTERS       NAME_CHARACTERS " *"
#define LENGTH_CHARACTERS     NAME_CHARACTERS " ()+-*/"

#define LOCATION_BYTES 4 /* of __data_loc and __rel_loc, on every kernel */

/* Whether the type has this word, as a whole: "char" is in "const char *", and not in "uchar". */
static bool type_has(const TepField *field, const char *word) {
        size_t n = strlen(word);

        for (const char *at = field->type; (at = strstr(at, word)); at += n)
                if ((at == field->type || strchr(" *", at[-1])) &&
                    (at[n] == '\0' || strchr(" *[", at[n])))
                        return true;
        return false;
}

static bool is_text(const TepField *field) {
        return type_has(field, "char") && !type_has(field, "unsigned") &&
               !type_has(field, "signed") && !strchr(field->type, '*');
}

static FieldKind dynamic_kind(const TepField *field) {
        if (field->flags & TEP_FIELD_IS_RELATIVE)
                return is_text(field) ? FIELD_REL_STRING : FIELD_REL_ARRAY;
        return is_text(field) ? FIELD_LOC_STRING : FIELD_LOC_ARRAY;
}

static FieldKind field_kind(const TepField *field, unsigned long_size) {
        if (field->flags & TEP_FIELD_IS_DYNAMIC)
                return dynamic_kind(field);
        if (field->flags & TEP_FIELD_IS_ARRAY) {
                if (!is_text(field))
                        return FIELD_ARRAY;
                return field->size == 0 ? FIELD_TAIL : FIELD_CHARS;
        }
        if (field->size != 1 && field->size != 2 && field->size != 4 && field->size != 8)
                return FIELD_ARRAY;
        if (type_has(field, "dev_t") && field->size == 4)
                return FIELD_DEVICE;
        if ((streq(field->type, "const char *") || streq(field->type, "char *")) &&
            field->size == (int)long_size)
                return FIELD_POINTER;
        return field->flags & TEP_FIELD_IS_SIGNED ? FIELD_SIGNED : FIELD_UNSIGNED;
}

/* Of one element of an array. What is no integer is shown as bytes. */
static uint8_t element_size(const TepField *field, unsigned long_size) {
        bool is_dynamic = field->flags & TEP_FIELD_IS_DYNAMIC;
        unsigned size = field->elementsize;

        if (type_has(field, "cpumask_t") || type_has(field, "long"))
                size = type_has(field, "cpumask_t") || !strstr(field->type, "long long")
                               ? long_size
                               : sizeof(uint64_t);
        else if (!is_dynamic && field->arraylen > 0)
                size = (unsigned)field->size / (unsigned)field->arraylen;
        return size == 2 || size == 4 || size == 8 ? (uint8_t)size : 1;
}

/* A record has nothing before the common fields, and not more than 64 KiB. */
static bool field_is_sane(const TepField *field) {
        if (field->offset < RECORD_COMMON_BYTES || field->size < 0 || field->offset > UINT16_MAX ||
            field->size > UINT16_MAX)
                return false;
        return !(field->flags & TEP_FIELD_IS_DYNAMIC) || field->size == LOCATION_BYTES;
}

static int format_add_field(EventFormat *format, const TepField *field, unsigned long_size) {
        EventField *to = &format->fields[format->n_fields];

        if (!field_is_sane(field))
                return -EBADMSG;
        *to = (EventField){
                .name = strdup(field->name),
                .kind = field_kind(field, long_size),
                .offset = (uint32_t)field->offset,
                .size = (uint32_t)field->size,
                .element_size = element_size(field, long_size),
                .is_signed = field->flags & TEP_FIELD_IS_SIGNED,
                .is_mask = type_has(field, "cpumask_t"),
                .is_pid = streq(field->type, "pid_t") && field->size == 4,
        };
        if (!to->name)
                return -ENOMEM;
        format->n_fields++;
        return 0;
}

static int format_add_fields(EventFormat *format, const TepEvent *event, unsigned long_size) {
        size_t n = 0;
        int r;

        for (const TepField *field = event->format.fields; field; field = field->next)
                if (++n > EVENT_FIELDS_MAX)
                        return -EBADMSG;
        format->fields = calloc(MAX(n, (size_t)1), sizeof(*format->fields));
        if (!format->fields)
                return -ENOMEM;
        for (const TepField *field = event->format.fields; field; field = field->next) {
                r = format_add_field(format, field, long_size);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int
format_from_event(EventFormat **ret, const char *group, const TepEvent *event, unsigned long_size) {
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
        r = format_add_fields(format, event, long_size);
        if (r < 0)
                return r;
        *ret = TAKE(format);
        return 0;
}

/* Moves behind a text, or fails. */
static bool skip_text(const char **at, const char *text) {
        size_t n = strlen(text);

        if (strncmp(*at, text, n) != 0)
                return false;
        *at += n;
        return true;
}

static bool skip_number(const char **at) {
        size_t n = strspn(*at, "0123456789");

        *at += n;
        return n > 0 && n <= NUMBER_DIGITS_MAX;
}

static bool is_dynamic(const char *declaration) {
        return skip_text(&declaration, "__data_loc ") || skip_text(&declaration, "__rel_loc ");
}

/* "type name", "__data_loc type[] name" or "type name[length]", where a length may be computed. Ends at the
 * semicolon. */
static bool skip_declaration(const char **at) {
        const char *start = *at, *name;

        if (strcspn(start, ";\n") >= DECLARATION_BYTES_MAX || strspn(start, NAME_CHARACTERS) == 0)
                return false;
        *at += strspn(*at, TYPE_CHARACTERS);
        if (is_dynamic(start) && skip_text(at, "[] "))
                *at += strspn(*at, TYPE_CHARACTERS);
        for (name = *at; name > start && strchr(NAME_CHARACTERS, name[-1]); name--)
                continue;
        if (name == *at || name == start) /* no name, or no type */
                return false;
        if (!skip_text(at, "["))
                return true;
        *at += strspn(*at, LENGTH_CHARACTERS);
        return skip_text(at, "]");
}

static bool is_field_line(const char *line) {
        if (!skip_text(&line, "\tfield:") || !skip_declaration(&line) ||
            !skip_text(&line, ";\toffset:") || !skip_number(&line) ||
            !skip_text(&line, ";\tsize:") || !skip_number(&line) || !skip_text(&line, ";"))
                return false;
        return *line == '\n' ||
               (skip_text(&line, "\tsigned:") && skip_number(&line) && skip_text(&line, ";\n"));
}

/* libtraceevent 1.7 trusts that it is the kernel's: what is not formed just so makes it leak or fall. */
static bool is_well_formed(const char *text) {
        size_t n_name;

        if (!skip_text(&text, "name: "))
                return false;
        n_name = strspn(text, NAME_CHARACTERS);
        text += n_name;
        if (n_name == 0 || !skip_text(&text, "\nID: ") || !skip_number(&text) ||
            !skip_text(&text, "\nformat:\n"))
                return false;
        for (; *text && strncmp(text, "print fmt:", 10) != 0; text = strchr(text, '\n') + 1)
                if (*text != '\n' && !is_field_line(text))
                        return false;
        return true;
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
        if (r == 0)
                r = bytes_append(ret, nothing, sizeof(nothing));
        if (r < 0)
                return r;
        ret->n--; /* the NUL is for us */
        return memchr(ret->data, '\0', ret->n) || !is_well_formed((const char *)ret->data)
                       ? -EBADMSG
                       : 0;
}

static size_t count_fields(const TepField *field) {
        size_t n = 0;

        for (; field; field = field->next)
                n++;
        return n;
}

/* What libtraceevent does not understand, it takes for the end of the fields, and says nothing. */
static bool is_whole(const TepEvent *event, const Bytes *text) {
        size_t n_lines = 0,
               n = count_fields(event->format.common_fields) + count_fields(event->format.fields);
        const uint8_t *at = text->data, *end = text->data + text->n;

        while ((at = memmem(at, (size_t)(end - at), "\tfield:", strlen("\tfield:")))) {
                n_lines++;
                at++;
        }
        return n == n_lines;
}

int event_format_parse_words(EventFormat **ret,
                             const char *group,
                             const char *text,
                             size_t n_text,
                             unsigned long_size) {
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
        tep_set_long_size(tep, (int)long_size);
        tep_set_loglevel(TEP_LOG_NONE);

        /* An error can leave an event behind that is not whole. */
        if (tep_parse_format(tep, &event, (char *)short_text.data, short_text.n, group) != 0 ||
            !event || !event->name || !is_whole(event, &short_text))
                return -EBADMSG;
        return format_from_event(ret, group, event, long_size);
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
