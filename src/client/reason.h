/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Reasons: translates texts of the service and its probes
 *
 * Why a data source does not record, what is wrong with a config, why a call was refused: these texts are written in
 * English, with names and numbers in them, and travel over D-Bus. All of their formats are known here
 * (reason-formats.py extracts them from the sources, as the catalogues have them), so a text is recognised by its
 * words, and the parts between the words are put into the translated format. A part may be such a text itself, and
 * several may be joined by ": " or "; ". The C library translates its own texts (strerror()). Texts that match no
 * format, as those of other producers or versions, stay as they are.
 */

#include <stdbool.h>
#include <stddef.h>

/* Malloc'ed. */
char *reason_translate(const char *reason);

/* How many formats are known, and whether a text is of one of them. */
size_t reason_n_formats(void);
bool reason_is_of_format(const char *reason, size_t format);

/* Likewise, by these formats and this translation. For tests. */
char *reason_translate_by(const char *reason,
                          const char *const *formats,
                          size_t n_formats,
                          const char *(*translate)(const char *format));
