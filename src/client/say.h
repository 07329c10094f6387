/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Say: lines for people, on stderr, and styles on a terminal
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "client/exit-status.h"
#include "shared/macro.h"

/* Prints "desktrace: …"; %m is the errno at the time of the call. */
void say_error(const char *format, ...) _printf_(1, 2);

/* Flushes stdout before the program ends. Returns the given status, or a failure: a full disk is reported, a pipe whose
 * reader has left is not. */
ExitStatus say_flush(ExitStatus status);

/* Prints what to do about it, or nothing if that is NULL. "{bus}" becomes the option below. */
void say_hint(const char *hint);

/* " --user" or "", not copied: what the commands in hints need to ask the same service. */
void say_set_bus_option(const char *option);

/* The command line that a hint repeats, which is copied. NULL if being root would not help. */
void say_set_command(char *const argv[]);

/* Prints how to get what was denied: the command as root, and the rule that would allow it. */
void say_hint_denied(void);

/* Quotes a word for a shell where necessary. Malloc'ed. */
char *say_shell_word(const char *text);

typedef enum Style {
        STYLE_NORMAL,
        STYLE_BOLD,
        STYLE_DIM,
        STYLE_GOOD,
        STYLE_BAD,
} Style;

/* Whether a stream is a terminal that can redraw a line. */
bool is_smart_terminal(FILE *stream);

/* The escape sequence, or "" if the stream is no terminal, with NO_COLOR, or on a dumb terminal. */
const char *style(FILE *stream, Style style);

/* Makes foreign text safe to print: valid UTF-8, and without characters that drive a terminal or reverse the text
 * behind them. Malloc'ed. */
char *say_clean(const void *text, size_t n_text);
