/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program that has events before main(), before dt_init() and right behind it. Then it says so on stdout, and ends
 * with its stdin.
 */

#include <unistd.h>

#include <desktrace/track-event.h>

DT_CATEGORY(start, "start", "The first event");

/* Behind the category's own, which comes before it in the file. */
__attribute__((__constructor__)) static void emit_before_main(void) {
        DT_INSTANT(start, "before main");
}

int main(void) {
        char byte;

        DT_INSTANT(start, "before init");
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
