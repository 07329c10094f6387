/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Words of a page that are the same for all recordings, by the keys that its template and its scripts use
 */

#include <stddef.h>

typedef struct ReportWord {
        const char *key, *text; /* the text to be translated */
} ReportWord;

extern const ReportWord report_words[];
extern const size_t report_n_words;

/* Returns the key itself if there is no such word. */
const char *report_word(const char *key);
