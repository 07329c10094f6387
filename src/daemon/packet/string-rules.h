/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * String rules: what a trace filter makes of the strings in a trace
 *
 * A chain of rules, of which the first that applies decides: it leaves the string alone, or overwrites in place what
 * its groups fit. Follows perfetto.protos.TraceConfig.TraceFilter.StringFilterRule
 * (protos/perfetto/config/trace_config.proto). A string that a rule cannot be tried on in bounded time is
 * overwritten as a whole: what was to be hidden stays hidden. So is every string of a packet that has used up
 * its share: a packet may have thousands of them, and a filter hundreds of rules.
 */

#include <stdint.h>

#include "packet/pattern.h"

#define STRING_RULES_MAX        256 /* of one filter */
#define STRING_TYPES_MAX        128 /* semantic types that a rule can tell; it applies to all above */
#define STRING_SEARCH_BYTES_MAX 1024 /* of a string that is searched; longer ones are overwritten */
#define STRING_PACKET_COST_MAX  (1u << 20) /* of one packet, in steps of a match, about */
#define STRING_STARTS_MAX \
        128 /* bytes of a rule's name, and of what an atrace payload starts with */

/* As perfetto.protos.TraceConfig.TraceFilter.StringFilterPolicy. An atrace rule is only for strings of the form
 * "B|1234|payload" whose payload starts with the rule's text. */
typedef enum StringPolicy {
        STRING_MATCH_REDACT = 1,
        STRING_ATRACE_MATCH_REDACT = 2,
        STRING_MATCH_BREAK = 3,
        STRING_ATRACE_MATCH_BREAK = 4,
        STRING_ATRACE_SEARCH_REDACT = 5,
        _STRING_POLICY_N,
} StringPolicy;

typedef struct StringRule {
        StringPolicy policy;
        const char *pattern;
        const char *atrace_start; /* or NULL */
        const char *name;         /* replaces the rule of the same name; or NULL */
        const uint32_t *types;    /* semantic types; none: 0 only */
        size_t n_types;
} StringRule;

typedef struct StringRules StringRules;

int string_rules_new(StringRules **ret);
StringRules *string_rules_free(StringRules *rules);
DEFINE_CLEANUP(StringRules *, string_rules_free)

/* Copies. Returns 0, -ENOMEM, or -EINVAL with the reason. */
int string_rules_add(StringRules *rules,
                     const StringRule *rule,
                     char ret_why[static PATTERN_WHY_BYTES]);

/* A packet begins. */
void string_rules_begin(StringRules *rules);

/* What was done since the rules were made, in steps of a match: for callers that share out time. */
uint64_t string_rules_cost(const StringRules *rules);

void string_rules_apply(StringRules *rules, char *text, size_t n_text, uint32_t type);
