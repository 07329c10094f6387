/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * UTF-8 as D-Bus strings have it: well-formed and without NUL
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the first character, or 0 if the bytes are not one. `n_bytes` is at least 1. */
size_t utf8_character(const uint8_t *at, size_t n_bytes);

bool utf8_is_valid(const uint8_t *bytes, size_t n_bytes);

/* Replaces every byte that is not part of a character. For text that quotes peers and may have been cut in the
 * middle of a character: sd-bus would refuse to send it, and the caller would get no reply at all. */
void utf8_clean(char *text);

/* Copies text that a peer wrote for people, so that lists, logs and terminals can show it: valid UTF-8 of at most
 * `n_max` bytes, on one line, with spaces in place of control characters. Returns NULL if memory has run out. */
char *utf8_copy_line(const char *text, size_t n_max);
