/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Escapes of string tokens: the single-character ones, \ooo, \xhh, \uhhhh and \Uhhhhhhhh. A code
 * point becomes UTF-8; octal and hexadecimal give bytes, whatever they are.
 */

#include <errno.h>

#include "config/text-lexer.h"

#define CODE_POINT_MAX 0x10ffff

static const char simple_escapes[][2] = {
        { 'a', '\a' }, { 'b', '\b' },  { 'f', '\f' },  { 'n', '\n' }, { 'r', '\r' }, { 't', '\t' },
        { 'v', '\v' }, { '\\', '\\' }, { '\'', '\'' }, { '"', '"' },  { '?', '?' },
};

/* Reads up to n_max digits; returns how many there were. */
static size_t read_digits(const char *at, size_t n_max, int base, uint32_t *ret) {
        size_t n = 0;

        *ret = 0;
        while (n < n_max && text_lexer_digit(at[n]) < base)
                *ret = *ret * (uint32_t)base + (uint32_t)text_lexer_digit(at[n++]);
        return n;
}

static int append_utf8(Bytes *out, uint32_t code) {
        uint8_t bytes[4];
        size_t n;

        if (code < 0x80)
                return bytes_append(out, &(uint8_t){ (uint8_t)code }, 1);
        n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        for (size_t i = n; i-- > 1; code >>= 6)
                bytes[i] = 0x80 | (code & 0x3f);
        bytes[0] = (uint8_t)(0xf00u >> n) | (uint8_t)code;
        return bytes_append(out, bytes, n);
}

/* Where in the token `at` is, as a column. */
static int text_lexer_refuse(TextLexer *lexer, const char *at, const char *why) {
        unsigned column = lexer->token.column;

        for (const char *c = lexer->token.text; c < at; c++)
                if (((unsigned char)*c & 0xc0) != 0x80)
                        column++;
        return config_error_set(lexer->error, lexer->token.line, column, "%s", why);
}

static int unescape_code_point(TextLexer *lexer, const char **at, Bytes *out) {
        size_t n_digits = **at == 'u' ? 4 : 8;
        uint32_t code;

        if (read_digits(*at + 1, n_digits, 16, &code) < n_digits)
                return text_lexer_refuse(lexer,
                                         *at - 1,
                                         n_digits == 4 ? N_("\\u needs four hexadecimal digits")
                                                       : N_("\\U needs eight hexadecimal digits"));
        if (code > CODE_POINT_MAX || (code >= 0xd800 && code < 0xe000))
                return text_lexer_refuse(lexer, *at - 1, "This escape is not a Unicode character");
        *at += 1 + n_digits;
        return append_utf8(out, code);
}

static int unescape_byte(TextLexer *lexer, const char **at, Bytes *out) {
        bool hex = **at == 'x' || **at == 'X';
        uint32_t value;
        size_t n;

        n = hex ? read_digits(*at + 1, 2, 16, &value) : read_digits(*at, 3, 8, &value);
        if (n == 0)
                return text_lexer_refuse(lexer, *at - 1, "\\x needs hexadecimal digits");
        if (value > 0xff)
                return text_lexer_refuse(
                        lexer, *at - 1, "This octal escape is larger than a byte (\\377)");
        *at += n + hex;
        return bytes_append(out, &(uint8_t){ (uint8_t)value }, 1);
}

/* `*at` is behind the backslash. */
static int unescape_one(TextLexer *lexer, const char **at, Bytes *out) {
        for (size_t i = 0; i < ARRAY_SIZE(simple_escapes); i++)
                if (**at == simple_escapes[i][0]) {
                        (*at)++;
                        return bytes_append(out, &simple_escapes[i][1], 1);
                }
        if (**at == 'u' || **at == 'U')
                return unescape_code_point(lexer, at, out);
        if (**at == 'x' || **at == 'X' || text_lexer_digit(**at) < 8)
                return unescape_byte(lexer, at, out);
        return text_lexer_refuse(
                lexer, *at - 1, "Unknown escape; a backslash itself is written \\\\");
}

int text_lexer_unescape(TextLexer *lexer, Bytes *out) {
        const char *at = lexer->token.text + 1, *end = at + lexer->token.n - 2;

        while (at < end) {
                size_t n = 0;
                int r;

                while (at + n < end && at[n] != '\\')
                        n++;
                r = bytes_append(out, at, n);
                at += n;
                if (!r && at < end) {
                        at++;
                        r = unescape_one(lexer, &at, out);
                }
                if (r)
                        return r;
        }
        return 0;
}
