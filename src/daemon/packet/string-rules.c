/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* String rules: applies the string rules of a trace filter, within a bounded time */

#include <errno.h>
#include <stdio.h>

#include "packet/string-rules.h"

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
        uint64_t cost, packet_cost; /* steps so far, and when the packet began */
};

/*
 * PCRE2 does not tell how many steps a match has taken, only that it has stayed within its limit. So each match is
 * first tried with few steps, which suffice for nearly all and are charged at one price, and then with as many as
 * are left.
 */
typedef struct Effort {
        uint32_t steps;   /* at each place where a match may begin */
        uint64_t charged; /* likewise */
} Effort;

#define N_EFFORTS 2

static const Effort match_efforts[N_EFFORTS] = { { 128, 64 },
                                                 { PATTERN_STEPS_MAX, PATTERN_STEPS_MAX } };
static const Effort search_efforts[N_EFFORTS] = { { 32, 4 }, { 1000, 1000 } };

/* A step may examine all of the text: this many bytes take about as long as any other step. */
#define BYTES_PER_STEP 64

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

/* Rules apply to all types that they cannot distinguish. */
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

static int rules_refuse(char *ret_why, const char *why) {
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
                return rules_refuse(ret_why, "its policy is unknown");
        if ((from->name && strlen(from->name) > STRING_STARTS_MAX) ||
            (from->atrace_start && strlen(from->atrace_start) > STRING_STARTS_MAX))
                return rules_refuse(ret_why, "a text exceeds the limit STRING_STARTS_MAX");
        if (!replaced && rules->n == STRING_RULES_MAX)
                return rules_refuse(ret_why, "there are more rules than STRING_RULES_MAX");

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

void string_rules_begin(StringRules *rules) {
        rules->packet_cost = rules->cost;
}

uint64_t string_rules_cost(const StringRules *rules) {
        return rules->cost;
}

/* Returns -E2BIG if there is no time left. */
static int rules_pay(StringRules *rules, uint64_t cost) {
        if (cost > STRING_PACKET_COST_MAX - (rules->cost - rules->packet_cost))
                return -E2BIG;
        rules->cost += cost;
        return 0;
}

/* Searches a string once; returns the same as pattern_search(). */
typedef struct Look {
        const char *text;
        size_t n, from;
        bool whole;
        const PatternGroup *groups;
        size_t n_groups;
} Look;

static int rules_look(StringRules *rules, const Rule *rule, Look *look) {
        const Effort *efforts = look->whole ? match_efforts : search_efforts;
        const uint64_t n_starts = look->whole ? 1 : look->n - look->from + 1;
        int r = -E2BIG;

        if (!look->whole && look->n > STRING_SEARCH_BYTES_MAX)
                return -E2BIG;
        for (size_t i = 0; i < N_EFFORTS && r == -E2BIG; i++) {
                if (rules_pay(rules,
                              efforts[i].charged * n_starts * (1 + look->n / BYTES_PER_STEP)))
                        return -E2BIG;
                r = pattern_search(rule->pattern,
                                   look->text,
                                   look->n,
                                   look->from,
                                   look->whole,
                                   efforts[i].steps,
                                   &look->groups,
                                   &look->n_groups);
        }
        return r;
}

/* Handles every match in the string. A match may be empty; then the next search begins one byte later. */
static int rule_search_all(StringRules *rules, const Rule *rule, char *text, size_t n) {
        Look look = { .text = text, .n = n };
        bool has_any = false;

        while (look.from <= n) {
                int r = rules_look(rules, rule, &look);

                if (r < 0)
                        return r;
                if (r == 0)
                        break;
                has_any = true;
                look.from = MAX((size_t)look.groups[0].end, look.from) +
                            (look.groups[0].end == look.groups[0].start);
                redact_groups(text, look.groups, look.n_groups);
        }
        return has_any;
}

/* Returns 1 if the rule has matched, so that the others are not tried; 0 if not; -E2BIG if that took too long. */
static int rule_apply(StringRules *rules, const Rule *rule, char *text, size_t n) {
        Look look = { .text = text, .n = n, .whole = true };
        int r;

        if (!rule_is_about(rule, text, n))
                return 0;
        if (rule->policy == STRING_ATRACE_SEARCH_REDACT)
                return rule_search_all(rules, rule, text, n);
        r = rules_look(rules, rule, &look);
        if (r == 1 &&
            (rule->policy == STRING_MATCH_REDACT || rule->policy == STRING_ATRACE_MATCH_REDACT))
                redact_groups(text, look.groups, look.n_groups);
        return r;
}

void string_rules_apply(StringRules *rules, char *text, size_t n_text, uint32_t type) {
        int r = 0;

        for (size_t i = 0; i < rules->n && n_text > 0 && r == 0; i++)
                if (rule_is_for(&rules->rules[i], type))
                        r = rule_apply(rules, &rules->rules[i], text, n_text);
        if (r < 0)
                redact(text, n_text);
}
