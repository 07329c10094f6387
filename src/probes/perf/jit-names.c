/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* JIT names: what a program calls the code that it makes while it runs */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/perf/jit-names.h"
#include "shared/bisect.h"
#include "shared/macro.h"
#include "shared/siphash.h"
#include "shared/utf8.h"

static bool parse_number(uint64_t *ret, const char **at) {
        const char *begin = *at;
        uint64_t number = 0;

        if (begin[0] == '0' && begin[1] == 'x')
                begin += 2;
        for (*at = begin; isxdigit((unsigned char)**at) && *at - begin < 16; ++*at)
                number = number << 4 |
                         (uint64_t)(**at <= '9' ? **at - '0' : (**at | 0x20) - 'a' + 10);
        *ret = number;
        return *at > begin && *(*at)++ == ' ';
}

/* Names are shown on terminals later, so control characters are replaced. */
static void clean(char *text) {
        for (char *at = text; *at; at++)
                if ((unsigned char)*at < ' ' || *at == 0x7f)
                        *at = '?';
        utf8_clean(text);
}

static bool parse_line(JitName *ret, char *line) {
        const char *at = line;
        uint64_t n_bytes;
        char *text;

        if (!parse_number(&ret->start, &at) || !parse_number(&n_bytes, &at) || n_bytes == 0 ||
            __builtin_add_overflow(ret->start, n_bytes, &ret->end) || !*at)
                return false;
        text = line + (at - line);
        text[strnlen(text, JIT_NAME_BYTES_MAX)] = '\0';
        clean(text);
        ret->text = text;
        ret->n_text = (uint32_t)strlen(text);
        ret->key = siphash_keyed(text, ret->n_text) | 1; /* 0 stands for no name */
        return ret->n_text > 0;
}

/* Of two names at one address, the later one sorts first. */
static int compare(const void *a, const void *b) {
        const JitName *one = a, *other = b;

        if (one->start != other->start)
                return one->start < other->start ? -1 : 1;
        return one->order > other->order ? -1 : one->order < other->order;
}

static void keep_latest(JitNames *names) {
        size_t n = 0;

        qsort(names->names, names->n, sizeof(*names->names), compare);
        for (size_t i = 0; i < names->n; i++)
                if (n == 0 || names->names[n - 1].start != names->names[i].start)
                        names->names[n++] = names->names[i];
        names->n = n;
}

static size_t count_lines(const char *text, size_t n_text) {
        size_t n = 1;

        for (const char *at = text; (at = memchr(at, '\n', n_text - (size_t)(at - text))); at++)
                n++;
        return MIN(n, JIT_NAMES_MAX);
}

int jit_names_new(JitNames **ret, char *text, size_t n_text) {
        JitNames *names = calloc(1, sizeof(*names));
        const size_t n_lines = count_lines(text, n_text);
        char *line, *state = NULL;

        if (names)
                names->names = calloc(n_lines, sizeof(*names->names));
        if (!names || !names->names) {
                free(names);
                free(text);
                return -ENOMEM;
        }
        names->text = text;
        names->n_bytes = sizeof(*names) + n_lines * sizeof(*names->names) + n_text;
        for (line = strtok_r(text, "\n", &state); line && names->n < n_lines;
             line = strtok_r(NULL, "\n", &state)) {
                names->names[names->n].order = (uint32_t)names->n;
                names->n += parse_line(&names->names[names->n], line);
        }
        keep_latest(names);
        *ret = names;
        return 0;
}

JitNames *jit_names_free(JitNames *names) {
        if (!names)
                return NULL;
        free(names->names);
        free(names->text);
        free(names);
        return NULL;
}

const JitName *jit_names_find(const JitNames *names, uint64_t address) {
        const size_t n = bisect(names->names, names->n, start, address);

        return n > 0 && address < names->names[n - 1].end ? &names->names[n - 1] : NULL;
}
