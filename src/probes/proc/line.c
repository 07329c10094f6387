/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Takes a text of the kernel apart, line by line and word by word. */

#include <string.h>

#include "probes/proc/line.h"
#include "shared/macro.h"

static bool is_blank(char c) {
        return c == ' ' || c == '\t';
}

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

static void skip_blanks(const char **at) {
        while (is_blank(**at))
                (*at)++;
}

/* A number that does not fit becomes the largest one. This is faster than strtoull(), which also handles signs,
 * bases and locales: a line of interrupts has thousands of numbers. */
bool line_number(const char **at, uint64_t *ret) {
        uint64_t value = 0;

        skip_blanks(at);
        if (!is_digit(**at))
                return false;
        for (; is_digit(**at); (*at)++)
                if (__builtin_mul_overflow(value, 10u, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(**at - '0'), &value))
                        value = UINT64_MAX;
        *ret = value;
        return true;
}

bool line_signed(const char **at, int64_t *ret) {
        bool is_negative;
        uint64_t value;

        skip_blanks(at);
        is_negative = **at == '-' && is_digit((*at)[1]);
        *at += is_negative;
        if (!line_number(at, &value))
                return false;
        *ret = (int64_t)MIN(value, (uint64_t)INT64_MAX) * (is_negative ? -1 : 1);
        return true;
}

static char printable(char c) {
        return c >= ' ' && c <= '~' ? c : '?';
}

bool line_word(const char **at, char *ret, size_t size) {
        size_t n, n_kept;

        skip_blanks(at);
        n = strcspn(*at, " \t\n");
        if (n == 0)
                return false;
        n_kept = MIN(n, size - 1);
        for (size_t i = 0; i < n_kept; i++)
                ret[i] = printable((*at)[i]);
        ret[n_kept] = '\0';
        *at += n;
        return true;
}

const char *line_after(const char *line, const char *prefix) {
        size_t n = strlen(prefix);

        return strncmp(line, prefix, n) == 0 ? line + n : NULL;
}

const char *line_next(const char *at) {
        at += strcspn(at, "\n");
        return at + (*at == '\n');
}

void line_clean(char *text) {
        char *end = text;

        for (char *c = text; *c; c++) {
                *c = printable(*c);
                if (!is_blank(*c))
                        end = c + 1;
        }
        *end = '\0';
}
