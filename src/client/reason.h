/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Reasons: what the service and its probes tell, in the user's language
 *
 * Why a data source does not record, what is wrong with a config, why a call was refused: these texts are written in
 * English, with names and numbers in them, and travel over D-Bus. All of their formats are known here
 * (reason-formats.py takes them out of the sources, as the catalogues have them), so a text is recognised by its
 * words, and what is between them is put into the translated format. A part may be such a text itself, and several
 * may be joined by ": " or "; ". The C library translates its own (strerror()). What no format makes, as from other
 * producers or another version, stays as it is.
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
