/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Text lexer: the words of protobuf text format
 *
 * Cuts text into tokens, one at a time, and knows where each begins. Knows no message and no field.
 * Follows protobuf.dev/reference/protobuf/textformat-spec. A column counts characters, not bytes,
 * and a tab is one character, as editors have it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config-error.h"
#include "shared/bytes.h"

typedef enum TokenType {
        TOKEN_END,
        TOKEN_NAME,    /* a letter or '_', then also digits */
        TOKEN_INTEGER, /* decimal, 0x… or 0…; a sign is a token of its own */
        TOKEN_FLOAT,   /* with a '.', an exponent or the suffix 'f' */
        TOKEN_STRING,  /* with its quotes and escapes, see text_lexer_unescape() */
        TOKEN_SYMBOL,  /* one of { } < > [ ] : , ; - / . */
} TokenType;

typedef struct Token {
        TokenType type;
        const char *text; /* inside the lexer's text */
        size_t n;
        unsigned line, column;
} Token;

typedef struct TextLexer {
        const char *at;
        unsigned line, column;
        Token token; /* the current token */
        ConfigError *error;
} TextLexer;

/* The value of a hexadecimal digit; 16 for anything else. <ctype.h> would follow the locale. */
static inline int text_lexer_digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        if (c >= 'A' && c <= 'F')
                return c - 'A' + 10;
        return 16;
}

/* Steps to the first token; the text must outlive the lexer. Returns 0 or CONFIG_E_INVALID. */
int text_lexer_init(TextLexer *lexer, const char *text, ConfigError *error);

/* Steps to the next token. Returns 0 or CONFIG_E_INVALID. */
int text_lexer_next(TextLexer *lexer);

/* Whether the current token is this symbol. */
bool text_lexer_at(const TextLexer *lexer, char symbol);

/* Refuses the current token: "Expected …, found …". */
int text_lexer_expected(TextLexer *lexer, const char *what);

/* Appends what the string token means. Returns 0, CONFIG_E_INVALID or -ENOMEM. */
int text_lexer_unescape(TextLexer *lexer, Bytes *out);

/* The value of the integer token. Returns 0, or CONFIG_E_INVALID past 64 bits. */
int text_lexer_integer(TextLexer *lexer, uint64_t *ret);
