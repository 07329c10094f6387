/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The lines that are logged between a begin and an end. Not across a failed assertion: the test's process ends there.
 */

#include <stddef.h>

void log_capture_begin(void);
/* The caller's to free. */
char *log_capture_end(void);

size_t text_count(const char *text, const char *part);

/* An assertion about what a piece of code logs. */
#define ck_assert_logs(text, part) \
        ck_assert_msg(text_count(text, part) == 1, "\"%s\" is not once in: %s", part, text)
