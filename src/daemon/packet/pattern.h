/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Pattern: a regular expression that somebody else wrote
 *
 * It has Perl's syntax (pcre2pattern(3)), which includes what Perfetto's configs use, and works on bytes. Compiling
 * and matching are bounded in time and memory whatever the expression and the text are: a match that takes too long
 * is given up, and the caller decides what that means. One thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/macro.h"

#define PATTERN_BYTES_MAX          1024  /* of an expression */
#define PATTERN_STEPS_MAX          10000 /* of one match */
#define PATTERN_NAME_STEPS_MAX     1000  /* of pattern_match() */
#define PATTERN_COMPILED_BYTES_MAX 8192  /* nested repetitions grow fast */
#define PATTERN_MEMORY_KIB         512   /* of one match */
#define PATTERN_GROUPS_MAX         32
#define PATTERN_WHY_BYTES          128

typedef struct Pattern Pattern;

/* Returns 0, -EINVAL with the reason in ret_why or -ENOMEM. */
int pattern_new(Pattern **ret, const char *text, char ret_why[static PATTERN_WHY_BYTES]);
Pattern *pattern_free(Pattern *pattern);
DEFINE_CLEANUP(Pattern *, pattern_free)

/* Compiles an array of patterns, all or none. Otherwise the same as pattern_new(). */
int patterns_new(Pattern ***ret,
                 char *const texts[],
                 size_t n,
                 char ret_why[static PATTERN_WHY_BYTES]);
void patterns_free(Pattern **patterns, size_t n);

/* The bytes [start, end) of the text; both are -1 if the group took no part. */
typedef struct PatternGroup {
        ssize_t start, end;
} PatternGroup;

/* Whether the expression matches all of a text, for names, which are many and short. Returns 1 if it does, 0 if
 * not, and -E2BIG if matching was given up. */
int pattern_match(Pattern *pattern, const char *text, size_t n_text);

/* Finds the first match in the text at or after `from`: 1, 0 or -E2BIG. Group 0 is the whole match. The groups
 * are valid until the next match. With `whole`, the expression has to match all of the text. `max_steps` counts
 * from 0 at each byte where a match may begin, and one step may examine all of the text. */
int pattern_search(Pattern *pattern,
                   const char *text,
                   size_t n_text,
                   size_t from,
                   bool whole,
                   uint32_t max_steps,
                   const PatternGroup **ret_groups,
                   size_t *ret_n_groups);
