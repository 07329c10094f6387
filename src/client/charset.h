/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Charset: text for terminals and pipes that do not read UTF-8
 *
 * All text in the client is UTF-8. Where the locale's charset is another one (ISO-8859-1, or the
 * ASCII of the C locale), stdout and stderr convert what is printed, and characters that the
 * charset does not have become ones that look alike, or "?". Data of recordings does not go through these
 * streams.
 */

#include <stdbool.h>
#include <stddef.h>

/* Call it after setlocale(). Replaces stdout and stderr unless the locale's charset is UTF-8. */
void charset_init(void);

bool charset_is_utf8(void);

/* The text as it will be displayed, in UTF-8: text that is aligned or cut has to be measured in this form. Takes
 * ownership of `text`, which is valid UTF-8 and may be returned; malloc'ed. */
char *charset_reduce(char *text);

/* Columns that the text takes on a terminal: wide characters have two, combining ones none. */
size_t charset_width(const char *text);
