/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Top terminal: keys as they are pressed, and no cursor
 *
 * Ctrl-C and Ctrl-Z remain signals. What is on the screen stays there at the end.
 */

#include <stdbool.h>
#include <termios.h>

typedef struct TopTerminal {
        bool is_on;    /* the screen is drawn on */
        bool has_keys; /* somebody may press keys */
        struct termios before;
} TopTerminal;

/* Does nothing if stdout is no terminal that can be drawn on. */
void top_terminal_begin(TopTerminal *terminal);
void top_terminal_end(TopTerminal *terminal);
