/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Time options: "10s", "500ms", "1h30m", as text_parse_duration() takes them
 */

#include <stdint.h>

#include "client/exit-status.h"

#define TIME_OPTION_BYTES 32

/* Formats a duration as people write it: "10s", "1h30m", "1d2h", "250ms"; durations of days have no seconds. Into
 * `buffer`, which is returned. */
char *time_option_format(char buffer[static TIME_OPTION_BYTES], uint64_t ms);

/* Parses whole milliseconds. Reports errors. */
ExitStatus time_option_parse(uint32_t *ret_ms, const char *text, uint32_t min_ms, uint32_t max_ms);
