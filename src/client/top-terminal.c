/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Top terminal: keys as they are pressed, and no cursor */

#include "client/top-terminal.h"

#include <stdio.h>
#include <unistd.h>

#include "client/say.h"

#define CLEAR       "\033[H\033[2J"
#define HIDE_CURSOR "\033[?25l"
#define SHOW_CURSOR "\033[?25h"

/* A job in the background must not change the terminal, or it would be stopped. */
static bool takes_keys(struct termios *ret_before) {
        return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp() &&
               tcgetattr(STDIN_FILENO, ret_before) == 0;
}

void top_terminal_begin(TopTerminal *terminal) {
        struct termios modes;

        *terminal = (TopTerminal){ .is_on = is_smart_terminal(stdout) };
        if (!terminal->is_on)
                return;
        terminal->has_keys = takes_keys(&terminal->before);
        if (terminal->has_keys) {
                modes = terminal->before;
                modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
                modes.c_cc[VMIN] = 1;
                modes.c_cc[VTIME] = 0;
                tcsetattr(STDIN_FILENO, TCSADRAIN, &modes);
        }
        fputs(CLEAR HIDE_CURSOR, stdout);
        fflush(stdout);
}

void top_terminal_end(TopTerminal *terminal) {
        if (!terminal->is_on)
                return;
        fputs(SHOW_CURSOR "\n", stdout);
        fflush(stdout);
        if (terminal->has_keys)
                tcsetattr(STDIN_FILENO, TCSANOW, &terminal->before);
        terminal->is_on = false;
}
