/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Text: numbers with units as people write them, and "did you mean"
 */

#include <stddef.h>
#include <stdint.h>

/* Whole-string decimal number; -EINVAL, or -ERANGE past `max`. */
int text_parse_uint(uint64_t *ret, const char *text, uint64_t max);

/* Reads the digits at the start of a text, of base 10 or 16. *ret_end, unless NULL, is what follows them, or
 * `text` itself if there are none. Too large a number becomes UINT64_MAX. It replaces strtoull(), which newer C
 * libraries have under a name that older ones lack: libraries for other people's programs have to run with both. */
uint64_t text_read_uint(const char *text, unsigned base, const char **ret_end);

/* "64M", "512k", "1GiB", "4096": bytes, units are powers of 1024. */
int text_parse_size(uint64_t *ret_bytes, const char *text);

/* "5s", "1500ms", "2m", "1h30m", "0.5s"; a bare number means seconds. */
int text_parse_duration(uint64_t *ret_ns, const char *text);

#define TEXT_SIZE_BYTES 32

/* "1.5 MiB" and "2.25 s" into `buffer`, which is returned. */
char *text_format_size(char buffer[static TEXT_SIZE_BYTES], uint64_t n_bytes);
char *text_format_duration(char buffer[static TEXT_SIZE_BYTES], uint64_t ns);

/* The known name that `name` was probably meant to be, or NULL if none is near enough. */
const char *text_nearest(const char *name, const char *const known[], size_t n_known);
