/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Keyed text: files whose lines consist of words, some of them "key=value", as in the kernel's cgroups
 *
 * A Span is a piece of memory that belongs to the caller. Nothing is copied, and nothing needs an end. Malformed parts
 * are left out, and the caller gets the rest.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Span {
        const char *at, *end;
} Span;

static inline Span span_of(const char *text, size_t n_bytes) {
        return (Span){ .at = text, .end = text + n_bytes };
}

/* Takes the next line, without its end. A last line that has no end was cut off and does not count. */
bool span_line(Span *text, Span *ret);

/* Takes the next word of a line. */
bool span_word(Span *line, Span *ret);

/* "key=value"; false without a '='. */
bool span_pair(Span word, Span *ret_key, Span *ret_value);

/* A whole number in decimal. Returns false if it is something else, or has more than 64 bits. */
bool span_uint(Span word, uint64_t *ret);

/* `text` is not empty. */
bool span_is(Span word, const char *text);
