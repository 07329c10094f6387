/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Log text: makes foreign text safe to log as one line
 *
 * Log lines quote peers: names of triggers, reasons, errors. A line feed in such a text would begin an entry that the
 * peer makes up, with a priority of its choice in the form "<N>", and control characters would drive the terminal that
 * shows the log.
 */

#include <stddef.h>

/* Copies the text, and cuts it off where it does not fit. Unprintable characters become \xNN, and so does the "<" of
 * a leading priority. Bytes that are not UTF-8 count as unprintable. Returns the length, which is less than `n_ret`. */
size_t log_escape(char *ret, size_t n_ret, const char *text);
