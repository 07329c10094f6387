/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Time options: "10s", "500ms", "1h30m", as text_parse_duration() takes them
 */

#include <stdint.h>

#include "client/exit-status.h"

/* Whole milliseconds. Says what is wrong with it. */
ExitStatus time_option_parse(uint32_t *ret_ms, const char *text, uint32_t min_ms, uint32_t max_ms);
