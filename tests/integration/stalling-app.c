/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program with a main loop that stalls as often as its first argument says, for 200 ms: in turn it works and it
 * sleeps. Between two stalls it waits for 300 ms, which is no stall. Prints how many there were.
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STALL_MS 200
#define WAIT_MS  300
#define TURNS    4 /* short ones before each stall */

static long now_ms(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void work(int ms) {
        long end = now_ms() + ms;

        while (now_ms() < end)
                ;
}

int main(int argc, char **argv) {
        int n = argc > 1 ? atoi(argv[1]) : 1;

        for (int i = 0; i < n; i++) {
                for (int turn = 0; turn < TURNS; turn++)
                        poll(NULL, 0, 1);
                poll(NULL, 0, WAIT_MS);
                if (i % 2 == 0)
                        work(STALL_MS);
                else
                        usleep(STALL_MS * 1000);
        }
        poll(NULL, 0, 1);
        printf("%d\n", n);
        return EXIT_SUCCESS;
}
