/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Config error: what is wrong, and where, for people
 *
 * Owned by the caller of the function that can fail. The message is a sentence without the position; it is never empty
 * after CONFIG_E_INVALID.
 */

#include "shared/macro.h"

enum {
        _CONFIG_E_SUCCESS,
        CONFIG_E_INVALID, /* *error says where and why */
};

typedef struct ConfigError {
        unsigned line, column; /* from 1; 0 when the config is not text */
        char message[256];
} ConfigError;

/* Fills *error and returns CONFIG_E_INVALID, so that a refusal is one return statement. What does
 * not fit is cut off; the message is UTF-8 whatever was quoted in it. */
int config_error_set(ConfigError *error, unsigned line, unsigned column, const char *format, ...)
        _printf_(4, 5);
