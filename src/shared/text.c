/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Text: numbers with units as people write them, and "did you mean" */

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "shared/macro.h"
#include "shared/text.h"

#define NEAREST_NAME_MAX 64

typedef struct Unit {
        const char *name;
        double factor;
} Unit;

static const Unit size_units[] = {
        { "", 1 },          { "B", 1 },          { "k", 1024 },        { "K", 1024 },
        { "KB", 1024 },     { "KiB", 1024 },     { "M", 1048576 },     { "MB", 1048576 },
        { "MiB", 1048576 }, { "G", 1073741824 }, { "GB", 1073741824 }, { "GiB", 1073741824 },
        { "T", 0x1p40 },    { "TB", 0x1p40 },    { "TiB", 0x1p40 },
};

static const Unit duration_units[] = {
        { "", 1e9 },    { "ns", 1 },   { "us", 1e3 },   { "ms", 1e6 },   { "s", 1e9 },
        { "sec", 1e9 }, { "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 }, { "d", 86400e9 },
};

int text_parse_uint(uint64_t *ret, const char *text, uint64_t max) {
        uint64_t value = 0;

        if (!*text)
                return -EINVAL;
        for (; *text; text++) {
                if (*text < '0' || *text > '9')
                        return -EINVAL;
                if (__builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
                        return -ERANGE;
        }
        if (value > max)
                return -ERANGE;
        *ret = value;
        return 0;
}

/* Returns `base` or more if the character is no digit. */
static unsigned digit_of(char c) {
        if (c >= '0' && c <= '9')
                return (unsigned)(c - '0');
        if (c >= 'a' && c <= 'f')
                return (unsigned)(c - 'a') + 10;
        return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : UINT_MAX;
}

uint64_t text_read_uint(const char *text, unsigned base, const char **ret_end) {
        uint64_t value = 0;
        bool is_too_large = false;

        for (; digit_of(*text) < base; text++)
                is_too_large |= __builtin_mul_overflow(value, base, &value) ||
                                __builtin_add_overflow(value, digit_of(*text), &value);
        if (ret_end)
                *ret_end = text;
        return is_too_large ? UINT64_MAX : value;
}

static const Unit *unit_find(const Unit *units, size_t n_units, const char *name, size_t n_name) {
        for (size_t i = 0; i < n_units; i++)
                if (strlen(units[i].name) == n_name && !strncmp(units[i].name, name, n_name))
                        return &units[i];
        return NULL;
}

/* "12", "1.5", ".5": digits and a point, whatever the locale. Returns the end, `text` itself when there
 * is no number. */
static const char *parse_decimal(double *ret, const char *text) {
        const char *at = text;
        double value = 0, scale = 1;
        size_t n_digits = 0;

        for (; *at >= '0' && *at <= '9'; at++, n_digits++)
                value = value * 10 + (*at - '0');
        if (*at == '.')
                for (at++; *at >= '0' && *at <= '9'; at++, n_digits++)
                        value += (*at - '0') * (scale /= 10);
        *ret = value;
        return n_digits > 0 ? at : text;
}

/* A sum of "number unit" pairs, such as "1h30m". */
static int parse_with_units(uint64_t *ret, const char *text, const Unit *units, size_t n_units) {
        double sum = 0;

        if (!*text)
                return -EINVAL;
        while (*text) {
                const Unit *unit;
                const char *unit_name;
                double number;
                size_t n_name = 0;

                unit_name = parse_decimal(&number, text);
                if (unit_name == text)
                        return -EINVAL;
                while (isalpha((unsigned char)unit_name[n_name]))
                        n_name++;
                unit = unit_find(units, n_units, unit_name, n_name);
                if (!unit)
                        return -EINVAL;
                sum += number * unit->factor;
                text = unit_name + n_name;
        }
        if (sum >= 9.2e18)
                return -ERANGE;
        *ret = (uint64_t)llround(sum);
        return 0;
}

int text_parse_size(uint64_t *ret_bytes, const char *text) {
        return parse_with_units(ret_bytes, text, size_units, ARRAY_SIZE(size_units));
}

int text_parse_duration(uint64_t *ret_ns, const char *text) {
        return parse_with_units(ret_ns, text, duration_units, ARRAY_SIZE(duration_units));
}

char *text_format_size(char buffer[static TEXT_SIZE_BYTES], uint64_t n_bytes) {
        static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB" };
        double value = (double)n_bytes;
        size_t i = 0;

        for (; value >= 1024 && i + 1 < ARRAY_SIZE(names); i++)
                value /= 1024;
        snprintf(buffer, TEXT_SIZE_BYTES, i ? "%.1f %s" : "%.0f %s", value, names[i]);
        return buffer;
}

char *text_format_duration(char buffer[static TEXT_SIZE_BYTES], uint64_t ns) {
        static const Unit steps[] = { { "ns", 1 }, { "µs", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
        size_t i = 0;

        while (i + 1 < ARRAY_SIZE(steps) && (double)ns >= steps[i + 1].factor)
                i++;
        snprintf(buffer,
                 TEXT_SIZE_BYTES,
                 i ? "%.2f %s" : "%.0f %s",
                 (double)ns / steps[i].factor,
                 steps[i].name);
        return buffer;
}

/* How many letters of one text are missing, superfluous, wrong, or swapped with the next, compared with the
 * other; both in lower case. */
static size_t edit_distance(const char *a, const char *b, size_t n) {
        size_t rows[3][NEAREST_NAME_MAX + 1];
        size_t *before = rows[0], *above = rows[1], *row = rows[2];

        for (size_t j = 0; j <= n; j++)
                row[j] = j;
        for (size_t i = 0; a[i]; i++) {
                size_t *oldest = before;

                before = above;
                above = row;
                row = oldest;
                row[0] = i + 1;
                for (size_t j = 0; j < n; j++) {
                        row[j + 1] = MIN(above[j + 1], row[j]) + 1;
                        row[j + 1] = MIN(row[j + 1], above[j] + (a[i] != b[j]));
                        if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
                                row[j + 1] = MIN(row[j + 1], before[j - 1] + 1);
                }
        }
        return row[n];
}

static void small_letters(char ret[static NEAREST_NAME_MAX + 1], const char *text, size_t n) {
        for (size_t i = 0; i < n; i++)
                ret[i] = (char)tolower((unsigned char)text[i]);
        ret[n] = '\0';
}

const char *text_nearest(const char *name, const char *const known[], size_t n_known) {
        const size_t n_name = strlen(name);
        char a[NEAREST_NAME_MAX + 1], b[NEAREST_NAME_MAX + 1];
        const char *nearest = NULL;
        size_t best = n_name / 3 + 2;

        if (n_name > NEAREST_NAME_MAX)
                return NULL;
        small_letters(a, name, n_name);
        for (size_t i = 0; i < n_known; i++) {
                const size_t n = strlen(known[i]);
                size_t distance;

                if (n > NEAREST_NAME_MAX || MAX(n, n_name) - MIN(n, n_name) >= best)
                        continue;
                small_letters(b, known[i], n);
                distance = edit_distance(a, b, n);
                /* In a short word, too large a part of the letters would be wrong. */
                if (distance < best && 2 * distance < n_name) {
                        best = distance;
                        nearest = known[i];
                }
        }
        return nearest;
}
