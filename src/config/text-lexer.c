/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Text lexer: the words of protobuf text format */

#include <errno.h>

#include "config/text-lexer.h"

/* How much of a bad token an error quotes. */
#define QUOTE_MAX 40

#define SYMBOLS "{}<>[]:,;-/."

/* The <ctype.h> functions would follow the locale and fail on a negative char. */
static bool is_letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

/* Moves over n bytes of one line. */
static void advance(TextLexer *lexer, size_t n) {
        for (; n > 0; n--, lexer->at++)
                if (((unsigned char)*lexer->at & 0xc0) != 0x80)
                        lexer->column++;
}

static void skip_blanks_and_comments(TextLexer *lexer) {
        for (;;) {
                if (*lexer->at == '\n') {
                        lexer->at++;
                        lexer->line++;
                        lexer->column = 1;
                } else if (*lexer->at == '#') {
                        advance(lexer, strcspn(lexer->at, "\n"));
                } else if (*lexer->at && strchr(" \t\r\v\f", *lexer->at)) {
                        advance(lexer, 1);
                } else {
                        return;
                }
        }
}

/* Takes the longest run of characters that can be a number; its kind and validity are decided afterwards. */
static size_t number_length(const char *text) {
        bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
        size_t n = 0;

        while (is_letter(text[n]) || is_digit(text[n]) || text[n] == '.' ||
               ((text[n] == '+' || text[n] == '-') && !hex && n > 0 &&
                (text[n - 1] == 'e' || text[n - 1] == 'E')))
                n++;
        return n;
}

static size_t span_digits(const char *text, size_t n, int base) {
        size_t i = 0;

        while (i < n && text_lexer_digit(text[i]) < base)
                i++;
        return i;
}

static bool is_integer(const char *text, size_t n) {
        if (n > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
                return span_digits(text + 2, n - 2, 16) == n - 2;
        if (n > 1 && text[0] == '0')
                return span_digits(text, n, 8) == n;
        return span_digits(text, n, 10) == n;
}

/* digits [. digits] [e [sign] digits] [f] */
static bool is_float(const char *text, size_t n) {
        size_t whole = span_digits(text, n, 10), fraction = 0, exponent, at = whole;

        if (at < n && text[at] == '.') {
                fraction = span_digits(text + at + 1, n - at - 1, 10);
                at += 1 + fraction;
        }
        if (whole + fraction == 0 || whole == n)
                return false;
        if (at < n && (text[at] == 'e' || text[at] == 'E')) {
                at++;
                if (at < n && (text[at] == '+' || text[at] == '-'))
                        at++;
                exponent = span_digits(text + at, n - at, 10);
                if (exponent == 0)
                        return false;
                at += exponent;
        }
        if (at < n && (text[at] == 'f' || text[at] == 'F'))
                at++;
        return at == n;
}

static int take(TextLexer *lexer, TokenType type, size_t n) {
        lexer->token.type = type;
        lexer->token.n = n;
        advance(lexer, n);
        return 0;
}

static int lex_number(TextLexer *lexer) {
        size_t n = number_length(lexer->at);

        if (is_integer(lexer->at, n))
                return take(lexer, TOKEN_INTEGER, n);
        if (is_float(lexer->at, n))
                return take(lexer, TOKEN_FLOAT, n);
        return config_error_set(lexer->error,
                                lexer->line,
                                lexer->column,
                                "'%.*s' is not a number",
                                (int)MIN(n, (size_t)QUOTE_MAX),
                                lexer->at);
}

static int lex_name(TextLexer *lexer) {
        size_t n = 1;

        while (is_letter(lexer->at[n]) || is_digit(lexer->at[n]))
                n++;
        return take(lexer, TOKEN_NAME, n);
}

static int lex_string(TextLexer *lexer) {
        char quote = lexer->at[0];
        size_t n = 1;

        while (lexer->at[n] != quote) {
                if (lexer->at[n] == '\\' && lexer->at[n + 1])
                        n++;
                if (lexer->at[n] == '\0' || lexer->at[n] == '\n')
                        return config_error_set(lexer->error,
                                                lexer->line,
                                                lexer->column,
                                                "This string has no closing %c on its line",
                                                quote);
                n++;
        }
        return take(lexer, TOKEN_STRING, n + 1);
}

static int lex_bad_character(TextLexer *lexer) {
        unsigned char c = (unsigned char)*lexer->at;

        if (c > ' ' && c < 0x7f)
                return config_error_set(
                        lexer->error, lexer->line, lexer->column, "Unexpected character '%c'", c);
        return config_error_set(lexer->error,
                                lexer->line,
                                lexer->column,
                                "Unexpected byte 0x%02x: outside of strings and comments the text "
                                "is ASCII",
                                c);
}

int text_lexer_next(TextLexer *lexer) {
        char c;

        skip_blanks_and_comments(lexer);
        lexer->token = (Token){
                .text = lexer->at,
                .line = lexer->line,
                .column = lexer->column,
        };
        c = *lexer->at;
        if (c == '\0')
                return take(lexer, TOKEN_END, 0);
        if (is_letter(c))
                return lex_name(lexer);
        if (is_digit(c) || (c == '.' && is_digit(lexer->at[1])))
                return lex_number(lexer);
        if (c == '"' || c == '\'')
                return lex_string(lexer);
        if (strchr(SYMBOLS, c))
                return take(lexer, TOKEN_SYMBOL, 1);
        return lex_bad_character(lexer);
}

int text_lexer_init(TextLexer *lexer, const char *text, ConfigError *error) {
        *lexer = (TextLexer){ .at = text, .line = 1, .column = 1, .error = error };
        return text_lexer_next(lexer);
}

bool text_lexer_at(const TextLexer *lexer, char symbol) {
        return lexer->token.type == TOKEN_SYMBOL && *lexer->token.text == symbol;
}

int text_lexer_expected(TextLexer *lexer, const char *what) {
        const Token *token = &lexer->token;

        if (token->type == TOKEN_END)
                return config_error_set(lexer->error,
                                        token->line,
                                        token->column,
                                        "Expected %s, found the end of the text",
                                        what);
        if (token->type == TOKEN_STRING) /* has its own quotes */
                return config_error_set(lexer->error,
                                        token->line,
                                        token->column,
                                        "Expected %s, found %.*s",
                                        what,
                                        (int)MIN(token->n, (size_t)QUOTE_MAX),
                                        token->text);
        return config_error_set(lexer->error,
                                token->line,
                                token->column,
                                "Expected %s, found '%.*s'",
                                what,
                                (int)MIN(token->n, (size_t)QUOTE_MAX),
                                token->text);
}

int text_lexer_integer(TextLexer *lexer, uint64_t *ret) {
        const char *at = lexer->token.text, *end = at + lexer->token.n;
        unsigned base = 10;
        uint64_t value = 0;

        if (end - at > 1 && at[0] == '0') {
                base = at[1] == 'x' || at[1] == 'X' ? 16 : 8;
                at += base == 16 ? 2 : 1;
        }
        for (; at < end; at++)
                if (__builtin_mul_overflow(value, base, &value) ||
                    __builtin_add_overflow(value, (uint64_t)text_lexer_digit(*at), &value))
                        return config_error_set(lexer->error,
                                                lexer->token.line,
                                                lexer->token.column,
                                                "%.*s does not fit in 64 bits",
                                                (int)MIN(lexer->token.n, (size_t)QUOTE_MAX),
                                                lexer->token.text);
        *ret = value;
        return 0;
}
