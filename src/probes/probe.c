/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "probes/probe.h"

int probe_refuse(char **ret_error, const char *format, ...) {
        va_list args;
        char *text;
        int n;

        va_start(args, format);
        n = vasprintf(&text, format, args);
        va_end(args);
        if (n < 0)
                return -ENOMEM;
        if (ret_error)
                *ret_error = text;
        else
                free(text);
        return PROBE_E_REFUSED;
}

uint64_t probe_now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
