/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Field line: one line of a format file, which says where a field of a record is and what C calls it
 *
 * It is "field:TYPE NAME;", then "offset:N;", "size:N;" and "signed:N;", with a tab before each. The name of an array
 * has its length behind it, in brackets. A TYPE behind __data_loc or __rel_loc has the brackets itself, if there are
 * any, and means that the offset only leads to the place of the data.
 *
 * A recording may read some twenty thousand of these lines when it starts, so nothing is allocated, and nothing is read
 * twice. A line of any other form is refused. Nothing is read past the end of the text, which need not end in a NUL.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A position in a text, and the text's end. */
typedef struct TextCursor {
        const char *at, *end;
} TextCursor;

#define FIELD_TYPE_BYTES_MAX 256

typedef struct FieldLine {
        char type[FIELD_TYPE_BYTES_MAX]; /* one space between words, no brackets: "const char *" */
        const char *name;                /* in the text */
        size_t n_name;
        bool is_array, is_dynamic,
                is_relative; /* is_dynamic: its data is elsewhere in the record */
        uint32_t length;     /* of an array; 0: it is not given as a plain number */
        uint32_t offset, size;
        bool is_signed;
} FieldLine;

/* Moves past the line. Returns false if it is no such line; the cursor may then be anywhere in it. */
bool field_line_parse(FieldLine *ret, TextCursor *cursor);

/* Whether the type contains this whole word: "const char *" has "char", but "uchar" does not. */
bool field_type_has(const FieldLine *line, const char *word);

/* Each moves past a text, a number of up to seven digits, or a C name, or fails and does not move. */
bool text_skip(TextCursor *cursor, const char *text);
bool text_take_number(uint32_t *ret, TextCursor *cursor);
bool text_take_name(const char **ret, size_t *ret_n, TextCursor *cursor);
