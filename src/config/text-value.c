/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Text value: one scalar of protobuf text format, read and serialized */

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/text-value.h"
#include "shared/text.h"
#include "shared/utf8.h"

#define FLOAT_TEXT_MAX 64
#define ENUM_NAMES_MAX 256

/* How the integer types are limited and serialized. `min` is negative or 0. */
typedef struct IntegerType {
        const char *name;
        int64_t min;
        uint64_t max;
        ProtobufCWireType wire_type;
        bool zigzag;
} IntegerType;

static const IntegerType integer_types[] = {
        [PROTOBUF_C_TYPE_INT32] = { "int32", INT32_MIN, INT32_MAX, PROTOBUF_C_WIRE_TYPE_VARINT },
        [PROTOBUF_C_TYPE_SINT32] = { "sint32",
                                     INT32_MIN,
                                     INT32_MAX,
                                     PROTOBUF_C_WIRE_TYPE_VARINT,
                                     true },
        [PROTOBUF_C_TYPE_SFIXED32] = { "sfixed32",
                                       INT32_MIN,
                                       INT32_MAX,
                                       PROTOBUF_C_WIRE_TYPE_32BIT },
        [PROTOBUF_C_TYPE_INT64] = { "int64", INT64_MIN, INT64_MAX, PROTOBUF_C_WIRE_TYPE_VARINT },
        [PROTOBUF_C_TYPE_SINT64] = { "sint64",
                                     INT64_MIN,
                                     INT64_MAX,
                                     PROTOBUF_C_WIRE_TYPE_VARINT,
                                     true },
        [PROTOBUF_C_TYPE_SFIXED64] = { "sfixed64",
                                       INT64_MIN,
                                       INT64_MAX,
                                       PROTOBUF_C_WIRE_TYPE_64BIT },
        [PROTOBUF_C_TYPE_UINT32] = { "uint32", 0, UINT32_MAX, PROTOBUF_C_WIRE_TYPE_VARINT },
        [PROTOBUF_C_TYPE_FIXED32] = { "fixed32", 0, UINT32_MAX, PROTOBUF_C_WIRE_TYPE_32BIT },
        [PROTOBUF_C_TYPE_UINT64] = { "uint64", 0, UINT64_MAX, PROTOBUF_C_WIRE_TYPE_VARINT },
        [PROTOBUF_C_TYPE_FIXED64] = { "fixed64", 0, UINT64_MAX, PROTOBUF_C_WIRE_TYPE_64BIT },
        [PROTOBUF_C_TYPE_ENUM] = { "enum", INT32_MIN, INT32_MAX, PROTOBUF_C_WIRE_TYPE_VARINT },
};

static const struct {
        const char *word;
        bool value;
} bool_words[] = {
        { "true", true },   { "True", true },   { "t", true },
        { "false", false }, { "False", false }, { "f", false },
};

int text_value_put_varint(Bytes *out, uint64_t value) {
        uint8_t bytes[10];
        size_t n = 0;

        for (; value >= 0x80; value >>= 7)
                bytes[n++] = (uint8_t)(value | 0x80);
        bytes[n++] = (uint8_t)value;
        return bytes_append(out, bytes, n);
}

int text_value_put_tag(Bytes *out, uint32_t number, ProtobufCWireType type) {
        return text_value_put_varint(out, (uint64_t)number << 3 | type);
}

static int put_number(Bytes *out, uint32_t number, ProtobufCWireType type, uint64_t value) {
        uint64_t little_endian = htole64(value);
        int r;

        r = text_value_put_tag(out, number, type);
        if (r)
                return r;
        if (type == PROTOBUF_C_WIRE_TYPE_VARINT)
                return text_value_put_varint(out, value);
        return bytes_append(out, &little_endian, type == PROTOBUF_C_WIRE_TYPE_32BIT ? 4 : 8);
}

static int put_length_prefixed(Bytes *out, uint32_t number, const Bytes *value) {
        int r;

        r = text_value_put_tag(out, number, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
        if (!r)
                r = text_value_put_varint(out, value->n);
        if (!r)
                r = bytes_append(out, value->data, value->n);
        return r;
}

static bool token_is(const TextLexer *lexer, TokenType type, const char *text) {
        return lexer->token.type == type && lexer->token.n == strlen(text) &&
               !memcmp(lexer->token.text, text, lexer->token.n);
}

/* Steps over a '-' if there is one. */
static int take_sign(TextLexer *lexer, bool *ret_negative) {
        *ret_negative = text_lexer_at(lexer, '-');
        return *ret_negative ? text_lexer_next(lexer) : 0;
}

static int out_of_range(TextLexer *lexer,
                        const Token *at,
                        const ProtobufCFieldDescriptor *field,
                        const IntegerType *type) {
        return config_error_set(lexer->error,
                                at->line,
                                at->column,
                                "%s is %s: it must be between %lld and %llu",
                                field->name,
                                type->name,
                                (long long)type->min,
                                (unsigned long long)type->max);
}

static int
expected_value(TextLexer *lexer, const ProtobufCFieldDescriptor *field, const char *what) {
        char text[192];

        snprintf(text, sizeof(text), N_("%s for the field %s"), what, field->name);
        return text_lexer_expected(lexer, text);
}

/* An integer of the type's range, as its 64 bits. */
static int parse_in_range(TextLexer *lexer,
                          const ProtobufCFieldDescriptor *field,
                          const IntegerType *type,
                          uint64_t *ret) {
        const Token first = lexer->token;
        uint64_t value;
        bool negative;
        int r;

        r = take_sign(lexer, &negative);
        if (r)
                return r;
        if (lexer->token.type != TOKEN_INTEGER)
                return expected_value(lexer, field, "a whole number");
        r = text_lexer_integer(lexer, &value);
        if (r)
                return r;
        if (negative ? value > -(uint64_t)type->min : value > type->max)
                return out_of_range(lexer, &first, field, type);
        *ret = negative ? -value : value;
        return text_lexer_next(lexer);
}

static int parse_integer(TextLexer *lexer, const ProtobufCFieldDescriptor *field, Bytes *out) {
        const IntegerType *type = &integer_types[field->type];
        uint64_t value;
        int r;

        r = parse_in_range(lexer, field, type, &value);
        if (r)
                return r;
        if (type->zigzag)
                value = value << 1 ^ (uint64_t)((int64_t)value >> 63);
        return put_number(out, field->id, type->wire_type, value);
}

static int refuse_enum(TextLexer *lexer, const Token *at, const ProtobufCFieldDescriptor *field) {
        const ProtobufCEnumDescriptor *type = field->descriptor;
        const char *names[ENUM_NAMES_MAX], *nearest;
        _cleanup_(freep) char *name = NULL;
        size_t n = MIN(type->n_value_names, (size_t)ENUM_NAMES_MAX);

        name = strndup(at->text, at->n);
        if (!name)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                names[i] = type->values_by_name[i].name;
        nearest = text_nearest(name, names, n);
        if (!nearest)
                return config_error_set(lexer->error,
                                        at->line,
                                        at->column,
                                        "%s has no value '%.64s'",
                                        field->name,
                                        name);
        return config_error_set(lexer->error,
                                at->line,
                                at->column,
                                "%s has no value '%.64s'; did you mean %s?",
                                field->name,
                                name,
                                nearest);
}

static int parse_enum_number(TextLexer *lexer, const ProtobufCFieldDescriptor *field, Bytes *out) {
        const Token first = lexer->token;
        uint64_t value;
        int r;

        r = parse_in_range(lexer, field, &integer_types[PROTOBUF_C_TYPE_ENUM], &value);
        if (r)
                return r;
        if (!protobuf_c_enum_descriptor_get_value(field->descriptor, (int)value))
                return config_error_set(lexer->error,
                                        first.line,
                                        first.column,
                                        "%s has no value %d",
                                        field->name,
                                        (int)value);
        return put_number(out, field->id, PROTOBUF_C_WIRE_TYPE_VARINT, value);
}

static int parse_enum(TextLexer *lexer, const ProtobufCFieldDescriptor *field, Bytes *out) {
        const ProtobufCEnumDescriptor *type = field->descriptor;

        if (lexer->token.type == TOKEN_INTEGER || text_lexer_at(lexer, '-'))
                return parse_enum_number(lexer, field, out);
        if (lexer->token.type != TOKEN_NAME)
                return expected_value(lexer, field, "the name of a value");
        for (size_t i = 0; i < type->n_value_names; i++)
                if (token_is(lexer, TOKEN_NAME, type->values_by_name[i].name)) {
                        int value = type->values[type->values_by_name[i].index].value;
                        int r;

                        r = put_number(out,
                                       field->id,
                                       PROTOBUF_C_WIRE_TYPE_VARINT,
                                       (uint64_t)(int64_t)value);
                        return r ? r : text_lexer_next(lexer);
                }
        return refuse_enum(lexer, &lexer->token, field);
}

static int parse_bool(TextLexer *lexer, const ProtobufCFieldDescriptor *field, Bytes *out) {
        uint64_t value = 2;
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(bool_words); i++)
                if (token_is(lexer, TOKEN_NAME, bool_words[i].word))
                        value = bool_words[i].value;
        if (lexer->token.type == TOKEN_INTEGER) {
                r = text_lexer_integer(lexer, &value);
                if (r)
                        return r;
        }
        if (value > 1)
                return expected_value(lexer, field, "true or false");
        r = put_number(out, field->id, PROTOBUF_C_WIRE_TYPE_VARINT, value);
        return r ? r : text_lexer_next(lexer);
}

/* The value of the token alone; the lexer has checked its form, and text_format_parse() has set a
 * locale whose decimal point is a point. */
static int float_of_token(TextLexer *lexer, const ProtobufCFieldDescriptor *field, double *ret) {
        char text[FLOAT_TEXT_MAX];

        if (token_is(lexer, TOKEN_NAME, "inf") || token_is(lexer, TOKEN_NAME, "infinity"))
                *ret = INFINITY;
        else if (token_is(lexer, TOKEN_NAME, "nan"))
                *ret = NAN;
        else if ((lexer->token.type != TOKEN_FLOAT && lexer->token.type != TOKEN_INTEGER) ||
                 lexer->token.n >= sizeof(text))
                return expected_value(lexer, field, "a number");
        else {
                memcpy(text, lexer->token.text, lexer->token.n);
                text[lexer->token.n] = '\0';
                *ret = strtod(text, NULL);
        }
        return 0;
}

static int parse_float(TextLexer *lexer, const ProtobufCFieldDescriptor *field, Bytes *out) {
        union {
                double value;
                uint64_t bits;
        } wide = {};
        union {
                float value;
                uint32_t bits;
        } narrow;
        bool negative;
        int r;

        r = take_sign(lexer, &negative);
        if (!r)
                r = float_of_token(lexer, field, &wide.value);
        if (r)
                return r;
        if (negative)
                wide.value = -wide.value;
        narrow.value = (float)wide.value;
        if (field->type == PROTOBUF_C_TYPE_FLOAT)
                r = put_number(out, field->id, PROTOBUF_C_WIRE_TYPE_32BIT, narrow.bits);
        else
                r = put_number(out, field->id, PROTOBUF_C_WIRE_TYPE_64BIT, wide.bits);
        return r ? r : text_lexer_next(lexer);
}

/* One or more adjacent strings, which are one. */
static int take_strings(TextLexer *lexer, Bytes *out) {
        while (lexer->token.type == TOKEN_STRING) {
                int r;

                r = text_lexer_unescape(lexer, out);
                if (!r)
                        r = text_lexer_next(lexer);
                if (r)
                        return r;
        }
        return 0;
}

static int parse_string(TextLexer *lexer, const ProtobufCFieldDescriptor *field, Bytes *out) {
        _cleanup_(bytes_deinit) Bytes value = {};
        const Token first = lexer->token;
        int r;

        if (first.type != TOKEN_STRING)
                return expected_value(lexer, field, "a quoted string");
        r = take_strings(lexer, &value);
        if (r)
                return r;
        if (field->type == PROTOBUF_C_TYPE_STRING && !utf8_is_valid(value.data, value.n))
                return config_error_set(lexer->error,
                                        first.line,
                                        first.column,
                                        "%s is not text (UTF-8 without NUL)",
                                        field->name);
        return put_length_prefixed(out, field->id, &value);
}

int text_value_parse(TextLexer *lexer, const ProtobufCFieldDescriptor *field, Bytes *out) {
        switch (field->type) {
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_BYTES:
                return parse_string(lexer, field, out);
        case PROTOBUF_C_TYPE_ENUM:
                return parse_enum(lexer, field, out);
        case PROTOBUF_C_TYPE_BOOL:
                return parse_bool(lexer, field, out);
        case PROTOBUF_C_TYPE_FLOAT:
        case PROTOBUF_C_TYPE_DOUBLE:
                return parse_float(lexer, field, out);
        default:
                return parse_integer(lexer, field, out);
        }
}

/* 0x and 8 or 16 digits are the fixed types. */
static ProtobufCWireType wire_type_as_written(const Token *token) {
        bool hex = token->n > 2 && (token->text[1] == 'x' || token->text[1] == 'X');

        if (hex && token->n == 2 + 8)
                return PROTOBUF_C_WIRE_TYPE_32BIT;
        if (hex && token->n == 2 + 16)
                return PROTOBUF_C_WIRE_TYPE_64BIT;
        return PROTOBUF_C_WIRE_TYPE_VARINT;
}

int text_value_parse_unknown(TextLexer *lexer, uint32_t number, Bytes *out) {
        _cleanup_(bytes_deinit) Bytes text = {};
        uint64_t value;
        int r;

        if (lexer->token.type == TOKEN_STRING) {
                r = take_strings(lexer, &text);
                return r ? r : put_length_prefixed(out, number, &text);
        }
        if (lexer->token.type != TOKEN_INTEGER)
                return text_lexer_expected(lexer, "a number, a quoted string or '{'");
        r = text_lexer_integer(lexer, &value);
        if (!r)
                r = put_number(out, number, wire_type_as_written(&lexer->token), value);
        return r ? r : text_lexer_next(lexer);
}
