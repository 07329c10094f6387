/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/say.h"

static const char *bus_option = "";

bool is_smart_terminal(FILE *stream) {
        const char *term = getenv("TERM");

        /* These two may have been replaced, and have no descriptor then. */
        return term && !streq(term, "dumb") &&
               isatty(stream == stdout ? STDOUT_FILENO : STDERR_FILENO);
}

const char *style(FILE *stream, Style which) {
        static const char *const sequences[] = {
                [STYLE_NORMAL] = "\033[0m", [STYLE_BOLD] = "\033[1m",   [STYLE_DIM] = "\033[2m",
                [STYLE_GOOD] = "\033[32m",  [STYLE_BAD] = "\033[1;31m",
        };
        const char *no_color = getenv("NO_COLOR");

        if ((no_color && *no_color) || !is_smart_terminal(stream))
                return "";
        return sequences[which];
}

void say_error(const char *format, ...) {
        int saved_errno = errno; /* for %m */
        va_list arguments;

        fflush(stdout);
        fprintf(stderr, "%sdesktrace:%s ", style(stderr, STYLE_BAD), style(stderr, STYLE_NORMAL));
        va_start(arguments, format);
        errno = saved_errno;
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
}

void say_set_bus_option(const char *option) {
        bus_option = option;
}

void say_hint(const char *hint) {
        g_auto(GStrv) parts = NULL;
        g_autofree char *text = NULL;

        if (!hint)
                return;
        parts = g_strsplit(hint, "{bus}", -1);
        text = g_strjoinv(bus_option, parts);
        fprintf(stderr, "%s\n", text);
}

/* Drives the terminal, or turns the text behind it around. */
static bool is_unsafe(gunichar c) {
        return g_unichar_iscntrl(c) || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
               (c >= 0x2066 && c <= 0x2069);
}

char *say_clean(const void *text, size_t n_text) {
        char *clean = g_utf8_make_valid(text, (gssize)n_text);

        for (char *at = clean; *at; at = g_utf8_next_char(at))
                if (is_unsafe(g_utf8_get_char(at)))
                        memset(at, '?', (size_t)(g_utf8_next_char(at) - at));
        return clean;
}
