/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Log text: makes foreign text safe to log as one line */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shared/log-text.h"
#include "shared/utf8.h"

#define ESCAPE_BYTES 4 /* of \xNN */

/* Characters that control the terminal, or reverse the text after them (UAX #9). */
static bool is_unsafe(const uint8_t *at, size_t n) {
        if (n == 1)
                return at[0] < ' ' || at[0] == 0x7f;
        if (n == 2)
                return at[0] == 0xc2 && at[1] <= 0x9f;
        if (n != 3 || at[0] != 0xe2)
                return false;
        return (at[1] == 0x80 &&
                (at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xa8 && at[2] <= 0xae))) ||
               (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9);
}

static bool is_priority(const char *text) {
        return text[0] == '<' && text[1] >= '0' && text[1] <= '9';
}

static void put_escape(char *ret, uint8_t byte) {
        static const char digits[] = "0123456789abcdef";

        ret[0] = '\\';
        ret[1] = 'x';
        ret[2] = digits[byte >> 4];
        ret[3] = digits[byte & 15];
}

size_t log_escape(char *ret, size_t n_ret, const char *text) {
        const uint8_t *at = (const uint8_t *)text;
        size_t n_left = strlen(text), n = 0;

        while (n_left > 0) {
                size_t n_character = utf8_character(at, n_left);
                const bool is_escaped = n_character == 0 || is_unsafe(at, n_character) ||
                                        (n == 0 && is_priority(text));

                n_character = is_escaped ? 1 : n_character; /* byte by byte */
                if (n + (is_escaped ? ESCAPE_BYTES : n_character) >= n_ret)
                        break;
                if (is_escaped)
                        put_escape(ret + n, *at);
                else
                        memcpy(ret + n, at, n_character);
                n += is_escaped ? ESCAPE_BYTES : n_character;
                at += n_character;
                n_left -= n_character;
        }
        ret[n] = 0;
        return n;
}
