/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Config error: what is wrong, and where, for people */

#include <stdarg.h>
#include <stdio.h>

#include "config/config-error.h"
#include "shared/utf8.h"

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
        utf8_clean(error->message);
        return CONFIG_E_INVALID;
}
