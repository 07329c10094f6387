/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Source list: the data sources of this program, for people and for scripts */

#include <stdio.h>

#include "host/source-list.h"

/* Returns what is wrong with this machine, which is why docs/SOURCES.md does not have it. */
static char *why_unavailable(const ProbeOps *ops) {
        char *why = NULL;
        int r;

        r = ops->check ? ops->check(&why) : 0;
        if (r < 0 && !why)
                why = strdup(strerror(-r));
        return why;
}

static void print_line(const char *label, const char *text) {
        if (text)
                printf("    %-10s %s\n", label, text);
}

static void print_source(const ProbeOps *ops, const char *why) {
        printf("%s\n", ops->name);
        print_line("records", ops->records);
        print_line("reads", ops->reads);
        print_line("needs", ops->needs);
        print_line("available", why ? "no" : "yes");
        print_line("because", why);
}

/* The texts are ours and the kernel's: a control character in them would be a mistake, and is dropped. */
static void print_json_string(const char *key, const char *text, const char *end) {
        printf("    \"%s\": ", key);
        if (!text) {
                printf("null%s\n", end);
                return;
        }
        putchar('"');
        for (const char *at = text; *at; at++) {
                if (*at == '"' || *at == '\\')
                        putchar('\\');
                putchar((unsigned char)*at < ' ' ? ' ' : *at);
        }
        printf("\"%s\n", end);
}

static void print_source_json(const ProbeOps *ops, const char *why, bool is_last) {
        printf("  {\n");
        print_json_string("name", ops->name, ",");
        print_json_string("records", ops->records, ",");
        print_json_string("reads", ops->reads, ",");
        print_json_string("needs", ops->needs, ",");
        print_json_string("refuses", ops->refuses, ",");
        print_json_string("unavailable", why, "");
        printf(is_last ? "  }\n" : "  },\n");
}

void source_list_print(const ProbeOps *const *probes, size_t n_probes, bool as_json) {
        if (as_json)
                printf("[\n");
        for (size_t i = 0; i < n_probes; i++) {
                _cleanup_(freep) char *why = why_unavailable(probes[i]);

                if (as_json)
                        print_source_json(probes[i], why, i + 1 == n_probes);
                else
                        print_source(probes[i], why);
        }
        if (as_json)
                printf("]\n");
}
