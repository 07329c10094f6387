/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Takes a text of keys and values apart, line by line. */

#include <string.h>

#include "probes/system/keyed-text.h"

/* Both ends may be NULL for an empty text, and memchr() must not get NULL. */
static const char *span_find(Span span, char c) {
        return span.at < span.end ? memchr(span.at, c, (size_t)(span.end - span.at)) : NULL;
}

bool span_line(Span *text, Span *ret) {
        const char *end = span_find(*text, '\n');

        if (!end)
                return false;
        *ret = (Span){ .at = text->at, .end = end };
        text->at = end + 1;
        return true;
}

bool span_word(Span *line, Span *ret) {
        const char *end;

        while (line->at < line->end && *line->at == ' ')
                line->at++;
        if (line->at == line->end)
                return false;
        end = span_find(*line, ' ') ?: line->end;
        *ret = (Span){ .at = line->at, .end = end };
        line->at = end;
        return true;
}

bool span_pair(Span word, Span *ret_key, Span *ret_value) {
        const char *equals = span_find(word, '=');

        if (!equals)
                return false;
        *ret_key = (Span){ .at = word.at, .end = equals };
        *ret_value = (Span){ .at = equals + 1, .end = word.end };
        return true;
}

bool span_uint(Span word, uint64_t *ret) {
        uint64_t value = 0;

        if (word.at == word.end)
                return false;
        for (; word.at < word.end; word.at++) {
                if (*word.at < '0' || *word.at > '9' ||
                    __builtin_mul_overflow(value, 10u, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(*word.at - '0'), &value))
                        return false;
        }
        *ret = value;
        return true;
}

bool span_is(Span word, const char *text) {
        size_t n = (size_t)(word.end - word.at);

        /* Most words are different, and their first letter already shows that. */
        return n > 0 && word.at[0] == text[0] && strlen(text) == n && memcmp(word.at, text, n) == 0;
}
