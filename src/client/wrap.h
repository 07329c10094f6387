/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Wrap: text on lines of a given width
 *
 * Widths are columns of a terminal (charset_width()). A line ends at a space, or beside a wide character: Chinese and
 * Japanese have no spaces. A word that is longer than a line is cut.
 */

#include <glib.h>
#include <stddef.h>

/* Returns at least one line; free with g_ptr_array_unref(). A line is wider than `width` only if its only character
 * is. */
GPtrArray *wrap_lines(const char *text, size_t width);
