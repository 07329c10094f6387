/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Probe: one data source, as a table of the steps in the life of its instances */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "host/probe.h"
#include "shared/log.h"

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

void probe_note(ProbeNotes *notes, const char *format, ...) {
        char **texts, *text;
        va_list args;
        int n;

        va_start(args, format);
        n = vasprintf(&text, format, args);
        va_end(args);
        if (n < 0)
                return;
        log_notice("%s", text);
        texts = notes && notes->n < PROBE_NOTES_MAX
                        ? reallocarray(notes->texts, notes->n + 1, sizeof(*texts))
                        : NULL;
        if (!texts) {
                free(text);
                return;
        }
        notes->texts = texts;
        texts[notes->n++] = text;
}

void probe_notes_deinit(ProbeNotes *notes) {
        for (size_t i = 0; i < notes->n; i++)
                free(notes->texts[i]);
        free(notes->texts);
        *notes = (ProbeNotes){};
}

void probe_names_free(char **names) {
        for (char **name = names; name && *name; name++)
                free(*name);
        free(names);
}

static uint64_t clock_now_ns(clockid_t clock) {
        struct timespec now;

        clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t probe_now_ns(void) {
        return clock_now_ns(CLOCK_BOOTTIME);
}

uint64_t probe_cpu_ns(void) {
        return clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
}
