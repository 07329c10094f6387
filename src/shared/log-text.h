/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What may be written into a log as one line
 *
 * Lines quote what peers say: names of triggers, reasons, errors. A line feed in one would begin an entry of the peer's
 * own, with a priority of its choice in the form "<N>", and control characters drive the terminal that shows the log.
 */

#include <stddef.h>

/* Copies the text, cut off where it does not fit: characters that are not printable become \xNN, also a "<" of a
 * priority in front. What is not UTF-8 is not printable. Returns the length, below n_ret. */
size_t log_escape(char *ret, size_t n_ret, const char *text);
