/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program whose first event comes right behind dt_init(). Then it says so on stdout, and ends with its stdin.
 */

#include <unistd.h>

#include <desktrace/track-event.h>

DT_CATEGORY(start, "start", "The first event");

int main(void) {
        char byte;

        if (dt_init(NULL) < 0)
                return 1;
        DT_SLICE_BEGIN(start, "first");
        DT_SLICE_END(start);
        if (write(STDOUT_FILENO, "+", 1) != 1)
                return 1;
        while (read(STDIN_FILENO, &byte, 1) > 0)
                ;
        return 0;
}
