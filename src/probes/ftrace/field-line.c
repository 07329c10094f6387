/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Field line: one line of a format file, which says where a field of a record is and what C calls it */

#include <string.h>

#include "probes/ftrace/field-line.h"

#define NUMBER_DIGITS_MAX 7

/* As in C, whatever the locale. */
static bool is_name_character(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
}

static bool is_type_character(char c) {
        return is_name_character(c) || c == ' ' || c == '*';
}

/* A length that the kernel did not compute is written as in its source: "TASK_COMM_LEN", "(16 + 1)". */
static bool is_length_character(char c) {
        return is_type_character(c) || c == '(' || c == ')' || c == '+' || c == '-' || c == '/';
}

bool text_skip(TextCursor *cursor, const char *text) {
        size_t n = strlen(text);

        if ((size_t)(cursor->end - cursor->at) < n || memcmp(cursor->at, text, n) != 0)
                return false;
        cursor->at += n;
        return true;
}

bool text_take_number(uint32_t *ret, TextCursor *cursor) {
        const char *at = cursor->at;
        uint32_t number = 0;

        for (; at < cursor->end && *at >= '0' && *at <= '9'; at++) {
                if (at - cursor->at == NUMBER_DIGITS_MAX)
                        return false;
                number = number * 10 + (uint32_t)(*at - '0');
        }
        if (at == cursor->at)
                return false;
        cursor->at = at;
        *ret = number;
        return true;
}

bool text_take_name(const char **ret, size_t *ret_n, TextCursor *cursor) {
        const char *at = cursor->at;

        while (at < cursor->end && is_name_character(*at))
                at++;
        if (at == cursor->at)
                return false;
        *ret = cursor->at;
        *ret_n = (size_t)(at - cursor->at);
        cursor->at = at;
        return true;
}

bool field_type_has(const FieldLine *line, const char *word) {
        size_t n = strlen(word);

        for (const char *at = line->type; (at = strstr(at, word)); at += n)
                if ((at == line->type || at[-1] == ' ') && (at[n] == '\0' || at[n] == ' '))
                        return true;
        return false;
}

/* Words and asterisks, with one space between them. */
static bool take_type(FieldLine *line, const char *at, const char *end) {
        size_t n = 0;

        while (at < end) {
                const char *word = at;

                if (*at == ' ') {
                        at++;
                        continue;
                }
                if (*at == '*')
                        at++;
                else
                        while (at < end && is_name_character(*at))
                                at++;
                if (n + (size_t)(at - word) + 2 > sizeof(line->type))
                        return false;
                if (n > 0)
                        line->type[n++] = ' ';
                memcpy(line->type + n, word, (size_t)(at - word));
                n += (size_t)(at - word);
        }
        line->type[n] = '\0';
        return n > 0;
}

static void skip_while(TextCursor *cursor, bool (*is_one)(char)) {
        while (cursor->at < cursor->end && is_one(*cursor->at))
                cursor->at++;
}

/* The last word is the name, and all words before it are the type. If the data is elsewhere, there are often
 * brackets between them. */
static bool take_type_and_name(FieldLine *line, TextCursor *cursor) {
        const char *start, *name, *end;

        line->is_relative = text_skip(cursor, "__rel_loc ");
        line->is_dynamic = line->is_relative || text_skip(cursor, "__data_loc ");
        line->is_array = line->is_dynamic;
        start = cursor->at;
        skip_while(cursor, is_type_character);
        end = name = cursor->at;
        if (line->is_dynamic && text_skip(cursor, "[] "))
                return take_type(line, start, end) &&
                       text_take_name(&line->name, &line->n_name, cursor);
        while (name > start && is_name_character(name[-1]))
                name--;
        line->name = name;
        line->n_name = (size_t)(end - name);
        return name < end && take_type(line, start, name);
}

static bool take_length(FieldLine *line, TextCursor *cursor) {
        TextCursor number;

        if (!text_skip(cursor, "["))
                return true;
        line->is_array = true;
        number = *cursor;
        skip_while(cursor, is_length_character);
        if (!text_take_number(&line->length, &number) || number.at != cursor->at)
                line->length = 0;
        return text_skip(cursor, "]");
}

/* Kernels before 2.6.30 do not say whether the field is signed. */
static bool take_sign(FieldLine *line, TextCursor *cursor) {
        uint32_t sign = 0;

        if (text_skip(cursor, "\tsigned:") &&
            (!text_take_number(&sign, cursor) || !text_skip(cursor, ";")))
                return false;
        line->is_signed = sign != 0;
        return text_skip(cursor, "\n");
}

bool field_line_parse(FieldLine *ret, TextCursor *cursor) {
        ret->length = 0;
        return text_skip(cursor, "\tfield:") && take_type_and_name(ret, cursor) &&
               take_length(ret, cursor) && text_skip(cursor, ";\toffset:") &&
               text_take_number(&ret->offset, cursor) && text_skip(cursor, ";\tsize:") &&
               text_take_number(&ret->size, cursor) && text_skip(cursor, ";") &&
               take_sign(ret, cursor);
}
