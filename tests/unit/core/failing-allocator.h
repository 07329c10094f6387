/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * An allocator that fails once, when it is told to
 *
 * The linker puts it in the place of the real one (--wrap, the list is in meson.build): whatever the objects of this
 * project allocate with, and what PCRE2 allocates for them. To be included by one file of a test.
 */

#define PCRE2_CODE_UNIT_WIDTH 8

#include <errno.h>
#include <pcre2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static bool is_armed, has_failed;
static unsigned n_until_failure; /* allocations that still succeed */

static bool fails_now(void) {
        if (!is_armed || has_failed || n_until_failure-- > 0)
                return false;
        errno = ENOMEM;
        return has_failed = true;
}

/* From now on `n` allocations succeed, and the next one fails. */
static void arm(unsigned n) {
        is_armed = true;
        n_until_failure = n;
        has_failed = false;
}

/* Whether one has failed. */
static bool disarm(void) {
        is_armed = false;
        return has_failed;
}

/* What libcheck calls whenever an assertion holds, also in the fake peers. It allocates, and must not fail. */
void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line) {
        bool was_armed = is_armed;

        is_armed = false;
        __real__mark_point(file, line);
        is_armed = was_armed;
}

/* Defines the function that the linker calls instead of `name`. */
#define FAILING(type, failure, name, parameters, ...)                      \
        type __real_##name parameters;                                     \
        type __wrap_##name parameters;                                     \
        type __wrap_##name parameters {                                    \
                return fails_now() ? failure : __real_##name(__VA_ARGS__); \
        }

FAILING(void *, NULL, malloc, (size_t n), n)
FAILING(void *, NULL, calloc, (size_t n, size_t size), n, size)
FAILING(void *, NULL, realloc, (void *old, size_t n), old, n)
FAILING(void *, NULL, reallocarray, (void *old, size_t n, size_t size), old, n, size)
FAILING(char *, NULL, strdup, (const char *text), text)
FAILING(char *, NULL, strndup, (const char *text, size_t n), text, n)
FAILING(void *,
        MAP_FAILED,
        mmap64,
        (void *at, size_t n, int protection, int flags, int fd, off_t offset),
        at,
        n,
        protection,
        flags,
        fd,
        offset)
FAILING(pcre2_code *,
        (*error = PCRE2_ERROR_HEAP_FAILED, NULL),
        pcre2_compile_8,
        (PCRE2_SPTR text,
         PCRE2_SIZE n,
         uint32_t options,
         int *error,
         PCRE2_SIZE *at,
         pcre2_compile_context *context),
        text,
        n,
        options,
        error,
        at,
        context)
FAILING(pcre2_match_context *,
        NULL,
        pcre2_match_context_create_8,
        (pcre2_general_context * context),
        context)
FAILING(pcre2_match_data *,
        NULL,
        pcre2_match_data_create_from_pattern_8,
        (const pcre2_code *code, pcre2_general_context *context),
        code,
        context)
