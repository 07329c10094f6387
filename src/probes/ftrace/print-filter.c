/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Print filter: which texts of trace_marker are recorded */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/ftrace/print-filter.h"

typedef Perfetto__Protos__FtraceConfig__PrintFilter__Rule RuleConfig;

static int rule_init(PrintRule *ret, const RuleConfig *config) {
        const char *type = config->atrace_msg ? config->atrace_msg->type : NULL;
        const char *prefix = config->atrace_msg ? config->atrace_msg->prefix : config->prefix;

        *ret = (PrintRule){
                .allow = config->allow,
                .is_message = config->atrace_msg,
                .type = strdup(type ?: ""),
                .prefix = strdup(prefix ?: ""),
        };
        return ret->type && ret->prefix ? 0 : -ENOMEM;
}

int print_filter_new(PrintFilter **ret, const FtraceConfig *config, char **ret_error) {
        _cleanup_(print_filter_freep) PrintFilter *filter = NULL;
        size_t n = config->print_filter ? config->print_filter->n_rules : 0;
        int r = 0;

        *ret = NULL;
        if (n == 0)
                return 0;
        if (n > PRINT_RULES_MAX)
                return probe_refuse(ret_error,
                                    "print_filter has %zu rules; at most %d are allowed",
                                    n,
                                    PRINT_RULES_MAX);
        filter = calloc(1, sizeof(*filter));
        if (!filter)
                return -ENOMEM;
        filter->rules = calloc(n, sizeof(*filter->rules));
        if (!filter->rules)
                return -ENOMEM;
        for (filter->n_rules = 0; r == 0 && filter->n_rules < n; filter->n_rules++)
                r = rule_init(&filter->rules[filter->n_rules],
                              config->print_filter->rules[filter->n_rules]);
        if (r == 0)
                *ret = TAKE(filter);
        return r;
}

PrintFilter *print_filter_free(PrintFilter *filter) {
        if (!filter)
                return NULL;
        for (size_t i = 0; i < filter->n_rules; i++) {
                free(filter->rules[i].prefix);
                free(filter->rules[i].type);
        }
        free(filter->rules);
        free(filter);
        return NULL;
}

static bool begins_with(const uint8_t *text, size_t n_text, const char *prefix) {
        size_t n = strlen(prefix);

        return n <= n_text && memcmp(text, prefix, n) == 0;
}

/* "B|1234|name": the type, a process, and the beginning of the name. */
static bool is_message(const PrintRule *rule, const uint8_t *text, size_t n_text) {
        const uint8_t *end = text + n_text;

        if (!begins_with(text, n_text, rule->type))
                return false;
        text += strlen(rule->type);
        if (text == end || *text++ != '|')
                return false;
        while (text < end && *text >= '0' && *text <= '9')
                text++;
        if (text == end || *text++ != '|')
                return false;
        return begins_with(text, (size_t)(end - text), rule->prefix);
}

bool print_filter_allows(const PrintFilter *filter, const uint8_t *text, size_t n_text) {
        for (size_t i = 0; i < filter->n_rules; i++) {
                const PrintRule *rule = &filter->rules[i];

                if (rule->is_message ? is_message(rule, text, n_text)
                                     : begins_with(text, n_text, rule->prefix))
                        return rule->allow;
        }
        return true;
}

/* The lengths of the texts are included, because texts may contain anything. */
char *print_filter_key(const PrintFilter *filter) {
        char *text = NULL;
        size_t n_text;
        FILE *stream = open_memstream(&text, &n_text);

        if (!stream)
                return NULL;
        for (size_t i = 0; i < filter->n_rules; i++) {
                const PrintRule *rule = &filter->rules[i];

                fprintf(stream,
                        "%d %d %zu:%s %zu:%s\n",
                        rule->allow,
                        rule->is_message,
                        strlen(rule->type),
                        rule->type,
                        strlen(rule->prefix),
                        rule->prefix);
        }
        if (fclose(stream) == 0)
                return text;
        free(text);
        return NULL;
}
