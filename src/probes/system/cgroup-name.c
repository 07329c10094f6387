/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The name by which people know a control group. */

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "probes/system/cgroup-name.h"
#include "shared/macro.h"
#include "shared/utf8.h"

static int hex_digit(char c) {
        static const char digits[] = "0123456789abcdef";
        const char *at = c ? strchr(digits, c) : NULL;

        return at ? (int)(at - digits) : -1;
}

/* Takes one byte. "\x00" stays as it is, because no text has such a byte. */
static uint8_t take_byte(const char **at) {
        const char *text = *at;
        int high, low;

        if (text[0] == '\\' && text[1] == 'x' && (high = hex_digit(text[2])) >= 0 &&
            (low = hex_digit(text[3])) >= 0 && high + low > 0) {
                *at += 4;
                return (uint8_t)(high << 4 | low);
        }
        *at += 1;
        return (uint8_t)text[0];
}

static bool is_control(uint8_t byte) {
        return byte < 0x20 || byte == 0x7f;
}

void cgroup_title(char ret[static CGROUP_TITLE_BYTES], const char *name) {
        uint8_t bytes[CGROUP_NAME_MAX];
        size_t n = 0, n_character;

        while (*name && n < sizeof(bytes))
                bytes[n++] = take_byte(&name);
        for (size_t i = 0; i < n; i += MAX(n_character, (size_t)1)) {
                n_character = utf8_character(bytes + i, n - i);
                if (n_character == 0 || is_control(bytes[i])) {
                        ret += sprintf(ret, "\\x%02x", bytes[i]);
                        continue;
                }
                memcpy(ret, bytes + i, n_character);
                ret += n_character;
        }
        *ret = '\0';
}

static bool is_usual(const char *name) {
        static const char *const kinds[] = { ".slice", ".service", ".scope" };
        const char *kind = strrchr(name, '.');

        for (size_t i = 0; kind && i < ARRAY_SIZE(kinds); i++)
                if (streq(kind, kinds[i]))
                        return true;
        return false;
}

/* A '\' stands for itself, as unit names have them. glibc looks at each place at most once for each star, so no
 * pattern can make this slow. */
static bool matches(const char *pattern, const char *text) {
        return fnmatch(pattern, text, FNM_NOESCAPE) == 0;
}

bool cgroup_is_selected(const CgroupSelect *select, const char *path, const char *title) {
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

        if (select->n_patterns == 0)
                return is_usual(name);
        for (size_t i = 0; i < select->n_patterns; i++) {
                const char *pattern = select->patterns[i];

                if (strchr(pattern, '/')) {
                        if (matches(pattern + (pattern[0] == '/'), path))
                                return true;
                } else if (matches(pattern, name) || matches(pattern, title)) {
                        return true;
                }
        }
        return false;
}
