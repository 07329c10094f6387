/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Say: lines for people, on stderr, and styles on a terminal */

#include <errno.h>
#include <glib/gi18n.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build-config.h"
#include "client/say.h"

static const char *bus_option = "";
static char *command;

bool is_smart_terminal(FILE *stream) {
        const char *term = getenv("TERM");

        /* These two may have been replaced, and then have no descriptor. */
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

/* As "head" does when it has read enough. That is no news to the user. */
static bool has_reader_left(void) {
        struct pollfd output = { .fd = STDOUT_FILENO };

        return poll(&output, 1, 0) == 1 && output.revents & POLLERR;
}

ExitStatus say_flush(ExitStatus status) {
        if (fflush(stdout) == 0 && !ferror(stdout))
                return status;
        if (!has_reader_left())
                say_error(_("cannot write the output: %m"));
        return status == STATUS_OK ? STATUS_FAILED : status;
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

char *say_shell_word(const char *text) {
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "_-./:@%+,=";

        return *text && !text[strspn(text, plain)] ? g_strdup(text) : g_shell_quote(text);
}

void say_set_command(char *const argv[]) {
        g_autoptr(GString) text = g_string_new(NULL);

        g_clear_pointer(&command, g_free);
        for (; argv && *argv; argv++) {
                g_autofree char *word = say_shell_word(*argv);

                g_string_append_printf(text, "%s%s", text->len ? " " : "", word);
        }
        if (text->len)
                command = say_clean(text->str, text->len);
}

void say_hint_denied(void) {
        if (!command || geteuid() == 0)
                return;
        fprintf(stderr, _("As root: sudo %s\n"), command);
        fprintf(stderr,
                _("To let users do it without a password, copy and change this example of a rule: "
                  "%s\n"),
                EXAMPLE_RULES_PATH);
}

/* A character that drives the terminal, or turns the text behind it around. */
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
