/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Pattern: regular expressions of configs, compiled with limits on what a match may cost */

#define PCRE2_CODE_UNIT_WIDTH 8

#include <errno.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packet/pattern.h"

struct Pattern {
        pcre2_code *code;
        pcre2_match_context *limits;
        pcre2_match_data *data;
        PatternGroup groups[PATTERN_GROUPS_MAX + 1];
};

#define COMPILE_OPTIONS (PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_NEVER_BACKSLASH_C)

static int pattern_compile(pcre2_code **ret, const char *text, char *ret_why) {
        size_t n = strlen(text);
        PCRE2_SIZE at;
        int error;

        if (n > PATTERN_BYTES_MAX) {
                snprintf(ret_why,
                         PATTERN_WHY_BYTES,
                         "%zu bytes are over the limit PATTERN_BYTES_MAX, %d",
                         n,
                         PATTERN_BYTES_MAX);
                return -EINVAL;
        }
        *ret = pcre2_compile((PCRE2_SPTR)text, n, COMPILE_OPTIONS, &error, &at, NULL);
        if (*ret)
                return 0;
        if (error == PCRE2_ERROR_HEAP_FAILED)
                return -ENOMEM;
        pcre2_get_error_message(error, (PCRE2_UCHAR *)ret_why, PATTERN_WHY_BYTES - 16);
        n = strlen(ret_why);
        snprintf(ret_why + n, PATTERN_WHY_BYTES - n, " (byte %zu)", at);
        return -EINVAL;
}

static int pattern_check_size(const pcre2_code *code, char *ret_why) {
        uint32_t n = 0;
        size_t n_bytes = 0;

        pcre2_pattern_info(code, PCRE2_INFO_SIZE, &n_bytes);
        if (n_bytes > PATTERN_COMPILED_BYTES_MAX) {
                snprintf(ret_why,
                         PATTERN_WHY_BYTES,
                         "it is too large when compiled, over the limit "
                         "PATTERN_COMPILED_BYTES_MAX, %d",
                         PATTERN_COMPILED_BYTES_MAX);
                return -EINVAL;
        }
        pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &n);
        if (n <= PATTERN_GROUPS_MAX)
                return 0;
        snprintf(ret_why,
                 PATTERN_WHY_BYTES,
                 "%u groups are over the limit PATTERN_GROUPS_MAX, %d",
                 n,
                 PATTERN_GROUPS_MAX);
        return -EINVAL;
}

int pattern_new(Pattern **ret, const char *text, char ret_why[static PATTERN_WHY_BYTES]) {
        _cleanup_(pattern_freep) Pattern *pattern = NULL;
        int r;

        pattern = calloc(1, sizeof(*pattern));
        if (!pattern)
                return -ENOMEM;
        r = pattern_compile(&pattern->code, text, ret_why);
        if (r < 0)
                return r;
        r = pattern_check_size(pattern->code, ret_why);
        if (r < 0)
                return r;

        pattern->limits = pcre2_match_context_create(NULL);
        pattern->data = pcre2_match_data_create_from_pattern(pattern->code, NULL);
        if (!pattern->limits || !pattern->data)
                return -ENOMEM;
        pcre2_set_depth_limit(pattern->limits, PATTERN_STEPS_MAX);
        pcre2_set_heap_limit(pattern->limits, PATTERN_MEMORY_KIB);

        *ret = TAKE(pattern);
        return 0;
}

Pattern *pattern_free(Pattern *pattern) {
        if (!pattern)
                return NULL;

        pcre2_match_data_free(pattern->data);
        pcre2_match_context_free(pattern->limits);
        pcre2_code_free(pattern->code);
        free(pattern);
        return NULL;
}

int patterns_new(Pattern ***ret,
                 char *const texts[],
                 size_t n,
                 char ret_why[static PATTERN_WHY_BYTES]) {
        Pattern **patterns = calloc(n + 1, sizeof(*patterns));

        if (!patterns)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                int r = pattern_new(&patterns[i], texts[i], ret_why);

                if (r < 0) {
                        patterns_free(patterns, i);
                        return r;
                }
        }
        *ret = patterns;
        return 0;
}

void patterns_free(Pattern **patterns, size_t n) {
        for (size_t i = 0; i < n; i++)
                pattern_free(patterns[i]);
        free(patterns);
}

static void pattern_take_groups(Pattern *pattern, size_t n) {
        const PCRE2_SIZE *at = pcre2_get_ovector_pointer(pattern->data);

        for (size_t i = 0; i < n; i++, at += 2)
                pattern->groups[i] = at[0] == PCRE2_UNSET || at[1] < at[0]
                                             ? (PatternGroup){ -1, -1 }
                                             : (PatternGroup){ (ssize_t)at[0], (ssize_t)at[1] };
}

int pattern_search(Pattern *pattern,
                   const char *text,
                   size_t n_text,
                   size_t from,
                   bool whole,
                   uint32_t max_steps,
                   const PatternGroup **ret_groups,
                   size_t *ret_n_groups) {
        uint32_t options = whole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0;
        int r;

        pcre2_set_match_limit(pattern->limits, MIN(max_steps, (uint32_t)PATTERN_STEPS_MAX));
        r = pcre2_match(pattern->code,
                        (PCRE2_SPTR)text,
                        n_text,
                        from,
                        options,
                        pattern->data,
                        pattern->limits);
        if (r == PCRE2_ERROR_NOMATCH)
                return 0;
        if (r <= 0)
                return -E2BIG;
        pattern_take_groups(pattern, (size_t)r);
        *ret_groups = pattern->groups;
        *ret_n_groups = (size_t)r;
        return 1;
}

int pattern_match(Pattern *pattern, const char *text, size_t n_text) {
        const PatternGroup *groups;
        size_t n_groups;

        return pattern_search(
                pattern, text, n_text, 0, true, PATTERN_NAME_STEPS_MAX, &groups, &n_groups);
}
