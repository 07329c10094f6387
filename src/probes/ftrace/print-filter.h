/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Print filter: which texts of trace_marker are recorded
 *
 * These are the rules of FtraceConfig.print_filter. The first rule that matches decides, and a text that matches none
 * is recorded. The rules are applied to each text when it is encoded, because the kernel cannot do so.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/probe.h"
#include "probes/ftrace/ftrace-settings.h"
#include "shared/macro.h"

#define PRINT_RULES_MAX 256

typedef struct PrintRule {
        bool allow;
        bool is_message; /* "type|process|prefix..."; otherwise a text that begins with the prefix */
        char *type;
        char *prefix; /* empty: any */
} PrintRule;

typedef struct PrintFilter {
        PrintRule *rules;
        size_t n_rules;
} PrintFilter;

/* *ret is NULL when the config has no rules. Returns 0, PROBE_E_REFUSED or -ENOMEM. */
int print_filter_new(PrintFilter **ret, const FtraceConfig *config, char **ret_error);
PrintFilter *print_filter_free(PrintFilter *filter);
DEFINE_CLEANUP(PrintFilter *, print_filter_free)

/* Whether a text is recorded. It need not end in a NUL. */
bool print_filter_allows(const PrintFilter *filter, const uint8_t *text, size_t n_text);

/* All rules as one text, malloc'ed. Equal filters have equal texts. Returns NULL if memory has run out. */
char *print_filter_key(const PrintFilter *filter);
