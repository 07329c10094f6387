/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Regular expressions about names of producers
 *
 * POSIX extended ones that match the whole name, as Perfetto's. They come from configs, so what could take
 * exponential time or memory is refused.
 */

#include <regex.h>
#include <stddef.h>

#define NAME_REGEX_BYTES_MAX 256
#define NAME_REGEX_WHY_BYTES 128

/* 0, or -EINVAL with the reason; to be ended by regfree(). */
int name_regex_compile(regex_t *ret, const char *text, char ret_why[static NAME_REGEX_WHY_BYTES]);

/* An array of them, all or none. 0, -EINVAL with the reason, or -ENOMEM. */
int name_regexes_compile(regex_t **ret,
                         char *const texts[],
                         size_t n,
                         char ret_why[static NAME_REGEX_WHY_BYTES]);
void name_regexes_free(regex_t *regexes, size_t n);
