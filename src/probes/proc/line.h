/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Lines of the kernel's text files: words and numbers between blanks
 *
 * Texts end with a NUL. Anything unexpected ends a line early, and nothing is read past the end of the text. Words are
 * written into traces, whose readers want UTF-8, so bytes that are not printable ASCII become "?".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_WORD_BYTES 128 /* room for a word; longer ones are cut */

/* Each moves `at` past what it took. Returns false, and moves past nothing but blanks, at the end of the line or at
 * something else. */
bool line_number(const char **at, uint64_t *ret);
bool line_signed(const char **at, int64_t *ret);
bool line_word(const char **at, char *ret, size_t size);

/* The text behind `prefix`, or NULL if the line does not begin with it. */
const char *line_after(const char *line, const char *prefix);

/* Moves to the next line, or to the end of the text. */
const char *line_next(const char *at);

/* Makes a text printable in place, and removes blanks at its end. */
void line_clean(char *text);
