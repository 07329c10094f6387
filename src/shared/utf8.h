/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * UTF-8 as D-Bus strings have it: well-formed and without NUL
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the first character, or 0 if it is not one. n_bytes is at least 1. */
size_t utf8_character(const uint8_t *at, size_t n_bytes);

bool utf8_is_valid(const uint8_t *bytes, size_t n_bytes);

/* Replaces every byte that is not part of a character. For text that quotes what peers wrote, perhaps cut off amidst a
 * character: sd-bus refuses to send it otherwise, and the caller would get no reply at all. */
void utf8_clean(char *text);

/* A copy of what a peer says to people, for lists, logs and terminals: cut off behind n_max bytes, clean, and on one
 * line, with spaces for control characters. NULL: no memory. */
char *utf8_copy_line(const char *text, size_t n_max);
