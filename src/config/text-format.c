/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A recursive descent over the tokens that appends wire bytes as it goes. A submessage's body is
 * written first; its length is then put in front of it, by moving it up.
 */

#include <errno.h>
#include <locale.h>

#include "config/config-check.h"
#include "config/text-format.h"
#include "config/text-value.h"
#include "shared/text.h"

/* Message types with more fields than this do not exist here. */
#define MESSAGE_FIELDS_MAX 128

#define FIELD_NUMBER_MAX ((1u << 29) - 1)

typedef struct Parser {
        TextLexer lexer;
        Bytes *out;
        unsigned depth;
        ConfigError *error;
} Parser;

/* A message that is being parsed; `descriptor` is NULL inside a field that is only known by number. */
typedef struct Scope {
        const ProtobufCMessageDescriptor *descriptor;
        const Token *opened; /* NULL: the text itself */
        bool seen[MESSAGE_FIELDS_MAX];
} Scope;

static int parse_fields(Parser *parser, Scope *scope);

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *message,
                                                  const Token *name) {
        for (unsigned i = 0; message && i < message->n_fields; i++)
                if (strlen(message->fields[i].name) == name->n &&
                    !memcmp(message->fields[i].name, name->text, name->n))
                        return &message->fields[i];
        return NULL;
}

static int refuse_name(Parser *parser, const Scope *scope) {
        const Token *token = &parser->lexer.token;
        const char *names[MESSAGE_FIELDS_MAX], *nearest;
        _cleanup_(freep) char *name = NULL;
        size_t n = 0;

        if (!scope->descriptor)
                return text_lexer_expected(&parser->lexer,
                                           "a field number, because this is inside a field that is "
                                           "known only by its number");
        name = strndup(token->text, token->n);
        if (!name)
                return -ENOMEM;
        for (; n < scope->descriptor->n_fields && n < MESSAGE_FIELDS_MAX; n++)
                names[n] = scope->descriptor->fields[n].name;
        nearest = text_nearest(name, names, n);
        if (nearest)
                return config_error_set(parser->error,
                                        token->line,
                                        token->column,
                                        "%s has no field '%.64s'; did you mean %s?",
                                        scope->descriptor->short_name,
                                        name,
                                        nearest);
        return config_error_set(
                parser->error,
                token->line,
                token->column,
                "%s has no field '%.64s' here; give fields that only Perfetto has by their number",
                scope->descriptor->short_name,
                name);
}

/* Opens a message: '{' or '<'. */
static int take_open(Parser *parser, Token *ret) {
        *ret = parser->lexer.token;
        if (!text_lexer_at(&parser->lexer, '{') && !text_lexer_at(&parser->lexer, '<'))
                return text_lexer_expected(&parser->lexer, "'{'");
        if (parser->depth == CONFIG_DEPTH_MAX)
                return config_error_set(parser->error,
                                        ret->line,
                                        ret->column,
                                        "Messages are nested deeper than %d",
                                        CONFIG_DEPTH_MAX);
        return text_lexer_next(&parser->lexer);
}

/* Puts the length in front of a body that begins at `begin`. */
static int close_body(Bytes *out, size_t begin) {
        size_t n_body = out->n - begin, n_length;
        int r;

        r = text_value_put_varint(out, n_body);
        if (r)
                return r;
        n_length = out->n - begin - n_body;
        memmove(out->data + begin + n_length, out->data + begin, n_body);
        out->n = begin;
        r = text_value_put_varint(out, n_body);
        out->n += n_body;
        return r;
}

static int
parse_submessage(Parser *parser, const ProtobufCMessageDescriptor *descriptor, uint32_t number) {
        Scope scope = { .descriptor = descriptor };
        Token opened;
        size_t begin;
        int r;

        r = take_open(parser, &opened);
        if (!r)
                r = text_value_put_tag(parser->out, number, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
        if (r)
                return r;
        scope.opened = &opened;
        begin = parser->out->n;
        parser->depth++;
        r = parse_fields(parser, &scope);
        parser->depth--;
        if (!r)
                r = text_lexer_next(&parser->lexer); /* the '}' */
        return r ? r : close_body(parser->out, begin);
}

static int parse_value(Parser *parser, const ProtobufCFieldDescriptor *field) {
        if (field->type == PROTOBUF_C_TYPE_MESSAGE)
                return parse_submessage(parser, field->descriptor, field->id);
        return text_value_parse(&parser->lexer, field, parser->out);
}

/* [value, value]; the '[' is the current token. */
static int parse_list(Parser *parser, const ProtobufCFieldDescriptor *field) {
        const Token opened = parser->lexer.token;
        int r;

        if (field->label != PROTOBUF_C_LABEL_REPEATED)
                return config_error_set(parser->error,
                                        opened.line,
                                        opened.column,
                                        "%s is not repeated, so it cannot be a list",
                                        field->name);
        r = text_lexer_next(&parser->lexer);
        if (r || text_lexer_at(&parser->lexer, ']'))
                return r ? r : text_lexer_next(&parser->lexer);
        for (;;) {
                r = parse_value(parser, field);
                if (r)
                        return r;
                if (text_lexer_at(&parser->lexer, ']'))
                        return text_lexer_next(&parser->lexer);
                if (!text_lexer_at(&parser->lexer, ','))
                        return text_lexer_expected(&parser->lexer, "',' or ']'");
                r = text_lexer_next(&parser->lexer);
                if (r)
                        return r;
        }
}

/* Steps over the ':', which may be missing before a message or a list of them. */
static int take_colon(Parser *parser, bool optional) {
        if (text_lexer_at(&parser->lexer, ':'))
                return text_lexer_next(&parser->lexer);
        return optional ? 0 : text_lexer_expected(&parser->lexer, "':'");
}

static int parse_known(Parser *parser, Scope *scope, const ProtobufCFieldDescriptor *field) {
        bool *seen = &scope->seen[(field - scope->descriptor->fields) % MESSAGE_FIELDS_MAX];
        const Token name = parser->lexer.token;
        int r;

        if (*seen && field->label != PROTOBUF_C_LABEL_REPEATED)
                return config_error_set(parser->error,
                                        name.line,
                                        name.column,
                                        "%s is given twice, but %s has only one",
                                        field->name,
                                        scope->descriptor->short_name);
        *seen = true;
        r = text_lexer_next(&parser->lexer);
        if (!r)
                r = take_colon(parser, field->type == PROTOBUF_C_TYPE_MESSAGE);
        if (r)
                return r;
        return text_lexer_at(&parser->lexer, '[') ? parse_list(parser, field)
                                                  : parse_value(parser, field);
}

static int parse_unknown(Parser *parser, const Scope *scope) {
        const Token token = parser->lexer.token;
        const ProtobufCFieldDescriptor *known = NULL;
        uint64_t number;
        int r;

        r = text_lexer_integer(&parser->lexer, &number);
        if (r)
                return r;
        if (number < 1 || number > FIELD_NUMBER_MAX)
                return config_error_set(parser->error,
                                        token.line,
                                        token.column,
                                        "A field number is between 1 and %u",
                                        FIELD_NUMBER_MAX);
        if (scope->descriptor)
                known = protobuf_c_message_descriptor_get_field(scope->descriptor,
                                                                (unsigned)number);
        if (known)
                return config_error_set(parser->error,
                                        token.line,
                                        token.column,
                                        "Field %u of %s is known: write %s",
                                        (unsigned)number,
                                        scope->descriptor->short_name,
                                        known->name);
        r = text_lexer_next(&parser->lexer);
        if (!r && (text_lexer_at(&parser->lexer, '{') || text_lexer_at(&parser->lexer, '<')))
                return parse_submessage(parser, NULL, (uint32_t)number);
        if (!r)
                r = take_colon(parser, false);
        if (!r && (text_lexer_at(&parser->lexer, '{') || text_lexer_at(&parser->lexer, '<')))
                return parse_submessage(parser, NULL, (uint32_t)number);
        return r ? r : text_value_parse_unknown(&parser->lexer, (uint32_t)number, parser->out);
}

static int parse_field(Parser *parser, Scope *scope) {
        const ProtobufCFieldDescriptor *field;

        if (parser->lexer.token.type == TOKEN_INTEGER)
                return parse_unknown(parser, scope);
        if (text_lexer_at(&parser->lexer, '['))
                return config_error_set(parser->error,
                                        parser->lexer.token.line,
                                        parser->lexer.token.column,
                                        "Extensions and Any are not supported; give the field by "
                                        "its number");
        if (parser->lexer.token.type != TOKEN_NAME)
                return text_lexer_expected(&parser->lexer, "the name of a field");
        field = find_field(scope->descriptor, &parser->lexer.token);
        return field ? parse_known(parser, scope, field) : refuse_name(parser, scope);
}

/* Whether the scope ends here; a wrong or missing bracket is an error. */
static int at_scope_end(Parser *parser, const Scope *scope) {
        const Token *token = &parser->lexer.token;

        if (!scope->opened)
                return token->type == TOKEN_END ? 0 : -EAGAIN;
        if (text_lexer_at(&parser->lexer, *scope->opened->text == '{' ? '}' : '>'))
                return 0;
        if (token->type == TOKEN_END)
                return config_error_set(parser->error,
                                        token->line,
                                        token->column,
                                        "The text ends, but the '%c' of line %u, column %u is not "
                                        "closed",
                                        *scope->opened->text,
                                        scope->opened->line,
                                        scope->opened->column);
        return -EAGAIN;
}

/* Parses fields up to the end of the scope, which stays the current token. */
static int parse_fields(Parser *parser, Scope *scope) {
        int r;

        while ((r = at_scope_end(parser, scope)) == -EAGAIN) {
                r = parse_field(parser, scope);
                if (!r &&
                    (text_lexer_at(&parser->lexer, ',') || text_lexer_at(&parser->lexer, ';')))
                        r = text_lexer_next(&parser->lexer);
                if (r)
                        return r;
        }
        return r;
}

int text_format_parse(Bytes *out,
                      const ProtobufCMessageDescriptor *message,
                      const char *text,
                      ConfigError *error) {
        Parser parser = { .out = out, .error = error };
        Scope scope = { .descriptor = message };
        locale_t plain, before;
        int r;

        /* strtod() wants the locale's decimal point. */
        plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
        if (!plain)
                return -ENOMEM;
        before = uselocale(plain);
        r = text_lexer_init(&parser.lexer, text, error);
        if (!r)
                r = parse_fields(&parser, &scope);
        uselocale(before);
        freelocale(plain);
        return r;
}
