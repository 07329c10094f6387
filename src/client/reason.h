/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Reasons: why a data source does not record, in the user's language
 *
 * The probes write their reasons in English, with names and numbers in them, and the service hands
 * them on. All of their formats are known here (reason-formats.py takes them out of the sources of
 * the probes, as the catalogues have them), so a reason is recognised by its words, and what is between them
 * is put into the translated format. A part may be a reason itself. What no format makes, as from other
 * producers or another version, stays as it is.
 */

#include <stddef.h>

/* Malloc'ed. */
char *reason_translate(const char *reason);

/* How many formats are known. */
size_t reason_n_formats(void);

/* Likewise, by these formats and this translation. For tests. */
char *reason_translate_by(const char *reason,
                          const char *const *formats,
                          size_t n_formats,
                          const char *(*translate)(const char *format));
