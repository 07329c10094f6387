/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdio.h>

#include "core/string-rules.h"

#define REDACTION     "P60REDACTED"
#define REDACTION_PAD '-'

typedef struct Rule {
        StringPolicy policy;
        Pattern *pattern;
        char *atrace_start;
        char *name;
        uint64_t types[STRING_TYPES_MAX / 64];
} Rule;

struct StringRules {
        Rule rules[STRING_RULES_MAX];
        size_t n;
};

int string_rules_new(StringRules **ret) {
        *ret = calloc(1, sizeof(**ret));
        return *ret ? 0 : -ENOMEM;
}

static void rule_deinit(Rule *rule) {
        pattern_free(rule->pattern);
        free(rule->atrace_start);
        free(rule->name);
}

StringRules *string_rules_free(StringRules *rules) {
        if (!rules)
                return NULL;
        for (size_t i = 0; i < rules->n; i++)
                rule_deinit(&rules->rules[i]);
        free(rules);
        return NULL;
}

/* Rules apply to types that they cannot tell. */
static bool rule_is_for(const Rule *rule, uint32_t type) {
        return type >= STRING_TYPES_MAX || (rule->types[type / 64] >> type % 64 & 1);
}

static int rule_init(Rule *rule, const StringRule *from, char *ret_why) {
        *rule = (Rule){ .policy = from->policy };
        for (size_t i = 0; i < from->n_types; i++)
                if (from->types[i] < STRING_TYPES_MAX)
                        rule->types[from->types[i] / 64] |= UINT64_C(1) << from->types[i] % 64;
        if (from->n_types == 0)
                rule->types[0] = 1;
        rule->atrace_start = strdup(from->atrace_start ?: "");
        rule->name = strdup(from->name ?: "");
        if (!rule->atrace_start || !rule->name)
                return -ENOMEM;
        return pattern_new(&rule->pattern, from->pattern ?: "", ret_why);
}

static Rule *string_rules_find(StringRules *rules, const char *name) {
        for (size_t i = 0; name && name[0] && i < rules->n; i++)
                if (streq(rules->rules[i].name, name))
                        return &rules->rules[i];
        return NULL;
}

static int refuse(char *ret_why, const char *why) {
        snprintf(ret_why, PATTERN_WHY_BYTES, "%s", why);
        return -EINVAL;
}

int string_rules_add(StringRules *rules,
                     const StringRule *from,
                     char ret_why[static PATTERN_WHY_BYTES]) {
        Rule *replaced = string_rules_find(rules, from->name);
        Rule rule;
        int r;

        if (from->policy < STRING_MATCH_REDACT || from->policy >= _STRING_POLICY_N)
                return refuse(ret_why, "its policy is not known");
        if ((from->name && strlen(from->name) > STRING_STARTS_MAX) ||
            (from->atrace_start && strlen(from->atrace_start) > STRING_STARTS_MAX))
                return refuse(ret_why, "a text is over the limit STRING_STARTS_MAX");
        if (!replaced && rules->n == STRING_RULES_MAX)
                return refuse(ret_why, "there are more rules than STRING_RULES_MAX");

        r = rule_init(&rule, from, ret_why);
        if (r < 0) {
                rule_deinit(&rule);
                return r;
        }
        if (replaced)
                rule_deinit(replaced);
        else
                replaced = &rules->rules[rules->n++];
        *replaced = rule;
        return 0;
}

static void redact(char *text, size_t n) {
        const size_t n_shown = MIN(n, strlen(REDACTION));

        memcpy(text, REDACTION, n_shown);
        memset(text + n_shown, REDACTION_PAD, n - n_shown);
}

static void redact_groups(char *text, const PatternGroup *groups, size_t n_groups) {
        for (size_t i = 1; i < n_groups; i++)
                if (groups[i].start >= 0)
                        redact(text + groups[i].start, (size_t)(groups[i].end - groups[i].start));
}

/* What comes behind the process number in "B|1234|payload"; NULL when it is no such string. Ends of slices ("E|1234")
 * never have one. */
static const char *atrace_payload(const char *text, size_t n) {
        const char *bar;

        if (n < 3 || text[0] == 'E')
                return NULL;
        bar = memchr(text + 2, '|', n - 2);
        return bar ? bar + 1 : NULL;
}

static bool rule_is_about(const Rule *rule, const char *text, size_t n) {
        const char *payload;

        if (rule->policy == STRING_MATCH_REDACT || rule->policy == STRING_MATCH_BREAK)
                return true;
        payload = atrace_payload(text, n);
        return payload && (size_t)(text + n - payload) >= strlen(rule->atrace_start) &&
               memcmp(payload, rule->atrace_start, strlen(rule->atrace_start)) == 0;
}

/* Every fit in the string. The pattern may fit an empty piece: the next look is one byte on. */
static int rule_search_all(const Rule *rule, char *text, size_t n) {
        size_t from = 0;
        bool has_any = false;

        while (from <= n) {
                const PatternGroup *groups;
                size_t n_groups;
                int r;

                r = pattern_search(rule->pattern, text, n, from, false, &groups, &n_groups);
                if (r < 0)
                        return r;
                if (r == 0)
                        break;
                has_any = true;
                from = MAX((size_t)groups[0].end, from) + (groups[0].end == groups[0].start);
                redact_groups(text, groups, n_groups);
        }
        return has_any;
}

/* 1: the rule applied, and the others need not be tried; 0: it did not; -E2BIG: that took too long. */
static int rule_apply(const Rule *rule, char *text, size_t n) {
        const PatternGroup *groups;
        size_t n_groups;
        int r;

        if (!rule_is_about(rule, text, n))
                return 0;
        if (rule->policy == STRING_ATRACE_SEARCH_REDACT)
                return rule_search_all(rule, text, n);
        r = pattern_search(rule->pattern, text, n, 0, true, &groups, &n_groups);
        if (r == 1 &&
            (rule->policy == STRING_MATCH_REDACT || rule->policy == STRING_ATRACE_MATCH_REDACT))
                redact_groups(text, groups, n_groups);
        return r;
}

void string_rules_apply(StringRules *rules, char *text, size_t n_text, uint32_t type) {
        int r = 0;

        for (size_t i = 0; i < rules->n && n_text > 0 && r == 0; i++)
                if (rule_is_for(&rules->rules[i], type))
                        r = rule_apply(&rules->rules[i], text, n_text);
        if (r < 0)
                redact(text, n_text);
}
