/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * An allocator that fails once, when it is told to
 *
 * The linker puts it in the place of the real one (--wrap, the list is in meson.build): whatever the objects of this
 * project allocate with. To be included by one file of a test.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Atomic, as threads may allocate. */
static _Atomic bool is_armed, has_failed;
static _Atomic unsigned n_until_failure; /* allocations that still succeed */

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
