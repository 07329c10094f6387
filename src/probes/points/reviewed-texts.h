/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Reviewed texts: the texts that points may read
 *
 * A number tells little, but a text in memory may be anything: a password, the title of a window. So a file in points.d
 * can only ask for texts that are known to be names of kinds of things. This is the list of those texts.
 */

#include <stdbool.h>

bool text_is_reviewed(const char *library, const char *symbol, const char *where);
