/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * String rules: what a trace filter makes of the strings in a trace
 *
 * The first rule of a chain that applies decides: it leaves the string alone, or overwrites in place what its groups
 * match. Follows perfetto.protos.TraceConfig.TraceFilter.StringFilterRule
 * (protos/perfetto/config/trace_config.proto). If a rule cannot be tried on a string in bounded time, the whole
 * string is overwritten, so that nothing is shown that was to be hidden. So is every further string of a packet that
 * has used up its share of time: a packet may have thousands of strings, and a filter hundreds of rules.
 */

#include <stdint.h>

#include "packet/pattern.h"

#define STRING_RULES_MAX        256 /* of one filter */
#define STRING_TYPES_MAX        128 /* semantic types that rules can name; all rules apply to others */
#define STRING_SEARCH_BYTES_MAX 1024 /* of a string to be searched; longer ones are overwritten */
#define STRING_PACKET_COST_MAX  (1u << 20) /* for one packet, in steps of a match, roughly */
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

/* Copies the rule. Returns 0, -ENOMEM, or -EINVAL with the reason. */
int string_rules_add(StringRules *rules,
                     const StringRule *rule,
                     char ret_why[static PATTERN_WHY_BYTES]);

/* A packet begins. */
void string_rules_begin(StringRules *rules);

/* The work done since the rules were made, in steps of a match, for callers that divide their time. */
uint64_t string_rules_cost(const StringRules *rules);

void string_rules_apply(StringRules *rules, char *text, size_t n_text, uint32_t type);
