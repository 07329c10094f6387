/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Connects to a socket as often as it can
 *
 * Usage: connect-flood SOCKET close|hold N-PROCESSES
 *   close   each connection is closed at once
 *   hold    it is kept as long as there are descriptors left; then the oldest is closed
 *
 * Nothing is said over any of them. Without end; the processes end with the first one.
 */

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shared/macro.h"

#define HELD_MAX 900

static struct sockaddr_un address = { .sun_family = AF_UNIX };

/* One that is refused for want of room is tried again at once. */
static void flood(bool holds) {
        static int held[HELD_MAX];
        size_t n = 0;

        memset(held, -1, sizeof(held));
        for (;;) {
                const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

                if (fd < 0)
                        exit(EXIT_FAILURE);
                if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || !holds) {
                        close(fd);
                        continue;
                }
                close(held[n % HELD_MAX]);
                held[n++ % HELD_MAX] = fd;
        }
}

int main(int argc, char *argv[]) {
        const int n = argc == 4 ? atoi(argv[3]) : 0;
        const pid_t first = getpid();

        if (n < 1 || strlen(argv[1]) >= sizeof(address.sun_path))
                return EXIT_FAILURE;
        strcpy(address.sun_path, argv[1]);
        for (int i = 1; i < n && getpid() == first; i++)
                if (fork() < 0)
                        return EXIT_FAILURE;
        if (getpid() != first && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                return EXIT_FAILURE;
        flood(streq(argv[2], "hold"));
}
