/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdarg.h>
#include <stdio.h>

#include "config/config-error.h"
#include "config/utf8.h"

/* The message travels in D-Bus strings, but quotes what peers wrote, perhaps cut off amidst a
 * character. */
static void replace_bad_bytes(char *text) {
        size_t n = strlen(text), n_character;

        for (; n > 0; text += n_character, n -= n_character) {
                n_character = utf8_character((const uint8_t *)text, n);
                if (n_character == 0) {
                        *text = '?';
                        n_character = 1;
                }
        }
}

int config_error_set(ConfigError *error, unsigned line, unsigned column, const char *format, ...) {
        va_list args;
        int n;

        error->line = line;
        error->column = column;
        va_start(args, format);
        n = vsnprintf(error->message, sizeof(error->message), format, args);
        va_end(args);
        if (n < 0)
                strcpy(error->message, "Invalid config");
        replace_bad_bytes(error->message);
        return CONFIG_E_INVALID;
}
