/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Print filter: which texts of trace_marker are recorded
 *
 * The rules of FtraceConfig.print_filter, in order: the first match decides, and a text that matches none is recorded.
 * They are applied to each text when it is encoded, because the kernel cannot do it.
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
        bool is_message; /* "type|process|prefix..."; else a text that begins with the prefix */
        char *type;
        char *prefix; /* empty: any */
} PrintRule;

typedef struct PrintFilter {
        PrintRule *rules;
        size_t n_rules;
} PrintFilter;

/* *ret is NULL when the config has no rules. 0, PROBE_E_REFUSED, -ENOMEM. */
int print_filter_new(PrintFilter **ret, const FtraceConfig *config, char **ret_error);
PrintFilter *print_filter_free(PrintFilter *filter);
DEFINE_CLEANUP(PrintFilter *, print_filter_free)

/* Whether a text, which need not end in a NUL, is recorded. */
bool print_filter_allows(const PrintFilter *filter, const uint8_t *text, size_t n_text);

/* All rules as one text, malloc'ed: those of equal filters are equal. NULL: no memory. */
char *print_filter_key(const PrintFilter *filter);
