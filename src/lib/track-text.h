/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Track text: how much of the program's texts is used
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "desktrace/track-event.h"

/* A text's bytes, cut to n_max, or DT_TEXT_BYTES_MAX, at the end of a character. */
static inline size_t track_text_cut(const char *text, size_t n_max) {
        size_t n = strnlen(text, n_max);

        /* Not in the middle of a character, which has at most four bytes. */
        if (n == n_max)
                for (unsigned i = 0; i < 3 && ((uint8_t)text[n] & 0xc0) == 0x80; i++)
                        n--;
        return n;
}

static inline size_t track_text_bytes(const char *text) {
        return track_text_cut(text, DT_TEXT_BYTES_MAX);
}
