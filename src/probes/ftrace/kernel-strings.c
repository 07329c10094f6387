/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Kernel strings: texts to which records only point */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "probes/ftrace/kernel-strings.h"
#include "shared/macro.h"

static size_t count_lines(const char *text) {
        size_t n = 0;

        for (; (text = strchr(text, '\n')); text++)
                n++;
        return n;
}

/* Undoes the kernel's escapes (trace_printk.c) in place: newline, tab, backslash and quote. */
static void unescape(char *text) {
        char *to = text;

        for (; *text; text++) {
                if (*text == '\\' && text[1])
                        text++;
                else {
                        *to++ = *text;
                        continue;
                }
                *to++ = *text == 'n' ? '\n' : *text == 't' ? '\t' : *text;
        }
        *to = '\0';
}

static bool parse_line(KernelString *ret, char *line) {
        static const char between[] = " : \"";
        char *end, *quote;

        if (strncmp(line, "0x", 2) != 0)
                return false;
        ret->address = strtoull(line, &end, 16);
        quote = strrchr(line, '"');
        if (strncmp(end, between, strlen(between)) != 0 || quote < end + strlen(between))
                return false;
        *quote = '\0';
        end += strlen(between);
        unescape(end);
        ret->text = end;
        return ret->address != 0;
}

static int compare_strings(const void *a, const void *b) {
        const KernelString *x = a, *y = b;

        return x->address < y->address ? -1 : x->address > y->address;
}

int kernel_strings_new(KernelStrings **ret, char *file) {
        _cleanup_(kernel_strings_freep) KernelStrings *strings = calloc(1, sizeof(*strings));
        char *line, *state = NULL;

        if (!strings) {
                free(file);
                return -ENOMEM;
        }
        strings->file = file;
        strings->strings = calloc(count_lines(file) + 1, sizeof(*strings->strings));
        if (!strings->strings)
                return -ENOMEM;
        for (line = strtok_r(file, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
                if (parse_line(&strings->strings[strings->n_strings], line))
                        strings->n_strings++;
        qsort(strings->strings, strings->n_strings, sizeof(*strings->strings), compare_strings);
        *ret = TAKE(strings);
        return 0;
}

KernelStrings *kernel_strings_free(KernelStrings *strings) {
        if (!strings)
                return NULL;
        free(strings->strings);
        free(strings->file);
        free(strings);
        return NULL;
}

const char *kernel_strings_find(const KernelStrings *strings, uint64_t address) {
        KernelString key = { .address = address };
        const KernelString *found;

        if (!strings || address == 0)
                return NULL;
        found = bsearch(&key, strings->strings, strings->n_strings, sizeof(key), compare_strings);
        return found ? found->text : NULL;
}
