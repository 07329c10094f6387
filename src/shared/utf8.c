/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* UTF-8 as D-Bus strings have it: well-formed and without NUL */

#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"
#include "shared/utf8.h"

/* Unicode's table 3-7: no overlong forms, no surrogates. */
size_t utf8_character(const uint8_t *at, size_t n_bytes) {
        uint8_t low = 0x80, high = 0xbf;
        size_t n;

        if (at[0] < 0x80)
                return at[0] != 0;
        if (at[0] < 0xc2 || at[0] > 0xf4)
                return 0;
        n = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
        if (at[0] == 0xe0)
                low = 0xa0;
        else if (at[0] == 0xed)
                high = 0x9f;
        else if (at[0] == 0xf0)
                low = 0x90;
        else if (at[0] == 0xf4)
                high = 0x8f;
        if (n > n_bytes || at[1] < low || at[1] > high)
                return 0;
        for (size_t i = 2; i < n; i++)
                if ((at[i] & 0xc0) != 0x80)
                        return 0;
        return n;
}

/* How many bytes at the start are certainly ASCII, other than NUL. They are examined in groups of eight. */
static size_t ascii_words(const uint8_t *at, size_t n_bytes) {
        const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
        uint64_t word;
        size_t n = 0;

        for (; n + sizeof(word) <= n_bytes; n += sizeof(word)) {
                memcpy(&word, at + n, sizeof(word));
                if ((word | (word - ones)) & tops)
                        break;
        }
        return n;
}

bool utf8_is_valid(const uint8_t *at, size_t n_bytes) {
        size_t n_ascii = ascii_words(at, n_bytes);

        at += n_ascii;
        n_bytes -= n_ascii;
        while (n_bytes > 0) {
                size_t n = utf8_character(at, n_bytes);

                if (n == 0)
                        return false;
                at += n;
                n_bytes -= n;
        }
        return true;
}

void utf8_clean(char *text) {
        size_t n = strlen(text), n_character;

        for (; n > 0; text += n_character, n -= n_character) {
                n_character = utf8_character((const uint8_t *)text, n);
                if (n_character == 0) {
                        *text = '?';
                        n_character = 1;
                }
        }
}

/* The control characters of ASCII, and U+0080 to U+009F, which some terminals obey as well. */
static size_t control_character(const uint8_t *at) {
        if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f)
                return 2;
        return at[0] < ' ' || at[0] == 0x7f;
}

char *utf8_copy_line(const char *text, size_t n_max) {
        size_t n = MIN(strlen(text), n_max);
        char *copy = malloc(n + 1);

        if (!copy)
                return NULL;
        memcpy(copy, text, n);
        copy[n] = 0;
        utf8_clean(copy);
        for (char *at = copy; *at; at++)
                memset(at, ' ', control_character((const uint8_t *)at));
        return copy;
}
